# SPDX-License-Identifier: Apache-2.0
"""One AdamW step over a matrix of parameters (first-generation API).

    theta, grad, m, v [rows, columns], float32
    adamw          columns a multiple of 1024   ->   new theta, m, v
    adamw_folded   elements a multiple of 128 x width   ->   new theta, [128, tiles, width]
    adamw_folded_rows  any                      ->   new theta
    adamw_elementary   columns a multiple of 1024   ->   new theta

Four loads and three stores for a dozen elementwise operations: bound by DMA or by the vector
engine, depending on the chip. adamw_folded keeps no moments, leaves epsilon out, folds all
constants into four, and cuts tiles across rows, so that only DMA is left to bound it;
adamw_folded_rows does that with tiles of whole rows.
adamw_elementary has an instruction for every operation, as a compiler writes it that fuses
none. Try

    trnsim compare examples/kernels/adamw.py::adamw --arg 'float32[1000,2048]' --arg 'float32[1000,2048]' \\
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


def theta_of(theta, grad, m, v):
    """The new theta of a tile; both moments are scaled so that the gradient needs no factor."""
    first, second = 1.0 - BETA1, 1.0 - BETA2
    v_correction = 1.0 - BETA2**STEP
    step_size = LEARNING_RATE * first / (1.0 - BETA1**STEP) * (v_correction / second)**0.5
    square = nisa.activation(op=nl.square, data=grad)
    v_next = nisa.scalar_tensor_tensor(data=v, op0=nl.multiply, operand0=BETA2 / second,
                                       op1=nl.add, operand1=square)
    inverse_root = nisa.activation(op=nl.rsqrt, data=v_next)
    m_next = nisa.scalar_tensor_tensor(data=m, op0=nl.multiply, operand0=BETA1 / first,
                                       op1=nl.add, operand1=grad)
    update = nisa.scalar_tensor_tensor(data=m_next, op0=nl.multiply, operand0=step_size,
                                       op1=nl.multiply, operand1=inverse_root)
    return nisa.scalar_tensor_tensor(
        data=theta, op0=nl.multiply, operand0=1.0 - LEARNING_RATE * WEIGHT_DECAY,
        op1=nl.subtract, operand1=update)


@nki.jit
def adamw_folded(theta, grad, m, v, width):
    """Tiles are cut across rows; every one is full."""
    pmax = nl.tile_size.pmax
    count = theta.shape[0] * theta.shape[1] // (pmax * width)
    assert count * pmax * width == theta.shape[0] * theta.shape[1], (
        f"theta is {theta.shape}, its elements must be a multiple of {pmax} x {width}")
    tiles = (pmax, count, width)
    theta, grad, m, v = [one.reshape(tiles) for one in (theta, grad, m, v)]
    new_theta = nl.ndarray(tiles, dtype=theta.dtype, buffer=nl.shared_hbm)
    i_row, i_column = nl.arange(pmax)[:, None], nl.arange(width)[None, :]

    for tile in nl.affine_range(count):
        place = (i_row, tile, i_column)
        theta_tile, grad_tile = nl.load(theta[place]), nl.load(grad[place])
        m_tile, v_tile = nl.load(m[place]), nl.load(v[place])
        nl.store(new_theta[place], value=theta_of(theta_tile, grad_tile, m_tile, v_tile))
    return new_theta


@nki.jit
def adamw_folded_rows(theta, grad, m, v):
    """Tiles are rows; a mask keeps the last ones of what is not there."""
    rows, columns = theta.shape
    pmax = nl.tile_size.pmax
    new_theta = nl.ndarray(theta.shape, dtype=theta.dtype, buffer=nl.shared_hbm)
    i_row, i_column = nl.arange(pmax)[:, None], nl.arange(columns)[None, :]

    for block in nl.affine_range((rows + pmax - 1) // pmax):
        place = (block * pmax + i_row, i_column)
        inside = block * pmax + i_row < rows
        theta_tile = nl.load(theta[place], mask=inside)
        grad_tile = nl.load(grad[place], mask=inside)
        m_tile, v_tile = nl.load(m[place], mask=inside), nl.load(v[place], mask=inside)
        nl.store(new_theta[place], value=theta_of(theta_tile, grad_tile, m_tile, v_tile),
                 mask=inside)
    return new_theta


@nki.jit
def adamw_elementary(theta, grad, m, v, step=1, columns_per_step=512):
    """The new theta alone; transfers of 1,024 columns, instructions of `columns_per_step`."""
    rows, columns = theta.shape
    width = COLUMNS_PER_TILE
    assert columns % width == 0 and width % columns_per_step == 0, (
        f"{columns} columns, they must be a multiple of {width}, and that of {columns_per_step}")
    pmax = nl.tile_size.pmax
    out = nl.ndarray(theta.shape, dtype=theta.dtype, buffer=nl.shared_hbm)
    zero = nl.ndarray((nl.par_dim(pmax), 1), dtype=theta.dtype, buffer=nl.sbuf)
    zero[...] = nisa.memset(shape=(pmax, 1), value=0, dtype=theta.dtype)
    i_row, i_column = nl.arange(pmax)[:, None], nl.arange(width)[None, :]
    i_step = nl.arange(columns_per_step)[None, :]

    def new(columns=columns_per_step):
        return nl.ndarray((nl.par_dim(pmax), columns), dtype=theta.dtype, buffer=nl.sbuf)

    for block in nl.affine_range((rows + pmax - 1) // pmax):
        inside = block * pmax + i_row < rows

        def times(data, factor, inside=inside):
            tile = new()
            tile[i_row, i_step] = nisa.tensor_scalar(data=data, op0=nl.multiply, operand0=factor,
                                                     reverse0=True, mask=inside)
            return tile[i_row, i_step]

        def both(op, a, b, inside=inside):
            tile = new()
            tile[i_row, i_step] = op(a, b, mask=inside)
            return tile[i_row, i_step]

        for part in nl.affine_range(columns // width):
            place = (block * pmax + i_row, part * width + i_column)
            theta_tile, m_tile, v_tile = new(width), new(width), new(width)
            grad_tile, result = new(width), new(width)
            theta_tile[i_row, i_column] = nl.load(theta[place], mask=inside)
            m_tile[i_row, i_column] = nl.load(m[place], mask=inside)
            v_tile[i_row, i_column] = nl.load(v[place], mask=inside)
            grad_tile[i_row, i_column] = nl.load(grad[place], mask=inside)
            for piece in nl.affine_range(width // columns_per_step):
                window = (i_row, piece * columns_per_step + i_step)
                decayed = both(nl.subtract, theta_tile[window],
                               times(theta_tile[window], LEARNING_RATE * WEIGHT_DECAY))
                m_next = both(nl.add, times(m_tile[window], BETA1),
                              times(grad_tile[window], 1.0 - BETA1))
                moment = times(m_next, LEARNING_RATE / (1.0 - BETA1**step))
                kept = times(v_tile[window], BETA2)
                square = both(nl.multiply, times(grad_tile[window], 1.0 - BETA2),
                              grad_tile[window])
                root, total, inverse = new(), new(), new()
                root[i_row, i_step] = nisa.activation(
                    op=nl.sqrt, data=both(nl.add, kept, square), bias=zero[i_row, 0],
                    scale=1.0 / (1.0 - BETA2**step), mask=inside)
                total[i_row, i_step] = nisa.tensor_scalar(
                    data=root[i_row, i_step], op0=nl.add, operand0=EPSILON, mask=inside)
                inverse[i_row, i_step] = nisa.reciprocal(data=total[i_row, i_step], mask=inside)
                update = both(nl.multiply, moment, inverse[i_row, i_step])
                result[window] = nl.subtract(decayed, update, mask=inside)
            nl.store(out[place], value=result[i_row, i_column], mask=inside)
    return out
