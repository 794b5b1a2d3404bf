# SPDX-License-Identifier: Apache-2.0
# Lets the tests of every folder here find helpers.py and kernels.py.
"""pytest puts the folder of a conftest.py on the import path."""
