# SPDX-License-Identifier: Apache-2.0
# The API neuronxcc.nki, version 0.1.
"""The modules of `neuronxcc.nki`: instructions return tiles, tensors are indexed with nl.arange."""
