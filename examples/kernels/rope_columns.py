# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding with positions on the free axis (first-generation API).

    x [D, positions], cosine, sine [D/2, positions]   ->   [D, positions]
    (x1 cos - x2 sin, x2 cos + x1 sin) with x1, x2 the upper and the lower half of the rows

    rope_halves   a tile for each half, on D/2 partitions: six instructions of the vector engine
    rope_packed   all D partitions at once: three, but the halves of x have to be swapped, and
                  cosine and sine copied to the lower half. The scalar engine does that; the swap
                  can be left to the PE array, which multiplies by a matrix of 0, 1 and -1
    rope_whole    all rows of x in one tile, its lower half copied to the upper partitions, in a
                  loop of Python's: the compiler does not see the iterations as one

Try

    trnsim run examples/kernels/rope_columns.py::rope_packed --arg 'float32[128,8192]' \\
        --arg 'float32[64,8192]' --arg 'float32[64,8192]' --arg width=512
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


def check(x, cosine, sine, width):
    """The shapes fit, and pieces of `width` positions fill them."""
    rows, positions = x.shape
    assert rows % 2 == 0 and rows <= nl.tile_size.pmax, (
        f"{rows} rows, they must be even and at most {nl.tile_size.pmax}")
    assert cosine.shape == sine.shape == (rows // 2, positions), (
        f"cosine is {cosine.shape}, sine is {sine.shape}, both must be {(rows // 2, positions)}")
    assert positions % width == 0, f"{positions} positions, they must be a multiple of {width}"


def load_rows(source, first, count, start, width):
    """`count` rows from `first` on, from partition 0 on; columns from `start` on."""
    i_p, i_f = nl.mgrid[0:count, 0:width]
    tile = nl.ndarray((nl.par_dim(count), width), dtype=source.dtype, buffer=nl.sbuf)
    tile[i_p, i_f] = nl.load(source[first + i_p, start + i_f])
    return tile


def store_sum(out, first, start, a, b, op):
    """out from a row and a column on = a (op) b."""
    count, width = a.shape
    i_p, i_f = nl.mgrid[0:count, 0:width]
    result = nl.ndarray((nl.par_dim(count), width), dtype=out.dtype, buffer=nl.sbuf)
    result[i_p, i_f] = nisa.tensor_tensor(a, b, op)
    nl.store(out[first + i_p, start + i_f], value=result[i_p, i_f])


@nki.jit
def rope_halves(x, cosine, sine, width=2048):
    """The lower half of x comes to the partitions of the upper one by its load."""
    check(x, cosine, sine, width)
    rows, positions = x.shape
    half = rows // 2
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for piece in nl.affine_range(positions // width):
        start = piece * width
        x1 = load_rows(x, 0, half, start, width)
        x2 = load_rows(x, half, half, start, width)
        c = load_rows(cosine, 0, half, start, width)
        s = load_rows(sine, 0, half, start, width)
        kept = nisa.tensor_tensor(x1, c, nl.multiply)
        turned = nisa.tensor_tensor(x2, s, nl.multiply)
        store_sum(out, 0, start, kept, turned, nl.subtract)
        turned = nisa.tensor_tensor(x1, s, nl.multiply)
        kept = nisa.tensor_tensor(x2, c, nl.multiply)
        store_sum(out, half, start, kept, turned, nl.add)
    return out


def copied(source, rows, scale=1.0):
    """Some rows of a tile, by the scalar engine; partitions may change."""
    i_f = nl.arange(source.shape[1])[None, :]
    return nisa.activation(op=nl.copy, data=source[rows, i_f], scale=scale, dtype=source.dtype)


def load_twice(source, start, width):
    """A table on the upper partitions, and a copy of it on the lower ones."""
    half = source.shape[0]
    i_p, i_f = nl.mgrid[0:half, 0:width]
    tile = nl.ndarray((nl.par_dim(2 * half), width), dtype=source.dtype, buffer=nl.sbuf)
    tile[i_p, i_f] = nl.load(source[i_p, start + i_f])
    tile[half + i_p, i_f] = copied(tile, nl.arange(half)[:, None])
    return tile


def swapped(x):
    """(-lower half, upper half) of a tile."""
    rows, width = x.shape
    upper = nl.arange(rows // 2)[:, None]
    i_f = nl.arange(width)[None, :]
    tile = nl.ndarray((nl.par_dim(rows), width), dtype=x.dtype, buffer=nl.sbuf)
    tile[upper, i_f] = copied(x, rows // 2 + upper, scale=-1.0)
    tile[rows // 2 + upper, i_f] = copied(x, upper)
    return tile


def load_swap(rows, dtype):
    """The matrix whose transpose times a tile is swapped(tile)."""
    matrix = np.zeros((rows, rows), dtype=np.float32)
    for row in range(rows // 2):
        matrix[row + rows // 2, row], matrix[row, row + rows // 2] = -1.0, 1.0
    constant = nl.shared_constant(matrix)
    i_p, i_f = nl.mgrid[0:rows, 0:rows]
    tile = nl.ndarray((nl.par_dim(rows), rows), dtype=dtype, buffer=nl.sbuf)
    tile[i_p, i_f] = nl.load(constant[i_p, i_f])
    return tile


@nki.jit
def rope_packed(x, cosine, sine, width=2048, swap_on="scalar"):
    """One load and one store of x for all of its rows."""
    check(x, cosine, sine, width)
    assert swap_on in ("scalar", "tensor"), f"swap_on is {swap_on!r}, allowed: scalar, tensor"
    rows, positions = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    swap = load_swap(rows, x.dtype) if swap_on == "tensor" else None
    for piece in nl.affine_range(positions // width):
        start = piece * width
        x_tile = load_rows(x, 0, rows, start, width)
        c = load_twice(cosine, start, width)
        s = load_twice(sine, start, width)
        if swap is None:
            other = swapped(x_tile)
        else:
            other = nl.ndarray((nl.par_dim(rows), width), dtype=x.dtype, buffer=nl.psum)
            other[...] = nisa.nc_matmul(swap[...], x_tile[...])
        kept = nisa.tensor_tensor(x_tile, c, nl.multiply)
        turned = nisa.tensor_tensor(other, s, nl.multiply)
        store_sum(out, 0, start, kept, turned, nl.add)
    return out


@nki.jit
def rope_whole(x, cosine, sine, width=512):
    """One load and one store of x; products and sums on D/2 partitions."""
    check(x, cosine, sine, width)
    rows, positions = x.shape
    half = rows // 2
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:half, 0:width]
    i_all = nl.arange(rows)[:, None]
    for start in range(0, positions, width):
        x_tile = load_rows(x, 0, rows, start, width)
        c = nl.load(cosine[i_p, start + i_f])
        s = nl.load(sine[i_p, start + i_f])
        result = nl.ndarray((nl.par_dim(rows), width), dtype=x.dtype, buffer=nl.sbuf)
        x1 = x_tile[i_p, i_f]
        x2 = nl.copy(x_tile[half + i_p, i_f])
        x1_c = nisa.tensor_tensor(x1, c, nl.multiply)
        x2_c = nisa.tensor_tensor(x2, c, nl.multiply)
        x1_s = nisa.tensor_tensor(x1, s, nl.multiply)
        x2_s = nisa.tensor_tensor(x2, s, nl.multiply)
        result[i_p, i_f] = nisa.tensor_tensor(x1_c, x2_s, nl.subtract)
        result[half + i_p, i_f] = nisa.tensor_tensor(x2_c, x1_s, nl.add)
        nl.store(out[i_all, start + i_f], value=result[i_all, i_f])
    return out
