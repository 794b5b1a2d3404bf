# SPDX-License-Identifier: Apache-2.0
# The `nki` API, versions 0.2 to 0.6, and of 0.7 what docs/deviations.md does not except (D-41).
"""The modules of `nki`: explicit dst first, numpy-like views, loops that are unrolled."""
