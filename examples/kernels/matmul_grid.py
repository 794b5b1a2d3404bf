# SPDX-License-Identifier: Apache-2.0
"""Matrix product into a grid of PSUM tiles (first-generation API).

    lhs_t [K, M], rhs [K, N]; K a multiple of 128, M of rows x 128, N of columns x 512
    ->   lhs_t.T @ rhs   [M, N]

Every tile of lhs_t that is loaded serves `columns` products, and every one of rhs `rows`: HBM is
read M / (128 rows) and N / (512 columns) times. PSUM has eight banks of 512 FP32 numbers. Wider
loads are fewer and longer transfers of the same bytes. Try

    trnsim run examples/kernels/matmul_grid.py::matmul_grid --arg 'bfloat16[1024,1024]' \\
        --arg 'bfloat16[1024,2048]' --arg rows=4 --arg columns=2 --arg rows_per_load=4
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE_K, TILE_M, TILE_N = 128, 128, 512


@nki.jit
def matmul_grid(lhs_t, rhs, rows=1, columns=1, rows_per_load=1, columns_per_load=1,
                first="rhs", copy_on=None):
    """In each step of K one operand is loaded "first", the tiles of the other before their use."""
    (k, m), (k_rhs, n) = lhs_t.shape, rhs.shape
    assert k == k_rhs, f"lhs_t has {k} rows, rhs has {k_rhs}; they must be equal"
    assert k % TILE_K == 0 and m % (rows * TILE_M) == 0 and n % (columns * TILE_N) == 0, (
        f"K, M, N = {k}, {m}, {n} must be multiples of {TILE_K}, {rows * TILE_M}, "
        f"{columns * TILE_N}")
    assert rows % rows_per_load == 0 and columns % columns_per_load == 0, (
        f"{rows} rows, {columns} columns must be multiples of {rows_per_load}, {columns_per_load}")
    assert rows <= 4 * rows_per_load and columns <= 4 * columns_per_load, (
        f"{rows // rows_per_load} and {columns // columns_per_load} loads in a step, at most 4 each")
    assert first in ("lhs", "rhs"), f"first is {first!r}, allowed: lhs, rhs"
    assert copy_on in (None, "vector", "scalar"), f"copy_on is {copy_on!r}"
    engine = {None: nisa.unknown_engine, "vector": nisa.vector_engine,
              "scalar": nisa.scalar_engine}[copy_on]
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)

    def tiles(source, k_tile, start, per_load, size, part):
        """The tiles of one load, as (number, tile)."""
        loaded = nl.load(source[nl.ds(k_tile * TILE_K, TILE_K),
                                nl.ds(start + part * per_load * size, per_load * size)])
        return [(part * per_load + i, loaded[:, nl.ds(i * size, size)]) for i in range(per_load)]

    # A line for every load of a step, as if they were written out: a site of its own.
    loads_of_step = (
        lambda operand: tiles(*operand, 0),
        lambda operand: tiles(*operand, 1),
        lambda operand: tiles(*operand, 2),
        lambda operand: tiles(*operand, 3),
    )
    row_loads = loads_of_step[:rows // rows_per_load]
    column_loads = loads_of_step[:columns // columns_per_load]

    for m_block in nl.affine_range(m // (rows * TILE_M)):
        for n_block in nl.affine_range(n // (columns * TILE_N)):
            m_start, n_start = m_block * rows * TILE_M, n_block * columns * TILE_N
            psum = nl.zeros((rows, columns, nl.par_dim(TILE_M), TILE_N), dtype=nl.float32,
                            buffer=nl.psum)
            for k_tile in nl.affine_range(k // TILE_K):
                left = (lhs_t, k_tile, m_start, rows_per_load, TILE_M)
                right = (rhs, k_tile, n_start, columns_per_load, TILE_N)
                kept, other = (right, left) if first == "rhs" else (left, right)
                kept_loads, other_loads = ((column_loads, row_loads) if first == "rhs" else
                                           (row_loads, column_loads))
                before = [one for load in kept_loads for one in load(kept)]
                for load in other_loads:
                    for number, tile in load(other):
                        for kept_number, kept_tile in before:
                            row, column, stationary, moving = number, kept_number, tile, kept_tile
                            if first == "lhs":
                                row, column, stationary, moving = column, row, moving, stationary
                            psum[row, column] += nisa.nc_matmul(stationary, moving)
            result = nl.ndarray((rows, columns, nl.par_dim(TILE_M), TILE_N), dtype=out.dtype,
                                buffer=nl.sbuf)
            for row in range(rows):
                for column in range(columns):
                    result[row, column] = nisa.tensor_copy(psum[row, column], dtype=out.dtype,
                                                           engine=engine)
                    nl.store(out[nl.ds(m_start + row * TILE_M, TILE_M),
                                 nl.ds(n_start + column * TILE_N, TILE_N)],
                             value=result[row, column])
    return out
