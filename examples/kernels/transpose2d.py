# SPDX-License-Identifier: Apache-2.0
"""Two transposes (first-generation API): within each partition by strided copies, and of a whole
matrix by the tensor engine.

    transpose_free        x [channels, rows * columns], rows
                          ->   [channels, columns * rows], each channel's matrix transposed
    transpose_partitions  x [rows, columns], both multiples of 128   ->   x.T

Try

    trnsim run examples/kernels/transpose2d.py::transpose_free --arg 'bfloat16[128,2048]' --arg rows=32
    trnsim run examples/kernels/transpose2d.py::transpose_partitions --arg 'bfloat16[1024,1024]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def transpose_free(x, rows):
    """One strided copy for each row of the small matrix; nothing crosses partitions."""
    channels, size = x.shape
    assert size % rows == 0, f"{size} elements do not make {rows} equal rows"
    assert channels <= nl.tile_size.pmax, f"{channels} channels, at most {nl.tile_size.pmax}"
    columns = size // rows
    out = nl.ndarray((channels, size), dtype=x.dtype, buffer=nl.shared_hbm)

    tile = nl.load(x)
    flipped = nl.ndarray((nl.par_dim(channels), size), dtype=x.dtype, buffer=nl.sbuf)
    i_channel = nl.arange(channels)[:, None]
    i_column = nl.arange(columns)[None, :]
    for row in nl.affine_range(rows):
        flipped[i_channel, i_column * rows + row] = nisa.tensor_copy(
            tile[i_channel, row * columns + i_column])
    nl.store(out, value=flipped)
    return out


@nki.jit
def transpose_partitions(x):
    """128 x 128 blocks through PSUM; a block row is written with one store for each block."""
    rows, columns = x.shape
    pmax = nl.tile_size.pmax
    assert rows % pmax == 0 and columns % pmax == 0, (
        f"x is {rows} x {columns}, both must be multiples of {pmax}")
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)

    for block_row in nl.affine_range(rows // pmax):
        strip = nl.load(x[nl.ds(block_row * pmax, pmax), :])
        for block_column in nl.affine_range(columns // pmax):
            turned = nisa.nc_transpose(strip[:, nl.ds(block_column * pmax, pmax)])
            nl.store(out[nl.ds(block_column * pmax, pmax), nl.ds(block_row * pmax, pmax)],
                     value=nisa.tensor_copy(turned, dtype=x.dtype))
    return out
