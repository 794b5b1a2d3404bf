# SPDX-License-Identifier: Apache-2.0
"""A layer of a perceptron as two kernels: a product with a bias, then GELU.

    linear   x_t [K, M], weight [K, N], bias [1, N]   ->   x_t.T @ weight + bias  [M, N]
    gelu     y [M, N]   ->   gelu(y)  [M, N]

K and M multiples of 128, N of 512. What lies between the two kernels goes through HBM, and each
pays for its own launch: the price of not fusing. Try

    trnsim run examples/kernels/mlp.py::linear --arg 'float32[1024,512]' \\
        --arg 'float32[1024,2048]' --arg 'float32[1,2048]'
    trnsim run examples/kernels/mlp.py::gelu --arg 'float32[512,2048]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

ROWS = 128  # nl.tile_size.pmax
COLUMNS = 512  # nl.tile_size.gemm_moving_fmax


def tiles_of(m, n):
    """Refuses shapes that do not divide into whole tiles and returns how many there are."""
    assert m % ROWS == 0 and n % COLUMNS == 0, (
        f"M, N = {m}, {n} must be multiples of {ROWS}, {COLUMNS}")
    return m // ROWS, n // COLUMNS


@nki.jit
def linear(x_t, weight, bias):
    """Every tile of x and of the weight is loaded for every product; the bias for every tile."""
    (k, m), (_, n) = x_t.shape, weight.shape
    m_tiles, n_tiles = tiles_of(m, n)
    out = nl.ndarray((m, n), dtype=x_t.dtype, buffer=nl.shared_hbm)

    for m_tile in nl.affine_range(m_tiles):
        rows = nl.ds(m_tile * ROWS, ROWS)
        for n_tile in nl.affine_range(n_tiles):
            columns = nl.ds(n_tile * COLUMNS, COLUMNS)
            psum = nl.zeros((ROWS, COLUMNS), nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k // ROWS):
                depth = nl.ds(k_tile * ROWS, ROWS)
                stationary = nl.load(x_t[depth, rows])
                moving = nl.load(weight[depth, columns])
                psum += nl.matmul(stationary, moving, transpose_x=True)
            product = nl.copy(psum, dtype=out.dtype)
            added = nl.load(bias[0:1, columns]).broadcast_to((ROWS, COLUMNS))
            nl.store(out[rows, columns], value=product + added)
    return out


@nki.jit
def gelu(y):
    """One activation per tile."""
    m_tiles, n_tiles = tiles_of(*y.shape)
    out = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.shared_hbm)

    for m_tile in nl.affine_range(m_tiles):
        for n_tile in nl.affine_range(n_tiles):
            tile = (nl.ds(m_tile * ROWS, ROWS), nl.ds(n_tile * COLUMNS, COLUMNS))
            nl.store(out[tile], value=nl.gelu(nl.load(y[tile])))
    return out
