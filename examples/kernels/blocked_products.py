# SPDX-License-Identifier: Apache-2.0
"""The products of row_products.py with another order of loops (first-generation API).

    matmul_by_columns         x [M, K], weight [K, N]                ->   x @ weight
    rmsnorm_matmul_by_blocks  x [M, K], weight [K, N]                ->   (x / rms of row) @ weight
    bmm_by_columns            x [batch, M, K], weight [batch, K, N]  ->   x @ weight, K at most 128

Columns of weight are loaded 1,024 at a time and stay in SBUF while rows stream by, so that x is
loaded and transposed again for each of them; a store has 1,024 columns. This is how a compiler
tiles such products. M is a multiple of 128 (rmsnorm_matmul_by_blocks, bmm_by_columns: of
row_tiles x 128), N of 1,024. Try

    trnsim run examples/kernels/blocked_products.py::matmul_by_columns --arg 'float32[512,1024]' \\
        --arg 'float32[1024,2048]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

TILE, TILE_N, BLOCK_N = 128, 512, 1024
TILES_PER_LOAD = 8


def check(x, weight, row_tiles=1):
    """The shapes fit each other and the tiles."""
    (m, k), n = x.shape[-2:], weight.shape[-1]
    assert weight.shape[:-1] == (*x.shape[:-2], k), (
        f"weight is {weight.shape}, it must be {(*x.shape[:-2], k, 'N')}")
    assert m % (row_tiles * TILE) == 0 and n % BLOCK_N == 0, (
        f"M, N = {m}, {n} must be multiples of {row_tiles * TILE}, {BLOCK_N}")


def tiles(*shape, buffer=nl.sbuf):
    """FP32 tiles; the last but one dimension is that of their partitions."""
    return nl.ndarray((*shape[:-2], nl.par_dim(shape[-2]), shape[-1]), dtype=np.float32,
                      buffer=buffer)


def load_identity():
    constant = nl.shared_constant(np.identity(TILE, dtype=np.float32))
    i_p, i_f = nl.mgrid[0:TILE, 0:TILE]
    identity = tiles(TILE, TILE)
    identity[i_p, i_f] = nl.load(constant[i_p, i_f])
    return identity


def turned(tile, identity):
    """A tile's transpose in PSUM, by the array."""
    partitions, columns = tile.shape
    psum = tiles(columns, partitions, buffer=nl.psum)
    psum[...] = nisa.nc_matmul(tile, identity[...], is_transpose=True, is_moving_onezero=True)
    return psum


