# SPDX-License-Identifier: Apache-2.0
# What the model would be worth without each of its parts.
"""VARIANTS: every policy and mechanism that has a trivial variant, switched one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from collections.abc import Callable, Mapping, Sequence

from trnsim.validation.runs import Outcome, Variant
from trnsim.validation.statistics import groups


def _policy(name: str, what: str, *words: str) -> Variant:
    return Variant(name, policies=words, what=what)


def _physics(name: str, what: str, *words: str) -> Variant:
    return Variant(name, settings=words, what=what)


_TENSOR = "neuron_core.tensor_engine"
_VECTOR = "neuron_core.vector_engine"
_SCALAR = "neuron_core.scalar_engine"

VARIANTS: tuple[Variant, ...] = (
    _policy("engine_choice", "the first engine that can run it", "engine_choice=first"),
    _policy("buffers", "as many buffers as live tiles", "buffer_factor=1", "buffer_extra=0"),
    _policy("buffer_ns", "large loaded tiles have as many buffers as small ones", "buffer_ns=0"),
    _policy("unrolled_buffers", "tiles of Python loops have buffers like others",
            "unrolled_buffers=true"),
    _policy("loads", "loads as soon as there is a slot", "loads=as_soon_as_possible"),
    _policy("psum_buffers", "in PSUM as many buffers as in SBUF", "psum_buffers=as_sbuf"),
    _policy("dma_rings", "one DMA ring", "dma_rings=1"),
    _policy("ring_assignment", "stores on rings of their own", "ring_assignment=per_site"),
    _policy("dge", "hardware descriptor generation", "dge=hardware"),
    _policy("scratch_dge", "descriptors of scratch as of all else", "scratch_dge=auto"),
    _policy("trigger_in_queues", "rings trigger by themselves without a DGE",
            "trigger_in_queues=false"),
    _policy("matmul_window", "matmuls in program order", "matmul_window=1"),
    _policy("reorder_window", "all else in program order", "reorder_window=1"),
    _policy("planned_dma_rate", "an order that counts on all of the DMA engines' rate",
            "planned_dma_rate=1"),
    _policy("drop_repeated_loads", "what an iteration loads twice is loaded twice",
            "drop_repeated_loads=false"),
    _policy("sink_loads", "what is loaded before a loop stays", "sink_loads=false"),
    _policy("merge_iterations", "an instruction for every iteration of a loop",
            "merge_iterations=false"),
    _policy("reuse_stationary", "every matmul loads its stationary tile",
            "reuse_stationary=false"),
    _policy("load_identity", "identity matrices are in place", "load_identity=false"),
    _physics("clock_gate", "the PE array is always warm", f"{_TENSOR}.clock_gate.enabled=false"),
    _physics("warm_up_sum", "only a busy window warms the PE array up",
             f"{_TENSOR}.clock_gate.warm_up_sum=1000000000"),
    _physics("warm_windows", "a warm array stays warm however few rows work",
             f"{_TENSOR}.clock_gate.warm_windows=1000000000"),
    _physics("pe_fill", "no fill of the PE array", f"{_TENSOR}.fill_cycles=0",
             f"{_TENSOR}.fill_cold_cycles=0"),
    _physics("matmul_overhead", "a matmul costs its columns",
             f"{_TENSOR}.multiply_efficiency=1",
             f"{_TENSOR}.multiply_overhead_cycles=0",
             f"{_TENSOR}.multiply_overhead_fp32_cycles=0"),
    _physics("load_stationary", "LoadStationary at 128 columns a cycle",
             f"{_TENSOR}.load_overhead_cycles=0", f"{_TENSOR}.load_columns_per_cycle=128",
             f"{_TENSOR}.load_fp32_columns_per_cycle=128",
             f"{_TENSOR}.load_fp32_transpose_columns_per_cycle=128"),
    _physics("vector_issue", "no fixed cost of vector instructions",
             f"{_VECTOR}.issue_overhead_cycles=0", f"{_VECTOR}.vector_operand_cycles=0"),
    _physics("vector_completion", "vector results without latency",
             f"{_VECTOR}.completion_overhead_cycles=0"),
    _physics("vector_port", "Vector and GpSimd Engine do not share a port",
             "neuron_core.sbuf.vector_gpsimd_exclusive=false",
             "neuron_core.sbuf.fast_modes_share_bus=false"),
    _physics("psum_exclusive", "Vector and Scalar Engine do not share PSUM",
             "neuron_core.psum.vector_scalar_exclusive=false"),
    _physics("scalar_issue", "no fixed cost of activations",
             f"{_SCALAR}.issue_overhead_sbuf_cycles=0", f"{_SCALAR}.issue_overhead_psum_cycles=0",
             f"{_SCALAR}.vector_operand_cycles=0"),
    _physics("scalar_completion", "activation results without latency",
             *(f"{_SCALAR}.{kind}_completion_{memory}_cycles=0"
               for kind in ("activation", "copy") for memory in ("sbuf", "psum"))),
    _physics("activation_tables", "function tables are always loaded",
             f"{_SCALAR}.table_load_ns=0"),
    _physics("semaphores", "waking up takes no time",
             "neuron_core.semaphore_file.wakeup_tensor_ns=0",
             "neuron_core.semaphore_file.wakeup_ns=0"),
    _physics("dma_first_byte", "no latency of DMA triggers",
             *(f"neuron_core.dge.{mode}.first_byte_ns=0"
               for mode in ("none", "software", "hardware"))),
    _physics("dma_issue", "DMA triggers cost nothing",
             *(f"neuron_core.dge.{mode}.{cost}_ns=0"
               for mode in ("none", "software", "hardware")
               for cost in ("sequencer", "issue_interval", "per_descriptor"))),
    _physics("dma_descriptor", "descriptors cost their bytes", "dma.descriptor_overhead_ns=0",
             *(f"neuron_core.dge.{mode}.descriptor_min_ns=0"
               for mode in ("none", "software", "hardware"))),
    _physics("dma_read_turn", "DMA engines begin a read together", "dma.read_turn_ns=0",
             "dma.read_turn_gb_per_s=10000"),
    _physics("dma_completion", "DMA writes are visible at once", "dma.completion_ns=0"),
    _physics("dma_ring", "rings without back-pressure", "dma.ring_interval_ns=0",
             "dma.ring_outstanding_transfers=64"),
    _physics("launch", "kernel start and end take no time", "runtime.kernel_start_ns=0",
             "runtime.benchmark_start_ns=0", "runtime.kernel_end_ns=0"),
)


@dataclass(frozen=True)
class Ablation:
    """A variant with the mean absolute error of every family; `reason` if it cannot be run."""

    variant: Variant
    families: Mapping[str, float]
    overall: float | None
    reason: str = ""


def ablate(baseline: Sequence[Outcome],
           run: Callable[[Variant], Sequence[Outcome]]) -> list[Ablation]:
    """The baseline, then every variant, on the rows that the baseline could run."""
    found = [_ablation(Variant("model", what="as it is"), baseline)]
    for variant in VARIANTS:
        found.append(_ablation(variant, run(variant)))
    return found


def _ablation(variant: Variant, outcomes: Sequence[Outcome]) -> Ablation:
    failed = [one for one in outcomes if not one.is_run]
    if failed:
        return Ablation(variant, {}, None, f"{failed[0].row.id}: {failed[0].reason}")
    points = [one.point for one in outcomes]
    family = {one.row.id: one.row.family for one in outcomes}
    return Ablation(variant,
                    {name: fmean(abs(point.error) for point in group)
                     for name, group in groups(points, lambda point: family[point.id]).items()},
                    fmean(abs(point.error) for point in points))
