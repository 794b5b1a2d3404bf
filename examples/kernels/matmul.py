# SPDX-License-Identifier: Apache-2.0
"""Matrix product in steps of reuse; the left matrix has its contraction dimension first.

    lhs_t [K, M], rhs [K, N], K and M multiples of 128, N of 512   ->   lhs_t.T @ rhs  [M, N]

    matmul_naive      every tile is loaded for every product: bound by DMA
    matmul_hoisted    a row of left tiles stays in SBUF while the right matrix streams by
    matmul_blocked    a block of the result shares its loads over all of K
    matmul            blocks of both stay in SBUF, partial sums too: bound by the tensor engine
    matmul_panels     sums of whole columns stay in SBUF: the right matrix is read only once

Try

    trnsim compare examples/kernels/matmul.py::matmul_naive --arg 'bfloat16[1024,1024]' --arg 'bfloat16[1024,1024]'
    trnsim run examples/kernels/matmul.py::matmul --arg 'bfloat16[4096,4096]' \\
        --arg 'bfloat16[4096,4096]' --arg tiles_m=8
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


def load(source, row, column, width):
    """A new SBUF tile: 128 rows of an HBM matrix, `width` columns, from (row, column) on."""
    tile = nl.ndarray((TILE_K, width), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source[row:row + TILE_K, column:column + width])
    return tile


def store(destination, row, column, psum):
    """Moves a finished PSUM tile through SBUF, where it takes the output's type, to HBM."""
    tile = nl.ndarray(psum.shape, dtype=destination.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tile, src=psum)
    nisa.dma_copy(dst=destination[row:row + TILE_M, column:column + TILE_N], src=tile)


