# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding: each pair of half-dimensions is turned by an angle of its position.

    x [heads, tokens, D], cosine, sine [tokens, D/2]; tokens a multiple of 128
    ->   [heads, tokens, D]: (x1 cos - x2 sin, x2 cos + x1 sin) with x1, x2 the halves of D

The tables of a block of tokens are loaded once and serve all heads; the two halves of the result
are computed by two engines at the same time. Try

    trnsim run examples/kernels/rope.py::rope --arg 'float32[8,1024,128]' \\
        --arg 'float32[1024,64]' --arg 'float32[1024,64]'
"""

import nki
import nki.isa as nisa
import nki.language as nl

TOKENS = 128  # nl.tile_size.pmax


def rotate_half(out, keep, keep_by, turn, turn_by, op, engine):
    """out = keep * keep_by (op) turn * turn_by, on one engine."""
    kept = nl.ndarray(out.shape, dtype=nl.float32, buffer=nl.sbuf)
    turned = nl.ndarray(out.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=kept, data1=keep, data2=keep_by, op=nl.multiply, engine=engine)
    nisa.tensor_tensor(dst=turned, data1=turn, data2=turn_by, op=nl.multiply, engine=engine)
    nisa.tensor_tensor(dst=out, data1=kept, data2=turned, op=op, engine=engine)


@nki.jit
def rope(x, cosine, sine):
    """Tokens on partitions, the head dimension along the free axis."""
    heads, tokens, dim = x.shape
    half = dim // 2
    assert tokens % TOKENS == 0, f"{tokens} tokens, they must be a multiple of {TOKENS}"
    assert cosine.shape == (tokens, half) and sine.shape == (tokens, half), (
        f"cosine is {cosine.shape}, sine is {sine.shape}, both must be ({tokens}, {half})")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

    for block in nl.affine_range(tokens // TOKENS):
        window = nl.ds(block * TOKENS, TOKENS)
        cosine_tile = nl.ndarray((TOKENS, half), dtype=cosine.dtype, buffer=nl.sbuf)
        sine_tile = nl.ndarray((TOKENS, half), dtype=sine.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=cosine_tile, src=cosine[window, :])
        nisa.dma_copy(dst=sine_tile, src=sine[window, :])

        for head in nl.affine_range(heads):
            x_tile = nl.ndarray((TOKENS, dim), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=x_tile, src=x[head, window, :])
            x1, x2 = x_tile[:, 0:half], x_tile[:, half:dim]

            turned = nl.ndarray((TOKENS, dim), dtype=out.dtype, buffer=nl.sbuf)
            rotate_half(turned[:, 0:half], x1, cosine_tile, x2, sine_tile,
                        nl.subtract, nisa.engine.vector)
            rotate_half(turned[:, half:dim], x2, cosine_tile, x1, sine_tile,
                        nl.add, nisa.engine.gpsimd)
            nisa.dma_copy(dst=out[head, window, :], src=turned)
    return out
