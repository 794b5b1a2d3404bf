# SPDX-License-Identifier: Apache-2.0
"""Batched matrix product (first-generation API, index arrays).

    lhs_t [batch, K, M], rhs [batch, K, N]; K at most 128, M a multiple of 128, N of 512
    ->   [batch, M, N]

K fits the array, so no product is accumulated: each PSUM tile leaves at once, and the copies out of
PSUM, not the products, set the pace. Try

    trnsim run examples/kernels/bmm.py::bmm --arg 'float32[4,64,1024]' --arg 'float32[4,64,1024]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE_M, TILE_N = 128, 512


@nki.jit
def bmm(lhs_t, rhs):
    """Each batch's operands are loaded whole."""
    batch, k, m = lhs_t.shape
    n = rhs.shape[2]
    assert rhs.shape[:2] == (batch, k), f"rhs is {rhs.shape}, it must be ({batch}, {k}, N)"
    assert k <= 128 and m % TILE_M == 0 and n % TILE_N == 0, (
        f"K = {k} must be at most 128; M, N = {m}, {n} multiples of {TILE_M}, {TILE_N}")
    out = nl.ndarray((batch, m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    i_k = nl.arange(k)[:, None]
    i_m = nl.arange(TILE_M)
    i_n = nl.arange(TILE_N)[None, :]

    for index in nl.affine_range(batch):
        left = nl.load(lhs_t[index, i_k, nl.arange(m)[None, :]])
        right = nl.load(rhs[index, i_k, nl.arange(n)[None, :]])
        for m_tile in nl.affine_range(m // TILE_M):
            for n_tile in nl.affine_range(n // TILE_N):
                psum = nl.zeros((nl.par_dim(TILE_M), TILE_N), dtype=nl.float32, buffer=nl.psum)
                psum += nisa.nc_matmul(left[i_k, m_tile * TILE_M + i_m[None, :]],
                                       right[i_k, n_tile * TILE_N + i_n])
                nl.store(out[index, m_tile * TILE_M + i_m[:, None], n_tile * TILE_N + i_n],
                         value=nl.copy(psum, dtype=out.dtype))
    return out