@nki.jit
def matmul_naive(lhs_t, rhs):
    """Two loads for each product of two tiles."""
    k, m, n = check_shapes(lhs_t, rhs)
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)

    for m_tile in nl.affine_range(m // TILE_M):
        for n_tile in nl.affine_range(n // TILE_N):
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k // TILE_K):
                stationary = load(lhs_t, k_tile * TILE_K, m_tile * TILE_M, TILE_M)
                moving = load(rhs, k_tile * TILE_K, n_tile * TILE_N, TILE_N)
                nisa.nc_matmul(dst=psum, stationary=stationary, moving=moving)
            store(out, m_tile * TILE_M, n_tile * TILE_N, psum)
    return out


@nki.jit
def matmul_hoisted(lhs_t, rhs):
    """The left tiles of one row of the result are loaded once and serve every column."""
    k, m, n = check_shapes(lhs_t, rhs)
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    k_tiles = k // TILE_K

    for m_tile in nl.affine_range(m // TILE_M):
        left = []
        for k_tile in range(k_tiles):
            left.append(load(lhs_t, k_tile * TILE_K, m_tile * TILE_M, TILE_M))
        for n_tile in nl.affine_range(n // TILE_N):
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in range(k_tiles):
                moving = load(rhs, k_tile * TILE_K, n_tile * TILE_N, TILE_N)
                nisa.nc_matmul(dst=psum, stationary=left[k_tile], moving=moving)
            store(out, m_tile * TILE_M, n_tile * TILE_N, psum)
    return out


def load_tiles(source, start, tiles, width, whole):
    """All K tiles of `tiles` columns of tiles, [column][K tile]; `whole`: one load for a row."""
    k_tiles = range(source.shape[0] // TILE_K)
    if not whole:
        return [[load(source, k_tile * TILE_K, start + tile * width, width) for k_tile in k_tiles]
                for tile in range(tiles)]
    panels = [load(source, k_tile * TILE_K, start, tiles * width) for k_tile in k_tiles]
    return [[panel[:, nl.ds(tile * width, width)] for panel in panels] for tile in range(tiles)]


@nki.jit
def matmul_blocked(lhs_t, rhs, tiles_m=2, tiles_n=2, whole=False):
    """Left tiles stay for a row of blocks, right tiles for a block; `whole`: loaded by panels."""
    k, m, n = check_shapes(lhs_t, rhs)
    block_m, block_n = tiles_m * TILE_M, tiles_n * TILE_N
    assert m % block_m == 0 and n % block_n == 0, (
        f"M, N = {m}, {n} must be multiples of the blocks {block_m}, {block_n}")
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)

    for m_block in nl.affine_range(m // block_m):
        left = load_tiles(lhs_t, m_block * block_m, tiles_m, TILE_M, whole)
        for n_block in nl.affine_range(n // block_n):
            right = load_tiles(rhs, n_block * block_n, tiles_n, TILE_N, whole)
            for m_tile in range(tiles_m):
                for n_tile in range(tiles_n):
                    psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
                    for k_tile in range(k // TILE_K):
                        nisa.nc_matmul(dst=psum, stationary=left[m_tile][k_tile],
                                       moving=right[n_tile][k_tile])
                    store(out, m_block * block_m + m_tile * TILE_M,
                          n_block * block_n + n_tile * TILE_N, psum)
    return out


def accumulate(sums, left, right, tiles_m, tiles_n, is_first):
    """Adds one K block's products to the running sums of an output block, tile by tile."""
    for m_tile in range(tiles_m):
        rows = nl.ds(m_tile * TILE_M, TILE_M)
        for n_tile in range(tiles_n):
            columns = nl.ds(n_tile * TILE_N, TILE_N)
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in range(len(left)):
                nisa.nc_matmul(dst=psum, stationary=left[k_tile][:, rows],
                               moving=right[k_tile][:, columns])
            target = sums[:, m_tile, columns]
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

    for m_start in range(0, m, block_m):
        for n_start in range(0, n, block_n):
            sums = nl.ndarray((TILE_M, tiles_m, block_n), dtype=nl.float32, buffer=nl.sbuf)
            for k_start in range(0, k, block_k):
                left, right = [], []
                for panel in range(k_start, k_start + block_k, TILE_K):
                    left.append(load(lhs_t, panel, m_start, block_m))
                    right.append(load(rhs, panel, n_start, block_n))
                accumulate(sums, left, right, tiles_m, tiles_n, k_start == 0)
            for m_tile in range(tiles_m):
                row = m_start + m_tile * TILE_M
                result = nl.ndarray((TILE_M, block_n), dtype=out.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=result, src=sums[:, m_tile, :])
                nisa.dma_copy(dst=out[row:row + TILE_M, n_start:n_start + block_n], src=result)
    return out


def load_block(source, row, column, tiles, width):
    """A new SBUF block [128, tiles, width]: `tiles` loads, one below the other in HBM."""
    block = nl.ndarray((TILE_K, tiles, width), dtype=source.dtype, buffer=nl.sbuf)
    for tile in range(tiles):
        first = row + tile * TILE_K
        nisa.dma_copy(dst=block[:, tile, :],
                      src=source[first:first + TILE_K, column:column + width])
    return block


def add_products(sums, left, right):
    """Adds a K block's products to the sums, one [128, tiles_n, 512] tile for each 128 rows."""
    for n_tile in nl.affine_range(sums[0].shape[1]):
        for m_tile in nl.affine_range(len(sums)):
            psum = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(left.shape[1]):
                nisa.nc_matmul(dst=psum,
                               stationary=left[:, k_tile, nl.ds(m_tile * TILE_M, TILE_M)],
                               moving=right[:, k_tile, nl.ds(n_tile * TILE_N, TILE_N)])
            target = sums[m_tile][:, n_tile, :]
            nisa.tensor_tensor(dst=target, data1=target, data2=psum, op=nl.add)


@nki.jit
def matmul_panels(lhs_t, rhs, tiles_m=4, tiles_n=2, tiles_k=8):
    """Block columns of the result one after the other, each from top to bottom for each K block."""
    k, m, n = check_shapes(lhs_t, rhs)
    block_m, block_n, block_k = tiles_m * TILE_M, tiles_n * TILE_N, tiles_k * TILE_K
    assert m % block_m == 0 and n % block_n == 0 and k % block_k == 0, (
        f"M, N, K = {m}, {n}, {k} must be multiples of the blocks {block_m}, {block_n}, {block_k}")
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)

    for n_block in nl.affine_range(n // block_n):
        sums = []
        for m_tile in nl.affine_range(m // TILE_M):
            tile = nl.ndarray((TILE_M, tiles_n, TILE_N), dtype=out.dtype, buffer=nl.sbuf)
            nisa.memset(dst=tile, value=0.0)
            sums.append(tile)
        for k_block in nl.sequential_range(k // block_k):
            right = load_block(rhs, k_block * block_k, n_block * block_n, tiles_k, block_n)
            for m_block in nl.affine_range(m // block_m):
                left = load_block(lhs_t, k_block * block_k, m_block * block_m, tiles_k, block_m)
                add_products(sums[m_block * tiles_m:(m_block + 1) * tiles_m], left, right)
        for m_tile in nl.affine_range(m // TILE_M):
            nisa.dma_copy(dst=out[m_tile * TILE_M:(m_tile + 1) * TILE_M,
                                  n_block * block_n:(n_block + 1) * block_n],
                          src=sums[m_tile].reshape((TILE_M, block_n)))
    return out
