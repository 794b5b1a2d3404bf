# SPDX-License-Identifier: Apache-2.0
"""Attention of one head, in one phase or in three that meet in HBM (first-generation API).

    q, k, v [128, tokens], float32; tokens a multiple of 512
    ->   softmax(q.T @ k) @ v.T   [tokens, 128]

    attention_fused    the scores of 128 queries stay in SBUF and PSUM
    attention_phases   scores go to HBM, come back for the softmax, and again for the product

What fusion is worth: the phases move four times tokens^2 numbers more. Try

    trnsim run examples/kernels/attention_phases.py::attention_fused --arg 'float32[128,1024]' \\
        --arg 'float32[128,1024]' --arg 'float32[128,1024]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

ROWS, COLUMNS = 128, 512


def check(q, k, v):
    dim, tokens = q.shape
    assert q.shape == k.shape == v.shape, f"q, k, v are {q.shape}, {k.shape}, {v.shape}"
    assert dim == ROWS and tokens % COLUMNS == 0, (
        f"dimension, tokens = {dim}, {tokens}; they must be {ROWS} and a multiple of {COLUMNS}")
    return tokens


def tile(*shape):
    return nl.ndarray((nl.par_dim(shape[0]), *shape[1:]), dtype=nl.float32, buffer=nl.sbuf)


def part(number):
    """The columns of a part of a row of scores."""
    return nl.ds(number * COLUMNS, COLUMNS)


def scores_of(queries, q, k):
    """The scores of 128 queries, [128, tokens]."""
    tokens = k.shape[1]
    scores = tile(ROWS, tokens)
    for number in nl.affine_range(tokens // COLUMNS):
        psum = nl.ndarray((nl.par_dim(ROWS), COLUMNS), dtype=nl.float32, buffer=nl.psum)
        psum[...] = nisa.nc_matmul(stationary=q[0:ROWS, nl.ds(queries * ROWS, ROWS)],
                                   moving=k[0:ROWS, part(number)])
        scores[:, part(number)] = nisa.tensor_copy(psum, dtype=nl.float32)
    return scores


def exponentials_of(scores):
    """exp(score - largest of its row), and one over their sums, [128, 1]."""
    tokens = scores.shape[1]
    parts = tokens // COLUMNS
    largest = tile(ROWS, parts)
    for number in nl.affine_range(parts):
        largest[:, number] = nisa.tensor_reduce(op=nl.max, data=scores[:, part(number)], axis=1)
    bias = nisa.tensor_reduce(op=nl.max, data=largest, axis=1, negate=True)
    powers, sums = tile(ROWS, tokens), tile(ROWS, parts)
    for number in nl.affine_range(parts):
        powers[:, part(number)] = nisa.activation(op=nl.exp, data=scores[:, part(number)],
                                                  bias=bias, scale=1.0)
        sums[:, number] = nisa.tensor_reduce(op=nl.add, data=powers[:, part(number)], axis=1)
    total = nisa.tensor_reduce(op=nl.add, data=sums, axis=1)
    return powers, nisa.reciprocal(data=total)


def transposed(rows):
    """[128, tokens] as [128, tokens / 128, 128], each square transposed by the tensor engine."""
    squares = rows.shape[1] // ROWS
    result = tile(ROWS, squares, ROWS)
    for square in nl.affine_range(squares):
        psum = nisa.nc_transpose(rows[:, nl.ds(square * ROWS, ROWS)])
        result[:, square, :] = nisa.tensor_copy(psum, dtype=nl.float32)
    return result


def weighted(weights, v_t):
    """weights @ v.T in PSUM, [128, 128]."""
    weights_t = transposed(weights)
    psum = nl.zeros((ROWS, ROWS), dtype=nl.float32, buffer=nl.psum)
    for square in nl.affine_range(weights.shape[1] // ROWS):
        psum += nisa.nc_matmul(stationary=weights_t[:, square, :], moving=v_t[:, square, :])
    return psum


@nki.jit
def attention_fused(q, k, v):
    """The sum of each row divides the result instead of the weights."""
    tokens = check(q, k, v)
    out = nl.ndarray((tokens, ROWS), dtype=q.dtype, buffer=nl.shared_hbm)
    q_tile, k_tile, v_tile = nl.load(q), nl.load(k), nl.load(v)
    v_t = transposed(v_tile)
    for queries in nl.affine_range(tokens // ROWS):
        powers, inverse = exponentials_of(scores_of(queries, q_tile, k_tile))
        psum = weighted(powers, v_t)
        result = tile(ROWS, ROWS)
        result[...] = nisa.tensor_scalar(data=psum, op0=nl.multiply, operand0=inverse,
                                         engine=nisa.vector_engine)
        nl.store(out[nl.ds(queries * ROWS, ROWS), :], value=result)
    return out


@nki.jit
def attention_phases(q, k, v):
    """Each phase is a loop over blocks of 128 queries."""
    tokens = check(q, k, v)
    blocks = tokens // ROWS
    out = nl.ndarray((tokens, ROWS), dtype=q.dtype, buffer=nl.shared_hbm)
    q_tile, k_tile, v_tile = nl.load(q), nl.load(k), nl.load(v)
    between = nl.ndarray((blocks, ROWS, tokens), dtype=nl.float32, buffer=nl.shared_hbm)

    for queries in nl.affine_range(blocks):
        nl.store(between[queries], value=scores_of(queries, q_tile, k_tile))

    for queries in nl.affine_range(blocks):
        scores = tile(ROWS, tokens)
        scores[...] = nl.load(between[queries])
        powers, inverse = exponentials_of(scores)
        weights = tile(ROWS, tokens)
        for number in nl.affine_range(tokens // COLUMNS):
            weights[:, part(number)] = nisa.tensor_scalar(
                data=powers[:, part(number)], op0=nl.multiply, operand0=inverse,
                engine=nisa.vector_engine)
        nl.store(between[queries], value=weights)

    v_t = transposed(v_tile)
    for queries in nl.affine_range(blocks):
        weights = tile(ROWS, tokens)
        weights[...] = nl.load(between[queries])
        psum = weighted(weights, v_t)
        result = tile(ROWS, ROWS)
        result[...] = nisa.tensor_copy(psum, dtype=nl.float32)
        nl.store(out[nl.ds(queries * ROWS, ROWS), :], value=result)
    return out
