# SPDX-License-Identifier: Apache-2.0
"""One AdamW step over a matrix of parameters (first-generation API).

    theta, grad, m, v [rows, columns], float32
    adamw          columns a multiple of 1024   ->   new theta, m, v
    adamw_folded   elements a multiple of 128 x width   ->   new theta, [128, tiles, width]

Four loads and three stores for a dozen elementwise operations: bound by DMA or by the vector
engine, depending on the chip. adamw_folded keeps no moments, leaves epsilon out, folds all
constants into four, and cuts tiles across rows, so that only DMA is left to bound it. Try

    trnsim compare adamw.py::adamw --arg 'float32[1000,2048]' --arg 'float32[1000,2048]' \\
        --arg 'float32[1000,2048]' --arg 'float32[1000,2048]' --chips trn1,trn2
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

LEARNING_RATE, WEIGHT_DECAY, EPSILON = 1e-3, 1e-2, 1e-8
BETA1, BETA2, STEP = 0.9, 0.999, 10
COLUMNS_PER_TILE = 1024


@nki.jit
def adamw(theta, grad, m, v):
    """Updates tile by tile; bias correction is folded into two constants."""
    rows, columns = theta.shape
    assert columns % COLUMNS_PER_TILE == 0, (
        f"{columns} columns, they must be a multiple of {COLUMNS_PER_TILE}")
    pmax = nl.tile_size.pmax
    new_theta = nl.ndarray(theta.shape, dtype=theta.dtype, buffer=nl.shared_hbm)
    new_m = nl.ndarray(m.shape, dtype=m.dtype, buffer=nl.shared_hbm)
    new_v = nl.ndarray(v.shape, dtype=v.dtype, buffer=nl.shared_hbm)
    step_size = LEARNING_RATE / (1.0 - BETA1**STEP)
    v_correction = 1.0 / (1.0 - BETA2**STEP)
    i_row = nl.arange(pmax)[:, None]
    i_column = nl.arange(COLUMNS_PER_TILE)[None, :]

    for block in nl.affine_range((rows + pmax - 1) // pmax):
        inside = block * pmax + i_row < rows
        for part in nl.affine_range(columns // COLUMNS_PER_TILE):
            row, column = block * pmax + i_row, part * COLUMNS_PER_TILE + i_column
            theta_tile = nl.load(theta[row, column], mask=inside)
            grad_tile = nl.load(grad[row, column], mask=inside)
            m_tile = nl.load(m[row, column], mask=inside)
            v_tile = nl.load(v[row, column], mask=inside)

            m_part = nl.multiply(grad_tile, 1.0 - BETA1, mask=inside)
            m_next = nisa.scalar_tensor_tensor(data=m_tile, op0=nl.multiply, operand0=BETA1,
                                               op1=nl.add, operand1=m_part, mask=inside)
            square = nl.multiply(grad_tile, grad_tile, mask=inside)
            v_part = nl.multiply(square, 1.0 - BETA2, mask=inside)
            v_next = nisa.scalar_tensor_tensor(data=v_tile, op0=nl.multiply, operand0=BETA2,
                                               op1=nl.add, operand1=v_part, mask=inside)

            root = nisa.activation(op=nl.sqrt, data=v_next, scale=v_correction, mask=inside)
            inverse = nisa.reciprocal(data=nl.add(root, EPSILON, mask=inside), mask=inside)
            update = nisa.scalar_tensor_tensor(data=m_next, op0=nl.multiply, operand0=step_size,
                                               op1=nl.multiply, operand1=inverse, mask=inside)
            theta_next = nisa.scalar_tensor_tensor(
                data=theta_tile, op0=nl.multiply, operand0=1.0 - LEARNING_RATE * WEIGHT_DECAY,
                op1=nl.subtract, operand1=update, mask=inside)

            nl.store(new_theta[row, column], value=theta_next, mask=inside)
            nl.store(new_m[row, column], value=m_next, mask=inside)
            nl.store(new_v[row, column], value=v_next, mask=inside)
    return new_theta, new_m, new_v


@nki.jit
def adamw_folded(theta, grad, m, v, width):
    """The new theta alone: both moments are scaled so that the gradient needs no factor."""
    pmax = nl.tile_size.pmax
    count = theta.shape[0] * theta.shape[1] // (pmax * width)
    assert count * pmax * width == theta.shape[0] * theta.shape[1], (
        f"theta is {theta.shape}, its elements must be a multiple of {pmax} x {width}")
    tiles = (pmax, count, width)
    sources = [one.reshape(tiles) for one in (theta, grad, m, v)]
    new_theta = nl.ndarray(tiles, dtype=theta.dtype, buffer=nl.shared_hbm)
    first, second = 1.0 - BETA1, 1.0 - BETA2
    v_correction = 1.0 - BETA2**STEP
    step_size = LEARNING_RATE * first / (1.0 - BETA1**STEP) * (v_correction / second)**0.5
    i_row = nl.arange(pmax)[:, None]
    i_column = nl.arange(width)[None, :]

    for tile in nl.affine_range(count):
        place = (i_row, tile, i_column)
        theta_tile, grad_tile, m_tile, v_tile = [nl.load(one[place]) for one in sources]
        square = nisa.activation(op=nl.square, data=grad_tile)
        v_next = nisa.scalar_tensor_tensor(data=v_tile, op0=nl.multiply, operand0=BETA2 / second,
                                           op1=nl.add, operand1=square)
        inverse_root = nisa.activation(op=nl.rsqrt, data=v_next)
        m_next = nisa.scalar_tensor_tensor(data=m_tile, op0=nl.multiply, operand0=BETA1 / first,
                                           op1=nl.add, operand1=grad_tile)
        update = nisa.scalar_tensor_tensor(data=m_next, op0=nl.multiply, operand0=step_size,
                                           op1=nl.multiply, operand1=inverse_root)
        theta_next = nisa.scalar_tensor_tensor(
            data=theta_tile, op0=nl.multiply, operand0=1.0 - LEARNING_RATE * WEIGHT_DECAY,
            op1=nl.subtract, operand1=update)
        nl.store(new_theta[place], value=theta_next)
    return new_theta
