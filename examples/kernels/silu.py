# SPDX-License-Identifier: Apache-2.0
"""SiLU alone and as the gate of a SwiGLU layer (first-generation API).

    silu      x [rows, columns], rows a multiple of 128           ->   x * sigmoid(x)
    swiglu    x_t [K, rows], w_gate, w_up [K, N]; K and rows multiples of 128, N of 512
              ->   silu(x_t.T @ w_gate) * (x_t.T @ w_up)   [rows, N]

swiglu never writes the two projections: their PSUM tiles meet in the vector engine. Try

    trnsim run silu.py::silu --arg 'float32[1024,4096]'
    trnsim run silu.py::swiglu --arg 'bfloat16[1024,1024]' --arg 'bfloat16[1024,2048]' \\
        --arg 'bfloat16[1024,2048]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def silu(x):
    """One activation per tile."""
    rows, columns = x.shape
    pmax = nl.tile_size.pmax
    assert rows % pmax == 0, f"{rows} rows, they must be a multiple of {pmax}"
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for block in nl.affine_range(rows // pmax):
        tile = nl.load(x[nl.ds(block * pmax, pmax), :])
        nl.store(out[nl.ds(block * pmax, pmax), :], value=nisa.activation(op=nl.silu, data=tile))
    return out


@nki.jit
def swiglu(x_t, w_gate, w_up):
    """Both products of a tile share the stationary tile of x."""
    k, rows = x_t.shape
    n = w_gate.shape[1]
    assert w_gate.shape == w_up.shape == (k, n), (
        f"w_gate is {w_gate.shape}, w_up is {w_up.shape}, both must be ({k}, N)")
    tile_k, tile_m, tile_n = 128, 128, 512
    assert k % tile_k == 0 and rows % tile_m == 0 and n % tile_n == 0, (
        f"K, rows, N = {k}, {rows}, {n} must be multiples of {tile_k}, {tile_m}, {tile_n}")
    out = nl.ndarray((rows, n), dtype=x_t.dtype, buffer=nl.shared_hbm)
    k_tiles = k // tile_k

    for m_tile in nl.affine_range(rows // tile_m):
        x_tiles = nl.ndarray((k_tiles, nl.par_dim(tile_k), tile_m), dtype=x_t.dtype, buffer=nl.sbuf)
        for k_tile in nl.affine_range(k_tiles):
            x_tiles[k_tile] = nl.load(x_t[nl.ds(k_tile * tile_k, tile_k),
                                          nl.ds(m_tile * tile_m, tile_m)])

        for n_tile in nl.affine_range(n // tile_n):
            gate = nl.zeros((nl.par_dim(tile_m), tile_n), dtype=nl.float32, buffer=nl.psum)
            up = nl.zeros((nl.par_dim(tile_m), tile_n), dtype=nl.float32, buffer=nl.psum)
            for k_tile in nl.affine_range(k_tiles):
                rows_k, columns = nl.ds(k_tile * tile_k, tile_k), nl.ds(n_tile * tile_n, tile_n)
                gate += nisa.nc_matmul(x_tiles[k_tile], nl.load(w_gate[rows_k, columns]))
                up += nisa.nc_matmul(x_tiles[k_tile], nl.load(w_up[rows_k, columns]))
            gated = nisa.activation(op=nl.silu, data=gate)
            nl.store(out[nl.ds(m_tile * tile_m, tile_m), nl.ds(n_tile * tile_n, tile_n)],
                     value=nl.multiply(gated, up, dtype=x_t.dtype))
    return out
