# SPDX-License-Identifier: Apache-2.0
# What public kernels of the 0.1 API leave to AWS's compiler.
"""Copies out of PSUM, shapes of matmul results, masked views, placements, grids: as public kernels
use them (tools/corpus_cases names those kernels)."""

from __future__ import annotations

import functools
import importlib
import logging
from typing import Any

import numpy as np
import pytest
from legacy_helpers import F32, nisa, nki, nl, ops, program, tensor, traced
from trace_expander import expand
from trnsim.frontend import ProgramError, TensorArgument, dtype
from trnsim.frontend.arguments import describe

nt: Any = importlib.import_module("neuronxcc.nki.typing")
ncc: Any = importlib.import_module("neuronxcc.nki.compiler")


def test_affine_select_and_matmul_read_a_copy_of_what_is_in_psum() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        psum = nisa.nc_matmul(tile[:, 0:128], tile)
        p, f = nl.mgrid[0:128, 0:512]
        nl.copy(nisa.affine_select(pred=p >= f, on_true_tile=psum, on_false_value=0.0))
        nl.copy(nisa.nc_matmul(psum[:, 0:128], tile))

    found = program(kernel, F32)
    assert "on_true_tile of affine_select is 'psum' in psum" in found.notes[0]
    assert "stationary of nc_matmul is 'psum' in psum" in found.notes[1]
    assert ops(traced(kernel, F32)) == ["dma_copy", "nc_matmul", "tensor_copy", "affine_select",
                                        "tensor_copy", "tensor_copy", "nc_matmul", "tensor_copy"]


def test_a_matmul_has_the_free_axes_of_moving_and_fits_any_shape_of_its_size() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
        total += nisa.nc_matmul(tile.reshape((128, 512))[:, 0:128], tile)
        assert nisa.nc_matmul(tile.reshape((128, 512))[:, 0:64], tile).shape == (64, 4, 128)
        nl.copy(total)

    assert ops(traced(kernel, tensor("float32", 128, 4, 128)))[:2] == ["dma_copy", "nc_matmul"]


def test_a_matmul_of_a_masked_view_writes_what_the_mask_leaves() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        f = nl.arange(512)[None, :]
        total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
        total += nisa.nc_matmul(tile[:, 0:128], tile[nl.arange(128)[:, None], f][f < 500][f < 400])
        nl.copy(total[:, 0:400])

    (matmul,) = [one for one in traced(kernel, F32) if one.op == "nc_matmul"]
    assert [operand[4] for operand in matmul.operands][::2] == [((1, 400),)] * 2


def test_a_vector_of_partitions_broadcasts_to_any_rank() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nl.copy(nisa.tensor_tensor(tile.reshape((128, 4, 8, 16)), tile[:, 0:1], op=nl.add))

    assert ops(traced(kernel, F32)) == ["dma_copy", "tensor_tensor", "tensor_copy"]


def test_an_index_of_mgrid_alone_selects_the_grid() -> None:
    def kernel(x: Any) -> None:
        assert nl.load(x[nl.mgrid[0:128, 0:256]]).shape == (128, 256)

    traced(kernel, F32)


def test_where_repeats_what_has_one_partition() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        numbers = nisa.iota(nl.mgrid[0:1, 0:512].x, dtype=nl.uint32)
        nl.copy(nl.where(tile > 0, numbers, 512, dtype=nl.uint32))

    assert "nc_matmul" in ops(traced(kernel, F32))


def test_placement_functions_are_called_by_the_names_of_their_parameters() -> None:
    def place(bank_map: Any, idx: Any, pdim_size: int, fdim_size: int) -> Any:
        return bank_map[idx], 0, 0

    def kernel(x: Any) -> None:
        tile = nl.load(x)
        psum = nl.ndarray((2, nl.par_dim(128), 512), dtype=nl.float32, buffer=ncc.psum.alloc(
            functools.partial(place, bank_map={(0,): 1, (1,): 5})))
        for block in range(2):
            psum[block] = nisa.nc_matmul(tile[:, 0:128], tile)

    matmuls = [one for one in expand(program(kernel, F32).lines()) if one.op == "nc_matmul"]
    assert [one.places[0] for one in matmuls] == [("psum", 2048, 0), ("psum", 10240, 0)]


def test_a_constant_goes_by_dma_to_where_no_engine_starts() -> None:
    def kernel() -> None:
        tile = nl.zeros((32, 4), dtype=nl.uint32)
        tile[1, 2] = 5
        nl.copy(tile)

    assert ops(traced(kernel)) == ["memset", "memset", "dma_copy", "tensor_copy"]


def test_a_gather_with_a_mask_reads_the_indices_that_the_mask_leaves() -> None:
    def kernel(x: Any, rows: Any) -> None:
        index = nl.load(rows)
        p, f = nl.arange(128)[:, None], nl.arange(512)[None, :]
        nl.load(x[index, f], mask=p < 100)

    gather = traced(kernel, F32, tensor("int32", 128, 1))[1]
    assert [operand[3] for operand in gather.operands] == [100, None, 100]


def test_one_element_of_hbm_is_loaded_as_a_tile() -> None:
    def kernel(x: Any) -> None:
        assert nl.load(x[3, 4]).shape == (1, 1)

    traced(kernel, F32)


def test_booleans_are_masks_and_tensors_in_hbm_are_true() -> None:
    def kernel(x: Any) -> None:
        assert x
        tile = nl.load(x)
        assert tile[True] is tile
        with pytest.raises(ProgramError, match="the truth of tensor"):
            bool(tile)

    program(kernel, F32)


def test_a_transpose_may_widen_in_psum_but_not_narrow() -> None:
    def kernel(x: Any, kind: str) -> None:
        tile = nl.load(x)
        psum = nl.ndarray((nl.par_dim(64), 128), dtype=getattr(nl, kind), buffer=nl.psum)
        psum[:, :] = nisa.nc_transpose(tile)

    narrow = tensor("bfloat16", 128, 64)
    assert ops(traced(kernel, narrow, "float32")) == ["dma_copy", "nc_transpose"]
    with pytest.raises(ProgramError, match="dst is bfloat16 and data float32"):
        program(kernel, tensor("float32", 128, 64), "bfloat16")


def test_arguments_may_be_types_and_tensors_without_contents() -> None:
    assert nt.tensor[[8, 4], nl.bfloat16] == TensorArgument(dtype("bfloat16"), (8, 4))
    assert nt.tensor[8, 4] is nt.tensor and nt.tensor[nt.mutable] is nt.tensor
    assert describe(np.float32) == "<class 'numpy.float32'>"

    def kernel(x: Any, kind: Any) -> None:
        nl.copy(nl.load(x), dtype=kind)

    assert ops(traced(kernel, F32, np.float16)) == ["dma_copy", "tensor_copy"]


def test_an_argument_is_described_alike_in_every_run() -> None:
    class Setting:
        pass

    texts = [describe((Setting(), len, lambda: None)) for _ in range(2)]
    assert texts[0] == texts[1] and " at 0x" not in texts[0] and "Setting object>" in texts[0]


def test_modules_of_the_compiler_that_kernels_import_are_there() -> None:
    constants = importlib.import_module("neuronxcc.nki.language.constants")
    assert constants.sizeinbytes(nl.bfloat16) == 2
    importlib.import_module("neuronxcc.nki.compiler.backends.neuron.tensor")
    assert vars(logging)["OFF"] > logging.CRITICAL
    assert nki.jit(lambda: None).name == "<lambda>"
