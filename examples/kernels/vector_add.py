# SPDX-License-Identifier: Apache-2.0
"""The sum of two long vectors, a tile of 128 x width elements at a time.

    a, b [128 n], n a multiple of width   ->   a + b  [128, n] or [n / width, 128, width]

    vector_add_columns   each partition has n neighbours; a tile is `width` columns of all rows;
                         compiled as it is written, in this order
    vector_add_blocks    a tile is 128 x width neighbours, one stretch of HBM
    vector_add_placed    the same; the program itself says where tiles lie in SBUF

Whether a tile is one stretch or 128 of them decides how large DMA's descriptors can be; its width
decides how often the fixed cost of a transfer is paid. Try

    trnsim run examples/kernels/vector_add.py::vector_add_columns --arg 'float32[256000]' \\
        --arg 'float32[256000]' --arg width=1000
    trnsim run examples/kernels/vector_add.py::vector_add_blocks --arg 'float32[25600]' \\
        --arg 'float32[25600]' --arg width=2
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

PARTITIONS = 128  # nl.tile_size.pmax


def tile_count(a, b, width):
    """Refuses shapes that do not divide into whole tiles and returns how many there are."""
    tile = PARTITIONS * width
    assert a.shape == b.shape and a.shape[0] % tile == 0, (
        f"a has {a.shape[0]} and b {b.shape[0]} elements; both must have as many, a multiple of "
        f"{PARTITIONS} x {width}")
    return a.shape[0] // tile


@nki.compiler.skip_middle_end_transformations
@nki.jit
def vector_add_columns(a, b, width):
    """One row per partition, cut into columns; loads and the store are explicit DMA copies."""
    count = tile_count(a, b, width)
    rows = (PARTITIONS, count * width)
    a, b = a.reshape(rows), b.reshape(rows)
    out = nl.ndarray(rows, dtype=a.dtype, buffer=nl.shared_hbm)

    for tile in nl.affine_range(count):
        columns = nl.ds(tile * width, width)
        left = nl.ndarray((PARTITIONS, width), dtype=a.dtype, buffer=nl.sbuf)
        right = nl.ndarray((PARTITIONS, width), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[:, columns])
        nisa.dma_copy(dst=right, src=b[:, columns])
        nisa.dma_copy(dst=out[:, columns], src=nisa.tensor_tensor(left, right, op=nl.add))
    return out


@nki.jit
def vector_add_blocks(a, b, width):
    """A tile is a block of neighbouring elements."""
    count = tile_count(a, b, width)
    blocks = (count, PARTITIONS, width)
    a, b = a.reshape(blocks), b.reshape(blocks)
    out = nl.ndarray(blocks, dtype=a.dtype, buffer=nl.shared_hbm)

    for tile in nl.affine_range(count):
        nl.store(out[tile], value=nl.add(nl.load(a[tile]), nl.load(b[tile])))
    return out


@nki.jit
def vector_add_placed(a, b, width, slots=4):
    """Both operands and the sum have `slots` places of a tile each, which blocks take in turn."""
    count = tile_count(a, b, width)
    blocks = (count, PARTITIONS, width)
    a, b = a.reshape(blocks), b.reshape(blocks)
    out = nl.ndarray(blocks, dtype=a.dtype, buffer=nl.shared_hbm)
    slot_bytes = width * 4  # At most, whatever the type.

    def placed(number):
        allocator = nki.compiler.sbuf.mod_alloc(base_addr=number * slots * slot_bytes,
                                                num_free_tiles=(slots,))
        return nl.ndarray((count, nl.par_dim(PARTITIONS), width), dtype=a.dtype, buffer=allocator)

    left, right, total = placed(0), placed(1), placed(2)
    for tile in nl.affine_range(count):
        left[tile] = nl.load(a[tile])
        right[tile] = nl.load(b[tile])
        total[tile] = nisa.tensor_tensor(left[tile], right[tile], op=nl.add)
        nl.store(out[tile], value=total[tile])
    return out
