# SPDX-License-Identifier: Apache-2.0
"""RMSNorm with a gain, written with nki.language alone (first-generation API).

    x [rows, columns], gain [1, columns]   ->   x / sqrt(mean(x^2) + 1e-6) * gain

Any number of rows; a row within an SBUF partition. Try

    trnsim run examples/kernels/rmsnorm.py::rmsnorm --arg 'float32[1000,4096]' --arg 'float32[1,4096]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

EPSILON = 1e-6


@nki.jit
def rmsnorm(x, gain):
    """The gain is loaded once and broadcast over the partitions of each tile."""
    rows, columns = x.shape
    assert gain.shape == (1, columns), f"gain is {gain.shape}, it must be (1, {columns})"
    pmax = nl.tile_size.pmax
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_row, i_column = nl.mgrid[0:pmax, 0:columns]
    gain_tile = nl.load(gain)

    for block in nl.affine_range((rows + pmax - 1) // pmax):
        inside = block * pmax + i_row < rows
        tile = nl.load(x[block * pmax + i_row, i_column], mask=inside)
        mean_square = nl.mean(nl.square(tile), axis=[1], keepdims=True)
        scaled = nl.multiply(tile, nl.rsqrt(mean_square + EPSILON))
        result = nl.multiply(scaled, gain_tile.broadcast_to((pmax, columns)))
        nl.store(out[block * pmax + i_row, i_column], value=result, mask=inside)
    return out
