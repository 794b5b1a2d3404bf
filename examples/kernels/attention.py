# SPDX-License-Identifier: Apache-2.0
"""Attention forward, softmax(q k^T / sqrt(D)) v, with whole rows of scores in SBUF.

    q_t, k_t [heads, D, tokens], v [heads, tokens, D]; D at most 128, tokens a multiple of 512
    ->   [heads, tokens, D]

128 queries at a time: scores to PSUM, one copy to SBUF, row maximum, exponential with its row sum
in the same instruction, transposes of the probabilities, second product, division by the row sum
last, where it is smallest. The type of the arguments is the type of the products: float32 takes
four passes of the tensor engine, bfloat16 one. Try

    trnsim run examples/kernels/attention.py::attention --arg 'float32[1,128,1024]' \\
        --arg 'float32[1,128,1024]' --arg 'float32[1,1024,128]'
    trnsim run examples/kernels/attention.py::attention --arg 'bfloat16[4,128,2048]' \\
        --arg 'bfloat16[4,128,2048]' --arg 'bfloat16[4,2048,128]' --arg causal=True
"""

import nki
import nki.isa as nisa
import nki.language as nl

QUERIES = 128  # nl.tile_size.pmax
KEYS = 512  # nl.tile_size.gemm_moving_fmax
KEYS_TRANSPOSED = 128  # nl.tile_size.pmax
MASKED = -30000.0


def scores_of(query, k_tile, first_query, key_count, causal):
    """q k^T of 128 queries and the first key_count keys in SBUF, float32 [128, key_count]."""
    scores = nl.ndarray((QUERIES, key_count), dtype=nl.float32, buffer=nl.sbuf)
    for first_key in range(0, key_count, KEYS):
        keys = nl.ds(first_key, KEYS)
        psum = nl.ndarray((QUERIES, KEYS), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=psum, stationary=query, moving=k_tile[:, keys])
        nisa.tensor_copy(dst=scores[:, keys], src=psum)
        if causal and first_key + KEYS > first_query:
            nisa.affine_select(dst=scores[:, keys], pattern=[[-1, KEYS]], channel_multiplier=1,
                               offset=first_query - first_key, on_true_tile=scores[:, keys],
                               on_false_value=MASKED, cmp_op=nl.greater_equal)
    return scores


def softmax_numerator(scores, dtype, scale):
    """exp(scale (scores - row maximum)) in `dtype` and the reciprocal of its row sums."""
    shift = nl.ndarray((QUERIES, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=shift, op=nl.maximum, data=scores, axis=1, negate=True)
    nisa.tensor_scalar(dst=shift, data=shift, op0=nl.multiply, operand0=scale)
    numerator = nl.ndarray(scores.shape, dtype=dtype, buffer=nl.sbuf)
    total = nl.ndarray((QUERIES, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=numerator, op=nl.exp, data=scores, reduce_op=nl.add,
                           reduce_res=total, bias=shift, scale=scale)
    inverse = nl.ndarray((QUERIES, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=inverse, data=total)
    return numerator, inverse


def weighted_values(numerator, v_tile, dim):
    """numerator @ v, accumulated in PSUM over all keys, [128, dim]."""
    psum = nl.ndarray((QUERIES, dim), dtype=nl.float32, buffer=nl.psum)
    for block in range(numerator.shape[1] // KEYS_TRANSPOSED):
        flipped = nl.ndarray((KEYS_TRANSPOSED, QUERIES), dtype=numerator.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=flipped,
                          data=numerator[:, block * KEYS_TRANSPOSED:(block + 1) * KEYS_TRANSPOSED])
        weights = nl.ndarray((KEYS_TRANSPOSED, QUERIES), dtype=numerator.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=weights, src=flipped)
        nisa.nc_matmul(dst=psum, stationary=weights, moving=v_tile[:, block, :])
    return psum


@nki.jit
def attention(q_t, k_t, v, causal=False):
    """One head at a time; its keys and values stay in SBUF."""
    heads, dim, tokens = q_t.shape
    assert k_t.shape == q_t.shape and v.shape == (heads, tokens, dim), (
        f"q_t is {q_t.shape}, k_t is {k_t.shape}, v is {v.shape}; "
        f"k_t must equal q_t and v be ({heads}, {tokens}, {dim})")
    assert dim <= nl.tile_size.pmax and tokens % KEYS == 0, (
        f"D = {dim} must be at most {nl.tile_size.pmax}, {tokens} tokens a multiple of {KEYS}")
    out = nl.ndarray(v.shape, dtype=v.dtype, buffer=nl.shared_hbm)

    for head in nl.affine_range(heads):
        k_tile = nl.ndarray((dim, tokens), dtype=k_t.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=k_tile, src=k_t[head, :, :])
        blocks = tokens // KEYS_TRANSPOSED
        v_tile = nl.ndarray((KEYS_TRANSPOSED, blocks, dim), dtype=v.dtype, buffer=nl.sbuf)
        for block in nl.affine_range(blocks):
            nisa.dma_copy(dst=v_tile[:, block, :],
                          src=v[head, block * KEYS_TRANSPOSED:(block + 1) * KEYS_TRANSPOSED, :])

        for first_query in range(0, tokens, QUERIES):
            query = nl.ndarray((dim, QUERIES), dtype=q_t.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=query, src=q_t[head, :, first_query:first_query + QUERIES])
            key_count = min(tokens, (first_query // KEYS + 1) * KEYS) if causal else tokens
            scores = scores_of(query, k_tile, first_query, key_count, causal)
            numerator, inverse = softmax_numerator(scores, v.dtype, dim**-0.5)
            psum = weighted_values(numerator, v_tile, dim)

            result = nl.ndarray((QUERIES, dim), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=result, data=psum, op0=nl.multiply, operand0=inverse)
            nisa.dma_copy(dst=out[head, first_query:first_query + QUERIES, :], src=result)
    return out
