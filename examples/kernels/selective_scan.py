# SPDX-License-Identifier: Apache-2.0
"""Selective state-space scan as in Mamba (first-generation API).

    delta, u [channels, tokens], a [channels, states], b, c [states, tokens];
    channels a multiple of 128   ->   y [channels, tokens]

    h[s] = exp(delta * a[s]) * h[s] of the token before + delta * u * b[s]
    y    = sum over the states s of c[s] * h[s]

Channels lie on partitions and time along the free axis, so one vector-engine scan runs a whole
sequence of 128 channels; long sequences are cut and the last column carries the state over.
selective_scan_by_state has the loops the other way round: simpler, but it loads delta and u again
for every state. Try

    trnsim run examples/kernels/selective_scan.py::selective_scan --arg 'float32[256,1024]' \\
        --arg 'float32[256,1024]' --arg 'float32[256,16]' --arg 'float32[16,1024]' \\
        --arg 'float32[16,1024]'
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def selective_scan(delta, u, a, b, c, tokens_per_tile=512):
    """Loops over channel blocks, states and pieces of the sequence, in this order."""
    channels, tokens = delta.shape
    states = a.shape[1]
    pmax = nl.tile_size.pmax
    assert channels % pmax == 0, f"{channels} channels, they must be a multiple of {pmax}"
    width = min(tokens, tokens_per_tile)
    assert tokens % width == 0, f"{tokens} tokens, they must be a multiple of {width}"
    y = nl.ndarray((channels, tokens), dtype=delta.dtype, buffer=nl.shared_hbm)

    for block in nl.affine_range(channels // pmax):
        rows = nl.ds(block * pmax, pmax)
        delta_tile = nl.load(delta[rows, :])
        u_tile = nl.load(u[rows, :])
        a_tile = nl.load(a[rows, :])
        delta_u = nl.multiply(delta_tile, u_tile)
        y_tile = nl.zeros((nl.par_dim(pmax), tokens), dtype=nl.float32, buffer=nl.sbuf)

        for state in nl.affine_range(states):
            carry = nl.zeros((nl.par_dim(pmax), 1), dtype=nl.float32, buffer=nl.sbuf)
            for piece in nl.static_range(tokens // width):
                window = nl.ds(piece * width, width)
                decay = nisa.activation(op=nl.exp, data=delta_tile[:, window],
                                        scale=a_tile[:, state])
                b_row = nl.load(b[nl.ds(state, 1), window]).broadcast_to((pmax, width))
                c_row = nl.load(c[nl.ds(state, 1), window]).broadcast_to((pmax, width))
                inflow = nl.multiply(delta_u[:, window], b_row)
                h = nisa.tensor_tensor_scan(decay, inflow, initial=carry,
                                            op0=nl.multiply, op1=nl.add)
                carry[:, :] = nisa.tensor_copy(h[:, nl.ds(width - 1, 1)])
                y_tile[:, window] = nl.add(y_tile[:, window], nl.multiply(h, c_row))
        nl.store(y[rows, :], value=y_tile)
    return y


@nki.jit
def selective_scan_by_state(delta, u, a, b, c):
    """Loops over states, then over channel blocks; whole sequences at a time."""
    channels, tokens = delta.shape
    states = a.shape[1]
    pmax = nl.tile_size.pmax
    assert channels % pmax == 0, f"{channels} channels, they must be a multiple of {pmax}"
    blocks = channels // pmax
    y = nl.ndarray((channels, tokens), dtype=delta.dtype, buffer=nl.shared_hbm)
    sums = nl.zeros((blocks, nl.par_dim(pmax), tokens), dtype=delta.dtype)

    for state in nl.affine_range(states):
        for block in nl.affine_range(blocks):
            rows = nl.ds(block * pmax, pmax)
            delta_tile = nl.load(delta[rows, :])
            a_tile = nl.load(a[rows, state])
            decay = nisa.activation(op=nl.exp, data=delta_tile, scale=a_tile)
            u_tile = nl.load(u[rows, :])
            b_row = nl.load(b[nl.ds(state, 1), :])
            delta_u = nisa.tensor_tensor(delta_tile, u_tile, op=nl.multiply)
            inflow = nisa.tensor_tensor(delta_u, b_row.broadcast_to((pmax, tokens)),
                                        op=nl.multiply)
            h = nisa.tensor_tensor_scan(decay, inflow, initial=0, op0=nl.multiply, op1=nl.add)
            c_row = nl.load(c[nl.ds(state, 1), :])
            sums[block] += nisa.tensor_tensor(h, c_row.broadcast_to((pmax, tokens)),
                                              op=nl.multiply)
    for block in nl.affine_range(blocks):
        nl.store(y[nl.ds(block * pmax, pmax), :], value=sums[block])
    return y
