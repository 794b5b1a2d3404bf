# SPDX-License-Identifier: Apache-2.0
"""SiLU alone and as the gate of a SwiGLU layer (first-generation API).

    silu      x [rows, columns], rows a multiple of 128           ->   x * sigmoid(x)
    silu_slices, silu_pieces, silu_two_slots, silu_elementary
              the same of x [partitions, slices, columns]
    swiglu    x_t [K, rows], w_gate, w_up [K, N]; K and rows multiples of 128, N of 512
              ->   silu(x_t.T @ w_gate) * (x_t.T @ w_up)   [rows, N]

swiglu never writes the two projections: their PSUM tiles meet in the vector engine. Try

    trnsim run examples/kernels/silu.py::silu --arg 'float32[1024,4096]'
    trnsim run examples/kernels/silu.py::swiglu --arg 'bfloat16[1024,1024]' \\
        --arg 'bfloat16[1024,2048]' --arg 'bfloat16[1024,2048]'
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


def silu_of(out, x, tile, source, in_place):
    """One tile from HBM to HBM."""
    tile[...] = nl.load(x[source])
    result = tile if in_place else nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    result[...] = nisa.activation(op=nl.silu, data=tile[...])
    nl.store(out[source], value=result[...])


@nki.jit
def silu_slices(x, slices_per_tile=1, in_place=False):
    """Several slices in a tile, longer transfers; what is left over has a tile of its own."""
    partitions, slices, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    groups, rest = divmod(slices, slices_per_tile)
    for group in nl.affine_range(groups):
        tile = nl.ndarray((nl.par_dim(partitions), slices_per_tile, columns), dtype=x.dtype,
                          buffer=nl.sbuf)
        i_p, i_s, i_f = nl.mgrid[0:partitions, 0:slices_per_tile, 0:columns]
        silu_of(out, x, tile, (i_p, group * slices_per_tile + i_s, i_f), in_place)
    if rest:
        tile = nl.ndarray((nl.par_dim(partitions), rest, columns), dtype=x.dtype, buffer=nl.sbuf)
        i_p, i_s, i_f = nl.mgrid[0:partitions, 0:rest, 0:columns]
        silu_of(out, x, tile, (i_p, groups * slices_per_tile + i_s, i_f), in_place)
    return out


@nki.jit
def silu_pieces(x, pieces=1, nested=False):
    """A slice in several tiles, more transfers to overlap; one loop over all, or one in another."""
    partitions, slices, columns = x.shape
    assert columns % pieces == 0, f"{columns} columns, they must be a multiple of {pieces}"
    width = columns // pieces
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:partitions, 0:width]
    if nested:
        for index in nl.affine_range(slices):
            for piece in nl.affine_range(pieces):
                tile = nl.ndarray((nl.par_dim(partitions), width), dtype=x.dtype, buffer=nl.sbuf)
                silu_of(out, x, tile, (i_p, index, piece * width + i_f), False)
        return out
    flat = (partitions, slices * pieces, width)
    for piece in nl.affine_range(slices * pieces):
        tile = nl.ndarray((nl.par_dim(partitions), width), dtype=x.dtype, buffer=nl.sbuf)
        silu_of(out.reshape(flat), x.reshape(flat), tile, (i_p, piece, i_f), False)
    return out


@nki.jit
def silu_two_slots(x):
    """Two slots in turn: the program loads a slice before it computes the one before."""
    partitions, slices, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    slots = nl.ndarray((2, nl.par_dim(partitions), columns), dtype=x.dtype, buffer=nl.sbuf)
    i_p, i_f = nl.mgrid[0:partitions, 0:columns]

    def write(index):
        result = nl.ndarray((nl.par_dim(partitions), columns), dtype=x.dtype, buffer=nl.sbuf)
        result[i_p, i_f] = nisa.activation(op=nl.silu, data=slots[index % 2, i_p, i_f])
        nl.store(out[i_p, index, i_f], value=result[i_p, i_f])

    slots[0, i_p, i_f] = nl.load(x[i_p, 0, i_f])
    for index in nl.sequential_range(slices - 1):
        slots[(index + 1) % 2, i_p, i_f] = nl.load(x[i_p, index + 1, i_f])
        write(index)
    write(slices - 1)
    return out


@nki.jit
def silu_elementary(x, width=1024, step=512):
    """x / (1 + exp(-x)) by four instructions on `step` columns each, without the table of SiLU."""
    partitions, slices, columns = x.shape
    assert columns % width == 0 and width % step == 0, (
        f"{columns} columns, they must be a multiple of {width}, and that of {step}")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    zero = nl.ndarray((nl.par_dim(partitions), 1), dtype=x.dtype, buffer=nl.sbuf)
    zero[...] = nisa.memset(shape=(partitions, 1), value=0, dtype=x.dtype)
    i_p = nl.arange(partitions)[:, None]
    i_f = nl.arange(width)[None, :]

    def new(columns):
        return nl.ndarray((nl.par_dim(partitions), columns), dtype=x.dtype, buffer=nl.sbuf)

    for index in nl.affine_range(slices):
        for part in nl.affine_range(columns // width):
            tile, result = new(width), new(width)
            tile[i_p, i_f] = nl.load(x[i_p, index, part * width + i_f])
            for piece in nl.affine_range(width // step):
                window = piece * step + nl.arange(step)[None, :]
                power, total, inverse = new(step), new(step), new(step)
                power[...] = nisa.activation(op=nl.exp, data=tile[i_p, window], bias=zero[i_p, 0],
                                             scale=-1.0)
                total[...] = nisa.tensor_scalar(data=power[...], op0=nl.add, operand0=1.0,
                                                reverse0=True)
                inverse[...] = nisa.reciprocal(data=total[...])
                result[i_p, window] = nl.multiply(tile[i_p, window], inverse[...])
            nl.store(out[i_p, index, part * width + i_f], value=result[i_p, i_f])
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
