# SPDX-License-Identifier: Apache-2.0
"""Elementwise sum of two matrices: two loads, one VectorE instruction and one store per tile.

    a, b [rows, columns] any equal shapes and types   ->   a + b

Bound by DMA on every chip: three transfers for one pass of an engine. Try

    trnsim run examples/kernels/tensor_add.py::tensor_add --arg 'bfloat16[1024,4096]' --arg 'bfloat16[1024,4096]'
"""

import nki
import nki.isa as nisa
import nki.language as nl

COLUMNS_PER_TILE = 2048


@nki.jit
def tensor_add(a, b):
    """Adds tile by tile; the last row of tiles and the last column of tiles may be smaller."""
    assert a.shape == b.shape, f"a is {a.shape}, b is {b.shape}, they must be equal"
    rows, columns = a.shape
    total = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)

    for row in range(0, rows, nl.tile_size.pmax):
        height = min(nl.tile_size.pmax, rows - row)
        for column in range(0, columns, COLUMNS_PER_TILE):
            width = min(COLUMNS_PER_TILE, columns - column)
            a_tile = nl.ndarray((height, width), dtype=a.dtype, buffer=nl.sbuf)
            b_tile = nl.ndarray((height, width), dtype=b.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=a_tile, src=a[row:row + height, column:column + width])
            nisa.dma_copy(dst=b_tile, src=b[row:row + height, column:column + width])
            nisa.tensor_tensor(dst=a_tile, data1=a_tile, data2=b_tile, op=nl.add)
            nisa.dma_copy(dst=total[row:row + height, column:column + width], src=a_tile)
    return total
