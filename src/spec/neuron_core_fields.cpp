// SPDX-License-Identifier: Apache-2.0
// The fields of the other engines, the on-chip memories and the descriptor generators of a
// NeuronCore.
#include "field.hpp"

namespace trnsim::spec {
namespace {

constexpr Range kClock{0.1, 10};

void list_scalar_overheads(FieldList& list, ScalarEngineSpec& spec) {
    list.number("clock_ghz", spec.clock_ghz, "GHz", kClock, "Clock of the Scalar Engine.");
    list.number("issue_overhead_sbuf_cycles",
                spec.issue_overhead_sbuf_cycles,
                "cycles",
                kCycles,
                "Fixed part of the initiation interval, source in SBUF.");
    list.number("issue_overhead_psum_cycles",
                spec.issue_overhead_psum_cycles,
                "cycles",
                kCycles,
                "Fixed part of the initiation interval, source in PSUM.");
    list.number("activation_completion_sbuf_cycles",
                spec.activation_completion_sbuf_cycles,
                "cycles",
                kCycles,
                "Fixed part of an activation's time to its result, source in SBUF.");
    list.number("activation_completion_psum_cycles",
                spec.activation_completion_psum_cycles,
                "cycles",
                kCycles,
                "Fixed part of an activation's time to its result, source in PSUM.");
    list.number("copy_completion_sbuf_cycles",
                spec.copy_completion_sbuf_cycles,
                "cycles",
                kCycles,
                "Fixed part of a copy's time to its result, source in SBUF.");
    list.number("copy_completion_psum_cycles",
                spec.copy_completion_psum_cycles,
                "cycles",
                kCycles,
                "Fixed part of a copy's time to its result, source in PSUM.");
}

}  // namespace

void list_fields(FieldList& list, ScalarEngineSpec& spec) {
    list_scalar_overheads(list, spec);
    list.number("vector_operand_cycles",
                spec.vector_operand_cycles,
                "cycles",
                kCycles,
                "Added by every operand that is one value per partition.");
    list.flag("implicit_bias",
              spec.implicit_bias,
              "Whether functions other than copies read a bias even if none is given.");
    list.number("copy_rate_16bit",
                spec.copy_rate_16bit,
                "elements/cycle",
                {0.01, 64},
                "tensor_copy and tensor_scalar of 16-bit floats and FP8.");
    list.flag("runs_copies", spec.runs_copies, "Whether it runs tensor_copy and tensor_scalar.");
    list.number("table_load_ns",
                spec.table_load_ns,
                "ns",
                kTime,
                "ACT_TABLE_LOAD at a change of the function set.");
    list.number("accumulator_ready_cycles",
                spec.accumulator_ready_cycles,
                "cycles",
                kCycles,
                "Fixed part of an activation's time until its accumulator may be read.");
    list.number("read_accumulator_issue_cycles",
                spec.read_accumulator_issue_cycles,
                "cycles",
                kCycles,
                "Initiation interval of ACTIVATION_READ_ACCUMULATOR.");
    list.number("read_accumulator_completion_cycles",
                spec.read_accumulator_completion_cycles,
                "cycles",
                kCycles,
                "Issue of ACTIVATION_READ_ACCUMULATOR to its result.");
}

void list_fields(FieldList& list, GpsimdEngineSpec& spec) {
    list.number("clock_ghz", spec.clock_ghz, "GHz", kClock, "Clock of the GpSimd Engine.");
    list.number("issue_overhead_cycles",
                spec.issue_overhead_cycles,
                "cycles",
                kCycles,
                "Fixed part of the initiation interval.");
    list.number("completion_overhead_cycles",
                spec.completion_overhead_cycles,
                "cycles",
                kCycles,
                "Fixed part of the time from issue to the result.");
    list.number("elementwise",
                spec.elementwise,
                kCostUnit,
                kCost,
                "iota, affine_select, tensor_copy, memset, tensor_tensor.");
    list.number("rsqrt", spec.rsqrt, kCostUnit, kCost, "tensor_scalar with rsqrt.");
    list.number("random", spec.random, kCostUnit, kCost, "rng.");
    list.number(
        "partition_reduce", spec.partition_reduce, kCostUnit, kCost, "tensor_partition_reduce.");
    list.number("serial", spec.serial, kCostUnit, kCost, "sequence_bounds and nonzero_with_count.");
    list.number("topk", spec.topk, kCostUnit, kCost, "topk, per element of 16 partitions.");
    list.number("local_gather_start",
                spec.local_gather_start,
                "cycles",
                kCycles,
                "local_gather: before the elements of an index.");
    list.number("local_gather_step",
                spec.local_gather_step,
                kCostUnit,
                kCost,
                "local_gather: t of the published formula, which divides the start by it.");
    list.number("gather_group_elements",
                spec.gather_group_elements,
                "elements",
                {1, 65536},
                "Outputs of one instruction group of nc_n_gather.");
    list.number("gather", spec.gather, kCostUnit, kCost, "nc_n_gather, per output of a group.");
}

void list_fields(FieldList& list, SyncEngineSpec& spec) {
    list.number("clock_ghz", spec.clock_ghz, "GHz", kClock, "Clock of the Sync Engine.");
    list.number("register_cycles",
                spec.register_cycles,
                "cycles",
                kCycles,
                "A register move on any sequencer.");
    list.number("register_load_ns",
                spec.register_load_ns,
                "ns",
                kTime,
                "register_load: one element from memory.");
    list.number("register_store_ns",
                spec.register_store_ns,
                "ns",
                kTime,
                "register_store: one element to memory.");
    list.number(
        "core_barrier_ns", spec.core_barrier_ns, "ns", kTime, "core_barrier, once all are there.");
    list.number("loop_barrier_ns",
                spec.loop_barrier_ns,
                "ns",
                kTime,
                "End of an iteration of a loop of the run time, once all engines are there.");
}

void list_fields(FieldList& list, SemaphoreFileSpec& spec) {
    list.number("count", spec.count, "semaphores", {1, 65536}, "Semaphores of a NeuronCore.");
    list.number("wakeup_tensor_ns",
                spec.wakeup_tensor_ns,
                "ns",
                kTime,
                "Condition met to the start of a waiting Tensor Engine instruction.");
    list.number("wakeup_ns",
                spec.wakeup_ns,
                "ns",
                kTime,
                "Condition met to the start of a waiting instruction of another engine.");
}

void list_fields(FieldList& list, DgeModeSpec& spec) {
    list.flag("available", spec.available, "Whether descriptors can be made this way.");
    list.number("blocks", spec.blocks, "generators", {1, 64}, "Generators that work in parallel.");
    list.number("sequencer_ns", spec.sequencer_ns, "ns", kTime, "The trigger holds its sequencer.");
    list.number("issue_interval_ns",
                spec.issue_interval_ns,
                "ns",
                kTime,
                "Least time between two transfers of one generator.");
    list.number("per_descriptor_ns",
                spec.per_descriptor_ns,
                "ns",
                kTime,
                "Generator time per descriptor, beyond the interval.");
    list.number(
        "first_byte_ns", spec.first_byte_ns, "ns", kTime, "Trigger to the first byte moved.");
    list.number("descriptor_min_ns",
                spec.descriptor_min_ns,
                "ns",
                kTime,
                "Least time of a DMA engine for one descriptor.");
}

void list_fields(FieldList& list, DgeSpec& spec) {
    list.group("none", spec.none);
    list.group("software", spec.software);
    list.group("hardware", spec.hardware);
}

void list_fields(FieldList& list, SbufSpec& spec) {
    list.number("partitions", spec.partitions, "partitions", {1, 128}, "Partitions.");
    list.number("partition_kib", spec.partition_kib, "KiB", {1, 4096}, "Size of a partition.");
    list.number("usable_partition_kib",
                spec.usable_partition_kib,
                "KiB",
                {1, 4096},
                "What a compiler may allocate of a partition.");
    list.flag("vector_gpsimd_exclusive",
              spec.vector_gpsimd_exclusive,
              "Whether VectorE and GpSimd never access SBUF at the same time.");
    list.flag("fast_modes_share_bus",
              spec.fast_modes_share_bus,
              "Whether VectorE's fast modes share a bus with GpSimd.");
    list.number("full_rate_stride_bytes",
                spec.full_rate_stride_bytes,
                "B",
                {1, 4096},
                "Longest innermost stride at full rate.");
    list.number("half_rate_stride_bytes",
                spec.half_rate_stride_bytes,
                "B",
                {2, 8192},
                "Shortest innermost stride at half rate; linear in between.");
}

void list_fields(FieldList& list, PsumSpec& spec) {
    list.number("partitions", spec.partitions, "partitions", {1, 128}, "Partitions.");
    list.number("banks", spec.banks, "banks", {1, 64}, "Banks.");
    list.number("bank_bytes", spec.bank_bytes, "B", {64, 65536}, "Size of a bank in a partition.");
    list.flag("vector_scalar_exclusive",
              spec.vector_scalar_exclusive,
              "Whether VectorE and ScalarE never access PSUM at the same time.");
    list.flag("same_bank_halves_rate",
              spec.same_bank_halves_rate,
              "Whether two readers of one bank alternate.");
    list.flag("matmul_spans_banks",
              spec.matmul_spans_banks,
              "Whether one matmul may write more than one bank.");
}

void list_fields(FieldList& list, NeuronCoreSpec& spec) {
    list.group("tensor_engine", spec.tensor_engine);
    list.group("vector_engine", spec.vector_engine);
    list.group("scalar_engine", spec.scalar_engine);
    list.group("gpsimd_engine", spec.gpsimd_engine);
    list.group("sync_engine", spec.sync_engine);
    list.group("semaphore_file", spec.semaphore_file);
    list.group("dge", spec.dge);
    list.group("sbuf", spec.sbuf);
    list.group("psum", spec.psum);
}

}  // namespace trnsim::spec
