# SPDX-License-Identifier: Apache-2.0
# Scripts that call kernels themselves: `trnsim run script.py`.
"""Runs a script as `__main__`, simulates every kernel call in it, and reports them all."""
