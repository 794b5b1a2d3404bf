# SPDX-License-Identifier: Apache-2.0
# Loops that are executed in part.
"""Which iterations of Python's loops may be left out because the others say what they would record:
sample.py begins, proof.py proves it from the source, watch.py while the body runs."""