@nki.jit
def matmul_by_columns(x, weight):
    """Eight tiles of x are one load."""
    check(x, weight)
    (m, k), n = x.shape, weight.shape[1]
    width = TILES_PER_LOAD * TILE
    assert k % width == 0, f"K = {k} must be a multiple of {width}"
    loads = k // width
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = load_identity()
    i_p, i_f = nl.mgrid[0:TILE, 0:TILE]
    i_row, i_k = nl.arange(TILE)[:, None], nl.arange(width)[None, :]
    i_n, i_all = nl.arange(TILE_N)[None, :], nl.arange(BLOCK_N)[None, :]

    for block in nl.affine_range(n // BLOCK_N):
        right = tiles(loads, TILES_PER_LOAD, TILE, BLOCK_N)
        for load in nl.affine_range(loads):
            for part in nl.affine_range(TILES_PER_LOAD):
                right[load, part, i_row, i_all] = nl.load(
                    weight[(load * TILES_PER_LOAD + part) * TILE + i_row, block * BLOCK_N + i_all])
        for row in nl.affine_range(m // TILE):
            left = nl.ndarray((loads, nl.par_dim(TILE), TILES_PER_LOAD, TILE), dtype=np.float32,
                              buffer=nl.sbuf)
            for load in nl.affine_range(loads):
                x_tile = tiles(TILE, width)
                x_tile[i_row, i_k] = nl.load(x[row * TILE + i_row, load * width + i_k])
                for part in nl.affine_range(TILES_PER_LOAD):
                    psum = turned(x_tile[i_row, part * TILE + nl.arange(TILE)[None, :]], identity)
                    left[load, i_p, part, i_f] = nl.copy(psum[...], dtype=np.float32)
            result = tiles(TILE, BLOCK_N)
            for piece in nl.affine_range(BLOCK_N // TILE_N):
                psum = nl.zeros((nl.par_dim(TILE), TILE_N), dtype=np.float32, buffer=nl.psum)
                for load in nl.affine_range(loads):
                    for part in nl.affine_range(TILES_PER_LOAD):
                        psum[i_row, i_n] += nisa.nc_matmul(
                            left[load, i_p, part, i_f],
                            right[load, part, i_row, piece * TILE_N + i_n])
                result[i_row, piece * TILE_N + i_n] = nl.copy(psum[i_row, i_n], dtype=out.dtype)
            nl.store(out[row * TILE + i_row, block * BLOCK_N + i_all], value=result[i_row, i_all])
    return out


@nki.jit
def bmm_by_columns(x, weight, row_tiles=8):
    """`row_tiles` tiles of x are transposed, then multiplied."""
    check(x, weight, row_tiles)
    (batch, m, k), n = x.shape, weight.shape[2]
    assert k <= TILE, f"K = {k} must be at most {TILE}"
    out = nl.ndarray((batch, m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = load_identity()
    i_row, i_k = nl.arange(TILE)[:, None], nl.arange(k)
    i_n, i_all = nl.arange(TILE_N)[None, :], nl.arange(BLOCK_N)[None, :]

    for index in nl.affine_range(batch):
        for block in nl.affine_range(n // BLOCK_N):
            right = tiles(k, BLOCK_N)
            right[i_k[:, None], i_all] = nl.load(
                weight[index, i_k[:, None], block * BLOCK_N + i_all])
            for group in nl.affine_range(m // (row_tiles * TILE)):
                left = tiles(k, row_tiles * TILE)
                for tile in nl.affine_range(row_tiles):
                    x_tile = tiles(TILE, k)
                    x_tile[...] = nl.load(x[index, (group * row_tiles + tile) * TILE + i_row,
                                            i_k[None, :]])
                    left[i_k[:, None], tile * TILE + nl.arange(TILE)[None, :]] = nl.copy(
                        turned(x_tile[...], identity)[...], dtype=np.float32)
                for tile in nl.affine_range(row_tiles):
                    result = tiles(TILE, BLOCK_N)
                    for piece in nl.affine_range(BLOCK_N // TILE_N):
                        psum = tiles(TILE, TILE_N, buffer=nl.psum)
                        psum[i_row, i_n] = nisa.nc_matmul(
                            left[i_k[:, None], tile * TILE + nl.arange(TILE)[None, :]],
                            right[i_k[:, None], piece * TILE_N + i_n])
                        result[i_row, piece * TILE_N + i_n] = nl.copy(psum[i_row, i_n],
                                                                      dtype=out.dtype)
                    nl.store(out[index, (group * row_tiles + tile) * TILE + i_row,
                                 block * BLOCK_N + i_all], value=result[i_row, i_all])
    return out


def squares_of(x_tile, zero, loop):
    """The mean of a part of a row's squares, by one instruction after the other."""
    i_row, i_part = nl.arange(TILE)[:, None], loop * TILE_N + nl.arange(TILE_N)[None, :]
    square, scaled, total = tiles(TILE, TILE_N), tiles(TILE, TILE_N), tiles(TILE, 1)
    square[...] = nisa.activation(op=nl.square, data=x_tile[i_row, i_part], bias=zero[i_row, 0],
                                  scale=1.0)
    scaled[...] = nisa.tensor_scalar(data=square[...], op0=nl.multiply,
                                     operand0=1.0 / x_tile.shape[1])
    total[i_row, 0] = nisa.tensor_reduce(nl.add, data=scaled[...], axis=[1])
    return total


@nki.jit
def rmsnorm_matmul_by_blocks(x, weight, row_tiles=8):
    """`row_tiles` tiles of x are normalized and transposed, then multiplied by all of weight."""
    check(x, weight, row_tiles)
    (m, k), n = x.shape, weight.shape[1]
    assert k % TILE_N == 0, f"K = {k} must be a multiple of {TILE_N}"
    halves, parts = k // TILE_N, TILE_N // TILE
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = load_identity()
    zero = tiles(TILE, 1)
    zero[...] = nisa.memset(shape=(TILE, 1), value=0, dtype=np.float32)
    i_row, i_k = nl.arange(TILE)[:, None], nl.arange(k)[None, :]
    i_tile, i_n = nl.arange(TILE)[None, :], nl.arange(TILE_N)[None, :]
    i_all = nl.arange(BLOCK_N)[None, :]

    for group in nl.affine_range(m // (row_tiles * TILE)):
        left = tiles(halves, parts, row_tiles, TILE, TILE)
        for tile in nl.affine_range(row_tiles):
            rows = (group * row_tiles + tile) * TILE + i_row
            x_tile, again = tiles(TILE, k), tiles(TILE, k)
            mean, inverse = tiles(TILE, 1), tiles(TILE, 1)
            x_tile[i_row, i_k] = nl.load(x[rows, i_k])
            for half in nl.affine_range(halves):
                total = squares_of(x_tile, zero, half)
                mean[i_row, 0] = nl.loop_reduce(total[i_row, 0], op=np.add, loop_indices=[half])
            inverse[i_row, 0] = nisa.activation(op=nl.rsqrt, data=mean[i_row, 0],
                                                bias=zero[i_row, 0], scale=1.0)
            again[i_row, i_k] = nl.load(x[rows, i_k])
            for half in nl.affine_range(halves):
                normal = tiles(TILE, TILE_N)
                normal[...] = nisa.tensor_scalar(data=again[i_row, half * TILE_N + i_n],
                                                 op0=nl.multiply, operand0=inverse[i_row, 0])
                for part in nl.affine_range(parts):
                    psum = turned(normal[i_row, part * TILE + i_tile], identity)
                    left[half, part, tile, i_row, i_tile] = nl.copy(psum[...], dtype=np.float32)

        for block in nl.affine_range(n // BLOCK_N):
            right = tiles(halves, parts, TILE, BLOCK_N)
            for half in nl.affine_range(halves):
                for part in nl.affine_range(parts):
                    right[half, part, i_row, i_all] = nl.load(
                        weight[(half * parts + part) * TILE + i_row, block * BLOCK_N + i_all])
            for tile in nl.affine_range(row_tiles):
                result = tiles(TILE, BLOCK_N)
                for piece in nl.affine_range(BLOCK_N // TILE_N):
                    psum = nl.zeros((nl.par_dim(TILE), TILE_N), dtype=np.float32, buffer=nl.psum)
                    for half in nl.affine_range(halves):
                        for part in nl.affine_range(parts):
                            psum[i_row, i_n] += nisa.nc_matmul(
                                left[half, part, tile, i_row, i_tile],
                                right[half, part, i_row, piece * TILE_N + i_n])
                    result[i_row, piece * TILE_N + i_n] = nl.copy(psum[i_row, i_n],
                                                                  dtype=out.dtype)
                nl.store(out[(group * row_tiles + tile) * TILE + i_row, block * BLOCK_N + i_all],
                         value=result[i_row, i_all])
    return out
