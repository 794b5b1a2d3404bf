# SPDX-License-Identifier: Apache-2.0
# The Python package of trnsim.
"""trnsim: a cycle-approximate simulator of AWS Trainium and Inferentia chips."""

__version__ = "0.1.0"
