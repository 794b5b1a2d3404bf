# SPDX-License-Identifier: Apache-2.0
# Compares the simulator with published measurements: `trnsim validate`.
"""rows: what was measured; binding, runs: how it is simulated; statistics, tables: how well."""
