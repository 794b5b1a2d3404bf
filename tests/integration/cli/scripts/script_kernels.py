# SPDX-License-Identifier: Apache-2.0
# The kernels of scripts in these tests.
"""ADDERS: added(a, b) returns a sum, accumulated(total, a) writes it to its first argument."""

from __future__ import annotations

ADDERS = '''
import nki
import nki.isa as nisa
import nki.language as nl


def loaded(tensor, shape):
    tile = nl.ndarray(shape, dtype=tensor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=tensor[:, 0:shape[1]])
    return tile


def summed(a, b):
    x = loaded(a, b.shape)
    nisa.tensor_tensor(dst=x, data1=x, data2=loaded(b, b.shape), op=nl.add)
    return x


@nki.jit
def added(a, b):
    out = nl.ndarray(b.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=summed(a, b))
    return out


@nki.jit
def accumulated(total, a):
    nisa.dma_copy(dst=total, src=summed(total, a))
    return total
'''
