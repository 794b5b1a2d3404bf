# SPDX-License-Identifier: Apache-2.0
# Kernels of our own that the frontend's tests trace.
"""Small kernels of the `nki` API."""

from __future__ import annotations

from typing import Any

from trnsim.frontend import install

install()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

from trnsim.frontend.loops import LoopRange as range  # noqa: A004, E402


@nki.jit
def scale(x: Any, factor: float = 2.0) -> Any:
    """y = factor * x, by tiles of 128 rows."""
    rows, columns = x.shape
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[row * 128:(row + 1) * 128, 0:columns])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=y[row * 128:(row + 1) * 128, 0:columns], src=tile)
    return y


@nki.jit
def matmul(left: Any, right: Any) -> Any:
    """left.T @ right for multiples of 128, 128, 512."""
    depth, rows = left.shape
    columns = right.shape[1]
    out = nl.ndarray((rows, columns), dtype=left.dtype, buffer=nl.shared_hbm)
    for m in range(rows // 128):
        for n in range(columns // 512):
            bank = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(depth // 128):
                a = nl.ndarray((128, 128), dtype=left.dtype, buffer=nl.sbuf)
                b = nl.ndarray((128, 512), dtype=left.dtype, buffer=nl.sbuf)
                nisa.dma_copy(a, left[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128])
                nisa.dma_copy(b, right[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])
                nisa.nc_matmul(bank, a, b)
            result = nl.ndarray((128, 512), dtype=left.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(result, bank)
            nisa.dma_copy(out[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512], result)
    return out
