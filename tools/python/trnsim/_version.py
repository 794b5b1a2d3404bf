# SPDX-License-Identifier: Apache-2.0
# The version of trnsim; CMakeLists.txt and pyproject.toml read it from here.
"""The one place where the version stands, for the C++ programs too."""

__version__ = "0.1.0"
