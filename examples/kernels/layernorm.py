# SPDX-License-Identifier: Apache-2.0
"""Layer normalization with the vector engine's statistics instructions.

    x [rows, columns], gain, shift [columns]; columns at most 512 or a multiple of 512
    ->   (x - mean) / sqrt(variance + 1e-5) * gain + shift

bn_stats takes 512 elements at most, so a row is cut, and bn_aggr joins the pieces. gain and shift
are copied to all partitions once by a DMA with partition stride 0. Try

    trnsim run examples/kernels/layernorm.py::layernorm --arg 'float32[1024,2048]' \\
        --arg 'float32[2048]' --arg 'float32[2048]'
"""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS = 128  # nl.tile_size.pmax
CHUNK = 512  # nl.tile_size.bn_stats_fmax
EPSILON = 1e-5


def on_all_partitions(vector):
    """A vector of HBM repeated on every partition."""
    size = vector.shape[0]
    tile = nl.ndarray((ROWS, size), dtype=vector.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=vector.ap(pattern=[[0, ROWS], [1, size]]))
    return tile


def mean_and_variance(x_tile):
    """Mean and variance of each row, [rows, 2]."""
    height, width = x_tile.shape
    chunk = min(CHUNK, width)
    stats = nl.ndarray((height, width // chunk, 6), dtype=nl.float32, buffer=nl.sbuf)
    for index in range(width // chunk):
        nisa.bn_stats(dst=stats[:, index, :], data=x_tile[:, index * chunk:(index + 1) * chunk])
    moments = nl.ndarray((height, 2), dtype=nl.float32, buffer=nl.sbuf)
    nisa.bn_aggr(dst=moments, data=stats)
    return moments


@nki.jit
def layernorm(x, gain, shift):
    """Rows on partitions; the last block of rows may be smaller."""
    rows, columns = x.shape
    assert columns <= CHUNK or columns % CHUNK == 0, (
        f"{columns} columns, they must be at most {CHUNK} or a multiple of it")
    assert gain.shape == (columns,) and shift.shape == (columns,), (
        f"gain is {gain.shape}, shift is {shift.shape}, both must be ({columns},)")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    gain_tile, shift_tile = on_all_partitions(gain), on_all_partitions(shift)
    epsilon = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epsilon, value=EPSILON)

    for row in range(0, rows, ROWS):
        height = min(ROWS, rows - row)
        x_tile = nl.ndarray((height, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[row:row + height, :])
        moments = mean_and_variance(x_tile)
        inverse = nl.ndarray((height, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=moments[:, 1:2], bias=epsilon[0:height, :])

        nisa.tensor_scalar(dst=x_tile, data=x_tile, op0=nl.subtract, operand0=moments[:, 0:1],
                           op1=nl.multiply, operand1=inverse)
        nisa.tensor_tensor(dst=x_tile, data1=x_tile, data2=gain_tile[0:height, :], op=nl.multiply)
        nisa.tensor_tensor(dst=x_tile, data1=x_tile, data2=shift_tile[0:height, :], op=nl.add)
        nisa.dma_copy(dst=out[row:row + height, :], src=x_tile)
    return out
