# SPDX-License-Identifier: Apache-2.0
"""Products whose left operand has its rows on the partitions (first-generation API, index arrays).

    matmul_of_rows          x [M, K], weight [K, N]                ->   x @ weight
    rmsnorm_matmul_of_rows  x [M, K], weight [K, N]                ->   (x / rms of row) @ weight
    bmm_of_rows             x [batch, M, K], weight [batch, K, N]  ->   x @ weight, K at most 128

The PE array contracts over partitions, so tiles of x are transposed first: by the array itself and
an identity matrix, by the vector engine, or by load_transpose2d. M is a multiple of 128, N of 512.

A product of FP32 takes four passes. With split=True it is three of BF16: x and weight become sums
of a rounded part and a rest, and only the product of the rests is left out. Try

    trnsim run examples/kernels/row_products.py::matmul_of_rows --arg 'float32[512,1024]' \\
        --arg 'float32[1024,2048]' --arg row_tiles=4
    trnsim run examples/kernels/row_products.py::bmm_of_rows --arg 'float32[4,1024,64]' \\
        --arg 'float32[4,64,1024]' --arg row_tiles=8 --arg banks=2 --arg "drain='together'"
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

TILE_M, TILE_K, TILE_N = 128, 128, 512


def check(x, weight, row_tiles=1, columns=TILE_N):
    """The shapes fit each other and the tiles."""
    (m, k), n = x.shape[-2:], weight.shape[-1]
    assert weight.shape[:-1] == (*x.shape[:-2], k), (
        f"weight is {weight.shape}, it must be {(*x.shape[:-2], k, 'N')}")
    assert m % (row_tiles * TILE_M) == 0 and n % columns == 0, (
        f"M, N = {m}, {n} must be multiples of {row_tiles * TILE_M}, {columns}")


def sbuf(*shape, dtype=np.float32):
    """A tile; the last but one dimension is that of its partitions."""
    return nl.ndarray((*shape[:-2], nl.par_dim(shape[-2]), shape[-1]), dtype=dtype, buffer=nl.sbuf)


def load_identity(size):
    """What nc_matmul(is_transpose=True) multiplies with: a constant of the kernel."""
    constant = nl.shared_constant(np.identity(size, dtype=np.float32))
    i_p, i_f = nl.mgrid[0:size, 0:size]
    identity = sbuf(size, size)
    identity[i_p, i_f] = nl.load(constant[i_p, i_f])
    return identity


def turned_by_array(tile, identity):
    """A tile's transpose in PSUM."""
    partitions, columns = tile.shape
    psum = nl.ndarray((nl.par_dim(columns), partitions), dtype=np.float32, buffer=nl.psum)
    psum[...] = nisa.nc_matmul(tile, identity[...], is_transpose=True, is_moving_onezero=True)
    return psum


def store_banks(out, where, column, psum, first, count):
    """Copies PSUM tiles beside each other and stores them together; `where`: indices of rows."""
    i_m, i_n = nl.mgrid[0:TILE_M, 0:TILE_N]
    result = sbuf(TILE_M, count * TILE_N, dtype=out.dtype)
    for bank in nl.affine_range(count):
        result[i_m, bank * TILE_N + i_n] = nl.copy(psum[first + bank, i_m, i_n], dtype=out.dtype)
    i_m, i_all = nl.mgrid[0:TILE_M, 0:count * TILE_N]
    nl.store(out[(*where, column + i_all)], value=result[i_m, i_all])


def split_into(high, low, where, tile, by_residue):
    """Writes a tile as a sum of two of BF16, the rest rounded by the subtraction or after it."""
    i_p, i_f = nl.mgrid[0:tile.shape[0], 0:tile.shape[1]]
    high[(*where, i_p, i_f)] = nl.copy(tile[i_p, i_f], dtype=nl.bfloat16)
    rest = nisa.tensor_tensor(tile[i_p, i_f], high[(*where, i_p, i_f)], nl.subtract)
    low[(*where, i_p, i_f)] = nl.copy(rest, dtype=nl.bfloat16) if by_residue else rest


def terms(left, left_rest, right, right_rest):
    """What is multiplied and added up: of two sums all but the product of their rests."""
    if left_rest is None:
        return [(left, right)]
    return [(left, right), (left, right_rest), (left_rest, right)]


