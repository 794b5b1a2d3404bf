# SPDX-License-Identifier: Apache-2.0
"""Average pooling of images: one reduction over a five-dimensional view, no data is moved for it.

    images [channels, height, width], window a divisor of both sizes
    ->   [channels, height / window, width / window]

Channels lie on partitions. An image is seen as (rows, columns) of windows by splitting both sizes
and putting the window's own two axes last. Try

    trnsim run examples/kernels/average_pool2d.py::average_pool2d --arg 'float32[128,56,56]' --arg 4
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def average_pool2d(images, window):
    """One channel block of up to 128 at a time."""
    channels, height, width = images.shape
    assert height % window == 0 and width % window == 0, (
        f"a window of {window} does not divide an image of {height} x {width}")
    rows, columns = height // window, width // window
    out = nl.ndarray((channels, rows, columns), dtype=images.dtype, buffer=nl.shared_hbm)

    for first in range(0, channels, nl.tile_size.pmax):
        count = min(nl.tile_size.pmax, channels - first)
        block = nl.ds(first, count)
        image = nl.ndarray((count, height, width), dtype=images.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=image, src=images[block, :, :])

        windows = image.reshape((count, rows, window, columns, window))
        windows = windows.permute((0, 1, 3, 2, 4))
        mean = nl.ndarray((count, rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=mean, op=nl.add, data=windows, axis=(3, 4))

        pooled = nl.ndarray(mean.shape, dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=pooled, data=mean, op0=nl.multiply, operand0=1.0 / (window * window))
        nisa.dma_copy(dst=out[block, :, :], src=pooled)
    return out
