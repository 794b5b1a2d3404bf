# SPDX-License-Identifier: Apache-2.0
# What a chip accepts, and which engines run it.
"""Legality of an instruction on a chip, for both dialects: check.py asks the table of rules.py and
the functions beside it; engines.py chooses the engine."""