def accumulate(psum, bank, pairs, stationary_at, moving_at):
    """Adds the products of pairs of tiles, which are at those indices."""
    i_m, i_n = nl.mgrid[0:TILE_M, 0:TILE_N]
    for stationary, moving in pairs:
        psum[bank, i_m, i_n] += nisa.nc_matmul(stationary[stationary_at], moving[moving_at])


@nki.jit
def matmul_of_rows(x, weight, row_tiles=1, split=False):
    """Tiles of weight stream through `row_tiles` tiles of rows, whose transposes stay in SBUF."""
    check(x, weight, row_tiles)
    (m, k), n = x.shape, weight.shape[1]
    k_tiles = k // TILE_K
    kind = nl.bfloat16 if split else x.dtype
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = load_identity(TILE_M)
    i_p, i_m, i_n = nl.arange(TILE_K)[:, None], nl.arange(TILE_M), nl.arange(TILE_N)[None, :]

    for block in nl.affine_range(m // (row_tiles * TILE_M)):
        left = sbuf(row_tiles, k_tiles, TILE_K, TILE_M, dtype=kind)
        left_rest = sbuf(row_tiles, k_tiles, TILE_K, TILE_M, dtype=kind) if split else None
        for tile in nl.affine_range(row_tiles):
            for k_tile in nl.affine_range(k_tiles):
                x_tile = sbuf(TILE_M, TILE_K, dtype=x.dtype)
                x_tile[...] = nl.load(x[(block * row_tiles + tile) * TILE_M + i_m[:, None],
                                        k_tile * TILE_K + nl.arange(TILE_K)[None, :]])
                psum = turned_by_array(x_tile[...], identity)
                if split:
                    turned = sbuf(TILE_K, TILE_M)
                    turned[...] = nl.copy(psum[...], dtype=np.float32)
                    split_into(left, left_rest, (tile, k_tile), turned, False)
                else:
                    left[tile, k_tile, i_p, i_m[None, :]] = nl.copy(psum[...], dtype=kind)

        for piece in nl.affine_range(n // TILE_N):
            psum = nl.zeros((row_tiles, nl.par_dim(TILE_M), TILE_N), dtype=np.float32,
                            buffer=nl.psum)
            for k_tile in nl.affine_range(k_tiles):
                right, right_rest = sbuf(TILE_K, TILE_N, dtype=weight.dtype), None
                right[...] = nl.load(weight[k_tile * TILE_K + i_p, piece * TILE_N + i_n])
                if split:
                    whole, right = right, sbuf(TILE_K, TILE_N, dtype=kind)
                    right_rest = sbuf(TILE_K, TILE_N, dtype=kind)
                    split_into(right, right_rest, (), whole, False)
                for tile in nl.affine_range(row_tiles):
                    accumulate(psum, tile, terms(left, left_rest, right, right_rest),
                               (tile, k_tile, i_p, i_m[None, :]), (i_p, i_n))
            for tile in nl.affine_range(row_tiles):
                rows = (block * row_tiles + tile) * TILE_M + i_m[:, None]
                store_banks(out, (rows,), piece * TILE_N, psum, tile, 1)
    return out


def store_scaled(out, row, piece, psum, bank, scale):
    """Copies a PSUM tile, times a number for each row if there is one, and stores it."""
    i_m, i_n = nl.mgrid[0:TILE_M, 0:TILE_N]
    result = sbuf(TILE_M, TILE_N, dtype=out.dtype)
    data = psum[bank, i_m, i_n]
    result[i_m, i_n] = nl.copy(data, dtype=out.dtype) if scale is None else nisa.tensor_scalar(
        data=data, op0=nl.multiply, operand0=scale[...], dtype=out.dtype)
    nl.store(out[row * TILE_M + i_m, piece * TILE_N + i_n], value=result[i_m, i_n])


def load_whole(weight, split):
    """All of a weight as tiles of rows, and the rests of a split one."""
    k, n = weight.shape
    kind = nl.bfloat16 if split else weight.dtype
    i_p, i_n = nl.arange(TILE_K)[:, None], nl.arange(n)[None, :]
    right = sbuf(k // TILE_K, TILE_K, n, dtype=kind)
    right_rest = sbuf(k // TILE_K, TILE_K, n, dtype=kind) if split else None
    for k_tile in nl.affine_range(k // TILE_K):
        rows = k_tile * TILE_K + i_p
        if split:
            whole = sbuf(TILE_K, n)
            whole[...] = nl.load(weight[rows, i_n])
            split_into(right, right_rest, (k_tile,), whole, True)
        else:
            right[k_tile, i_p, i_n] = nl.load(weight[rows, i_n])
    return right, right_rest


def inverse_rms(x_tile, zero):
    """One over the root of the mean square of each row."""
    rows, k = x_tile.shape
    i_m, i_k = nl.mgrid[0:rows, 0:k]
    i_row = nl.arange(rows)[:, None]
    squares, total, inverse = sbuf(rows, k), sbuf(rows, 1), sbuf(rows, 1)
    squares[...] = nisa.activation(op=nl.square, data=x_tile[i_m, i_k], bias=zero[i_row, 0],
                                   scale=1.0, dtype=np.float32)
    total[...] = nisa.tensor_reduce(nl.add, data=squares[i_m, i_k], axis=[1], dtype=np.float32)
    inverse[...] = nisa.activation(op=nl.rsqrt, data=total[i_row, 0], bias=zero[i_row, 0],
                                   scale=1.0 / k, dtype=np.float32)
    return inverse


@nki.jit
def rmsnorm_matmul_of_rows(x, weight, scale="x", transpose_on="tensor", order="columns",
                           split=False):
    """weight stays in SBUF. The norm scales x or the "result".

    One PSUM tile of columns after the other is accumulated, or, by the order of the "contraction",
    all of them at once, each transpose being used for all.
    """
    check(x, weight)
    assert scale in ("x", "result"), f"scale is {scale!r}"
    assert transpose_on in ("tensor", "vector", "load"), f"transpose_on is {transpose_on!r}"
    assert order in ("columns", "contraction"), f"order is {order!r}"
    (m, k), n = x.shape, weight.shape[1]
    k_tiles, pieces = k // TILE_K, n // TILE_N
    kind = nl.bfloat16 if split else x.dtype
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    zero = nl.zeros((nl.par_dim(TILE_M), 1), dtype=np.float32, buffer=nl.sbuf)
    identity = load_identity(TILE_M) if transpose_on == "tensor" else None
    i_p, i_m, i_n = nl.arange(TILE_K)[:, None], nl.arange(TILE_M), nl.arange(TILE_N)[None, :]
    i_rows, i_k = nl.mgrid[0:TILE_M, 0:k]
    right, right_rest = load_whole(weight, split)

    for row in nl.affine_range(m // TILE_M):
        x_tile = sbuf(TILE_M, k, dtype=x.dtype)
        x_tile[i_rows, i_k] = nl.load(x[row * TILE_M + i_rows, i_k])
        inverse = inverse_rms(x_tile, zero)
        if scale == "x":
            scaled = sbuf(TILE_M, k, dtype=x.dtype)
            scaled[...] = nisa.tensor_scalar(data=x_tile[i_rows, i_k], op0=nl.multiply,
                                             operand0=inverse[i_m[:, None], 0], dtype=x.dtype)
            x_tile = scaled

        left = sbuf(k_tiles, TILE_K, TILE_M, dtype=kind)
        left_rest = sbuf(k_tiles, TILE_K, TILE_M, dtype=kind) if split else None
        for k_tile in nl.affine_range(k_tiles):
            columns = k_tile * TILE_K + nl.arange(TILE_K)[None, :]
            piece = x_tile[i_m[:, None], columns]
            if transpose_on == "load":
                turned = nl.load_transpose2d(x[row * TILE_M + i_m[:, None], columns])
            elif transpose_on == "vector":
                turned = nisa.nc_transpose(piece, engine=nisa.vector_engine)
            else:
                turned = nl.copy(turned_by_array(piece, identity)[...], dtype=np.float32)
            if split:
                split_into(left, left_rest, (k_tile,), turned, True)
            else:
                left[k_tile, i_p, i_m[None, :]] = turned

        def multiply(psum, bank, k_tile, piece, left=left, left_rest=left_rest):
            accumulate(psum, bank, terms(left, left_rest, right, right_rest),
                       (k_tile, i_p, i_m[None, :]), (k_tile, i_p, piece * TILE_N + i_n))

        factor = inverse if scale == "result" else None
        if order == "columns":
            for piece in nl.affine_range(pieces):
                psum = nl.zeros((1, nl.par_dim(TILE_M), TILE_N), dtype=np.float32, buffer=nl.psum)
                for k_tile in nl.affine_range(k_tiles):
                    multiply(psum, 0, k_tile, piece)
                store_scaled(out, row, piece, psum, 0, factor)
        else:
            psum = nl.zeros((pieces, nl.par_dim(TILE_M), TILE_N), dtype=np.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k_tiles):
                for piece in nl.affine_range(pieces):
                    multiply(psum, piece, k_tile, piece)
            for piece in nl.affine_range(pieces):
                store_scaled(out, row, piece, psum, piece, factor)
    return out


@nki.jit
def bmm_of_rows(x, weight, batches=1, row_tiles=1, banks=1, drain="each", transpose_on="tensor"):
    """Transposes `row_tiles` tiles of `batches` batches, then multiplies them.

    K fits the array, so nothing is accumulated: products go to `banks` PSUM tiles in turn. Each is
    copied and stored before the next product, or all of them "after" those, or "together" by one
    store. In FP32 the longer the array is busy without a pause, the more its clock stays up.
    """
    check(x, weight, row_tiles, banks * TILE_N)
    (batch, m, k), n = x.shape, weight.shape[2]
    assert drain in ("each", "after", "together"), f"drain is {drain!r}"
    assert transpose_on in ("tensor", "load"), f"transpose_on is {transpose_on!r}"
    assert k <= TILE_K, f"K = {k} must be at most {TILE_K}"
    assert batch % batches == 0, f"{batch} batches, they must be a multiple of {batches}"
    out = nl.ndarray((batch, m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = load_identity(TILE_M) if transpose_on == "tensor" else None
    i_k, i_m, i_n = nl.arange(k)[:, None], nl.arange(TILE_M), nl.arange(TILE_N)[None, :]
    i_all = nl.arange(n)[None, :]

    for block in nl.affine_range(batch // batches):
        right = sbuf(batches, k, n, dtype=weight.dtype)
        for i in nl.affine_range(batches):
            right[i, i_k, i_all] = nl.load(weight[block * batches + i, i_k, i_all])

        for group in nl.affine_range(m // (row_tiles * TILE_M)):
            left = sbuf(batches, k, row_tiles * TILE_M, dtype=x.dtype)
            for i in nl.affine_range(batches):
                for tile in nl.affine_range(row_tiles):
                    rows = (group * row_tiles + tile) * TILE_M + i_m[:, None]
                    source = x[block * batches + i, rows, nl.arange(k)[None, :]]
                    if transpose_on == "load":
                        turned = nl.load_transpose2d(source)
                    else:
                        x_tile = sbuf(TILE_M, k, dtype=x.dtype)
                        x_tile[...] = nl.load(source)
                        turned = nl.copy(turned_by_array(x_tile[...], identity)[...],
                                         dtype=x.dtype)
                    left[i, i_k, tile * TILE_M + i_m[None, :]] = turned

            for i in nl.affine_range(batches):
                for tile in nl.affine_range(row_tiles):
                    where = (block * batches + i,
                             (group * row_tiles + tile) * TILE_M + i_m[:, None])
                    for piece in nl.affine_range(n // (banks * TILE_N)):
                        first = piece * banks
                        psum = nl.ndarray((banks, nl.par_dim(TILE_M), TILE_N), dtype=np.float32,
                                          buffer=nl.psum)
                        for bank in nl.affine_range(banks):
                            psum[bank, i_m[:, None], i_n] = nisa.nc_matmul(
                                left[i, i_k, tile * TILE_M + i_m[None, :]],
                                right[i, i_k, (first + bank) * TILE_N + i_n])
                            if drain == "each":
                                store_banks(out, where, (first + bank) * TILE_N, psum, bank, 1)
                        if drain == "after":
                            for bank in nl.affine_range(banks):
                                store_banks(out, where, (first + bank) * TILE_N, psum, bank, 1)
                        elif drain == "together":
                            store_banks(out, where, first * TILE_N, psum, 0, banks)
    return out
