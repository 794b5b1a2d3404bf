# SPDX-License-Identifier: Apache-2.0
# What the records of a trace are made of.
"""Buffers and views of them, templates of instructions, loops and their folding, edges of the
schedule: what recorder.py keeps of a running kernel."""
