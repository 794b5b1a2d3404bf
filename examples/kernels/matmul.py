# SPDX-License-Identifier: Apache-2.0
"""Matrix product in three steps of reuse; the left matrix has its contraction dimension first.

    lhs_t [K, M], rhs [K, N], K and M multiples of 128, N of 512   ->   lhs_t.T @ rhs  [M, N]

    matmul_naive      every tile is loaded for every product: bound by DMA
    matmul_hoisted    a row of left tiles stays in SBUF while the right matrix streams by
    matmul            blocks of both stay in SBUF, partial sums too: bound by the tensor engine

Try

    trnsim compare matmul.py::matmul_naive --arg 'bfloat16[1024,1024]' --arg 'bfloat16[1024,1024]'
    trnsim run matmul.py::matmul --arg 'bfloat16[4096,4096]' --arg 'bfloat16[4096,4096]' \\
        --arg tiles_m=8
"""

import nki
import nki.isa as nisa
import nki.language as nl

TILE_K = 128  # nl.tile_size.pmax
TILE_M = 128  # nl.tile_size.gemm_stationary_fmax
TILE_N = 512  # nl.tile_size.gemm_moving_fmax


def check_shapes(lhs_t, rhs):
    """Refuses shapes that do not divide into whole tiles and returns K, M, N."""
    (k, m), (k_rhs, n) = lhs_t.shape, rhs.shape
    assert k == k_rhs, f"lhs_t has {k} rows, rhs has {k_rhs}; both are the contraction dimension"
    assert k % TILE_K == 0 and m % TILE_M == 0 and n % TILE_N == 0, (
        f"K, M, N = {k}, {m}, {n} must be multiples of {TILE_K}, {TILE_M}, {TILE_N}")
    return k, m, n


def load(source, rows, columns):
    """A new SBUF tile with the given window of an HBM matrix."""
    tile = nl.ndarray((rows.stop - rows.start, columns.stop - columns.start),
                      dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source[rows, columns])
    return tile


def span(index, size):
    """The window of the index-th tile of a dimension."""
    return slice(index * size, (index + 1) * size)


def store(destination, rows, columns, psum):
    """Moves a finished PSUM tile through SBUF, where it takes the output's type, to HBM."""
    tile = nl.ndarray(psum.shape, dtype=destination.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tile, src=psum)
    nisa.dma_copy(dst=destination[rows, columns], src=tile)


@nki.jit
def matmul_naive(lhs_t, rhs):
    """Two loads for each product of two tiles."""
    k, m, n = check_shapes(lhs_t, rhs)
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)

    for m_tile in nl.affine_range(m // TILE_M):
        for n_tile in nl.affine_range(n // TILE_N):
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k // TILE_K):
                stationary = load(lhs_t, span(k_tile, TILE_K), span(m_tile, TILE_M))
                moving = load(rhs, span(k_tile, TILE_K), span(n_tile, TILE_N))
                nisa.nc_matmul(dst=psum, stationary=stationary, moving=moving)
            store(out, span(m_tile, TILE_M), span(n_tile, TILE_N), psum)
    return out


@nki.jit
def matmul_hoisted(lhs_t, rhs):
    """The left tiles of one row of the result are loaded once and serve every column."""
    k, m, n = check_shapes(lhs_t, rhs)
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    k_tiles = k // TILE_K

    for m_tile in nl.affine_range(m // TILE_M):
        row = nl.ndarray((TILE_K, k_tiles, TILE_M), dtype=lhs_t.dtype, buffer=nl.sbuf)
        for k_tile in nl.affine_range(k_tiles):
            nisa.dma_copy(dst=row[:, k_tile, :],
                          src=lhs_t[span(k_tile, TILE_K), span(m_tile, TILE_M)])
        for n_tile in nl.affine_range(n // TILE_N):
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k_tiles):
                moving = load(rhs, span(k_tile, TILE_K), span(n_tile, TILE_N))
                nisa.nc_matmul(dst=psum, stationary=row[:, k_tile, :], moving=moving)
            store(out, span(m_tile, TILE_M), span(n_tile, TILE_N), psum)
    return out


def accumulate(sums, lhs_panels, rhs_panels, tiles_m, tiles_n, is_first):
    """Adds one K block's products to the running sums of an output block, tile by tile."""
    for m_tile in range(tiles_m):
        for n_tile in range(tiles_n):
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for lhs_panel, rhs_panel in zip(lhs_panels, rhs_panels):
                nisa.nc_matmul(dst=psum,
                               stationary=lhs_panel[:, span(m_tile, TILE_M)],
                               moving=rhs_panel[:, span(n_tile, TILE_N)])
            target = sums[:, m_tile, span(n_tile, TILE_N)]
            if is_first:
                nisa.tensor_copy(dst=target, src=psum)
            else:
                nisa.tensor_tensor(dst=target, data1=target, data2=psum, op=nl.add)


@nki.jit
def matmul(lhs_t, rhs, tiles_m=4, tiles_n=2, tiles_k=8):
    """Output blocks of tiles_m x tiles_n tiles; a K block brings tiles_k panels of each matrix."""
    k, m, n = check_shapes(lhs_t, rhs)
    block_m, block_n, block_k = tiles_m * TILE_M, tiles_n * TILE_N, tiles_k * TILE_K
    assert m % block_m == 0 and n % block_n == 0 and k % block_k == 0, (
        f"M, N, K = {m}, {n}, {k} must be multiples of the blocks {block_m}, {block_n}, {block_k}")
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)

    for m_block in nl.affine_range(m // block_m):
        for n_block in nl.affine_range(n // block_n):
            sums = nl.ndarray((TILE_M, tiles_m, block_n), dtype=nl.float32, buffer=nl.sbuf)
            for k_block in nl.sequential_range(k // block_k):
                panels = [span(k_block * tiles_k + tile, TILE_K) for tile in range(tiles_k)]
                lhs_panels = [load(lhs_t, panel, span(m_block, block_m)) for panel in panels]
                rhs_panels = [load(rhs, panel, span(n_block, block_n)) for panel in panels]
                accumulate(sums, lhs_panels, rhs_panels, tiles_m, tiles_n, k_block == 0)
            for m_tile in range(tiles_m):
                rows = span(m_block * tiles_m + m_tile, TILE_M)
                result = nl.ndarray((TILE_M, block_n), dtype=out.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=result, src=sums[:, m_tile, :])
                nisa.dma_copy(dst=out[rows, span(n_block, block_n)], src=result)
    return out
