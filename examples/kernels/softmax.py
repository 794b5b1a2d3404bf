# SPDX-License-Identifier: Apache-2.0
"""Softmax over the last dimension, written with nki.language alone (first-generation API).

    x [rows, columns], any number of rows, a row within an SBUF partition   ->   softmax of each row

Masks keep the ragged last block of rows inside the tensor. Try

    trnsim run examples/kernels/softmax.py::softmax --arg 'float32[1000,2048]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    """Subtracts the row maximum, exponentiates, divides by the row sum."""
    rows, columns = x.shape
    pmax = nl.tile_size.pmax
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_row = nl.arange(pmax)[:, None]
    i_column = nl.arange(columns)[None, :]

    for block in nl.affine_range((rows + pmax - 1) // pmax):
        inside = block * pmax + i_row < rows
        tile = nl.load(x[block * pmax + i_row, i_column], mask=inside)
        largest = nl.max(tile, axis=1, keepdims=True, mask=inside)
        numerator = nl.exp(nl.subtract(tile, largest, mask=inside), mask=inside)
        total = nl.sum(numerator, axis=1, keepdims=True, mask=inside)
        result = nl.divide(numerator, total, mask=inside)
        nl.store(out[block * pmax + i_row, i_column], value=result, mask=inside)
    return out
