# SPDX-License-Identifier: Apache-2.0
"""RMSNorm fused with the projection that follows it: x is read once and its norm is never written.

    x [rows, K], weight [K, N]; rows and K multiples of 128, N of 512
    ->   (x / sqrt(mean(x^2) + 1e-6)) @ weight   [rows, N]

A row's norm is a scalar of that row, so it is applied to the product instead of to x, and the
scalar engine computes it while the tensor engine multiplies. The gain belongs into the weight. Try

    trnsim run examples/kernels/rmsnorm_matmul.py::rmsnorm_matmul --arg 'bfloat16[1024,2048]' \\
        --arg 'bfloat16[2048,1024]'
"""

import nki
import nki.isa as nisa
import nki.language as nl

ROWS = 128  # nl.tile_size.pmax
TILE_K = 128  # nl.tile_size.pmax
TILE_N = 512  # nl.tile_size.gemm_moving_fmax
EPSILON = 1e-6


def inverse_rms(x_tile, epsilon_tile):
    """1 / sqrt(mean of squares + epsilon) of each partition, [rows, 1]."""
    width = x_tile.shape[1]
    squares = nl.ndarray(x_tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=squares, op=nl.square, data=x_tile, reduce_op=nl.add,
                           reduce_res=total)
    result = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=result, op=nl.rsqrt, data=total, bias=epsilon_tile, scale=1.0 / width)
    return result


def transposed(x_tile, k_tiles):
    """x_tile with K on the partitions, as the tensor engine contracts: [128, k_tiles, rows]."""
    x_t = nl.ndarray((TILE_K, k_tiles, ROWS), dtype=x_tile.dtype, buffer=nl.sbuf)
    for k_tile in nl.affine_range(k_tiles):
        psum = nl.ndarray((TILE_K, ROWS), dtype=x_tile.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=psum, data=x_tile[:, k_tile * TILE_K:(k_tile + 1) * TILE_K])
        nisa.tensor_copy(dst=x_t[:, k_tile, :], src=psum)
    return x_t


@nki.jit
def rmsnorm_matmul(x, weight):
    """The whole weight stays in SBUF; rows of x stream through."""
    (rows, k), (k_weight, n) = x.shape, weight.shape
    assert k == k_weight, f"x has {k} columns, weight has {k_weight} rows; they must be equal"
    assert rows % ROWS == 0 and k % TILE_K == 0 and n % TILE_N == 0, (
        f"rows, K, N = {rows}, {k}, {n} must be multiples of {ROWS}, {TILE_K}, {TILE_N}")
    out = nl.ndarray((rows, n), dtype=x.dtype, buffer=nl.shared_hbm)
    k_tiles = k // TILE_K

    weights = nl.ndarray((TILE_K, k_tiles, n), dtype=weight.dtype, buffer=nl.sbuf)
    for k_tile in nl.affine_range(k_tiles):
        nisa.dma_copy(dst=weights[:, k_tile, :],
                      src=weight[k_tile * TILE_K:(k_tile + 1) * TILE_K, :])
    epsilon_tile = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epsilon_tile, value=EPSILON)

    for row in nl.affine_range(rows // ROWS):
        x_tile = nl.ndarray((ROWS, k), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[row * ROWS:(row + 1) * ROWS, :])
        scale = inverse_rms(x_tile, epsilon_tile)
        x_t = transposed(x_tile, k_tiles)

        result = nl.ndarray((ROWS, n), dtype=out.dtype, buffer=nl.sbuf)
        for n_tile in nl.affine_range(n // TILE_N):
            columns = nl.ds(n_tile * TILE_N, TILE_N)
            psum = nl.ndarray((ROWS, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k_tiles):
                nisa.nc_matmul(dst=psum, stationary=x_t[:, k_tile, :],
                               moving=weights[:, k_tile, columns])
            nisa.tensor_scalar(dst=result[:, columns], data=psum, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=out[row * ROWS:(row + 1) * ROWS, :], src=result)
    return out
