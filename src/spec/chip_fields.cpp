// SPDX-License-Identifier: Apache-2.0
// The fields of a chip, its DMA engines, its HBM and what surrounds a kernel.
#include "field.hpp"

namespace trnsim::spec {
namespace {

constexpr Range kLinkRate{0.01, 1e6};

/// Where the links of an instance end, and what is beyond them.
void list_network_fields(FieldList& list, CollectiveSpec& spec) {
    list.number("chips_per_instance",
                spec.chips_per_instance,
                "chips",
                {1, 65536},
                "Chips that links connect; beyond is the network.");
    list.number("network_latency_ns",
                spec.network_latency_ns,
                "ns",
                kTime,
                "A step between two instances.");
    list.number("network_gb_per_s",
                spec.network_gb_per_s,
                "GB/s",
                kLinkRate,
                "Network of a chip, one way.");
}

}  // namespace

void list_fields(FieldList& list, DmaSpec& spec) {
    list.number(
        "engines", spec.engines, "engines", {1, kMostDmaEngines}, "DMA engines of one NeuronCore.");
    list.number("rings", spec.rings, "rings", {1, 16}, "Rings of one DMA engine.");
    list.number("partitions_per_engine",
                spec.partitions_per_engine,
                "partitions",
                {1, 128},
                "Consecutive SBUF partitions that one DMA engine serves; the first engine follows "
                "the last.");
    list.number(
        "engine_gb_per_s", spec.engine_gb_per_s, "GB/s", {0.01, 10000}, "Rate of one DMA engine.");
    list.number("descriptor_overhead_ns",
                spec.descriptor_overhead_ns,
                "ns",
                kTime,
                "Added to every descriptor of a DMA engine.");
    list.number("descriptor_bytes_max",
                spec.descriptor_bytes_max,
                "B",
                {64, 65536},
                "Longer runs are split into several descriptors.");
    list.number("read_turn_ns",
                spec.read_turn_ns,
                "ns",
                kTime,
                "How much later each DMA engine begins with a read of HBM than the one before it.");
    list.number("read_turn_gb_per_s",
                spec.read_turn_gb_per_s,
                "GB/s",
                {0.01, 10000},
                "Added to it: one descriptor at this rate.");
    list.number(
        "completion_ns", spec.completion_ns, "ns", kTime, "Last byte to the semaphore visible.");
    list.number("ring_interval_ns",
                spec.ring_interval_ns,
                "ns",
                kTime,
                "Least time between two transfers of one ring.");
    list.number("ring_outstanding_transfers",
                spec.ring_outstanding_transfers,
                "transfers",
                {0, 65536},
                "Transfers of one ring on their way before its issue stalls; 0 for no limit.");
    list.number("priority_classes", spec.priority_classes, "classes", {1, 16}, "Priority classes.");
    list.number("transpose_efficiency_hbm",
                spec.transpose_efficiency_hbm,
                "1",
                kShare,
                "dma_transpose from HBM relative to a copy.");
    list.number("transpose_efficiency_sbuf",
                spec.transpose_efficiency_sbuf,
                "1",
                kShare,
                "dma_transpose from SBUF relative to a copy.");
    list.number("compute_efficiency",
                spec.compute_efficiency,
                "1",
                kShare,
                "A dma_compute of two sources relative to a copy.");
}

void list_fields(FieldList& list, CollectiveSpec& spec) {
    constexpr Range kSize{0, 1e15};
    list.number("launch_ns", spec.launch_ns, "ns", kTime, "Start of a collective, once.");
    list.number("step_ns",
                spec.step_ns,
                "ns",
                kTime,
                "A step of the mesh or of recursive doubling and halving.");
    list.number("ring_hop_ns", spec.ring_hop_ns, "ns", kTime, "A hop of the ring.");
    list.number("ring_gb_per_s",
                spec.ring_gb_per_s,
                "GB/s",
                kLinkRate,
                "Links of a chip that the ring uses, one way.");
    list.number("rdh_gb_per_s",
                spec.rdh_gb_per_s,
                "GB/s",
                kLinkRate,
                "Rate of a chip in recursive doubling and halving.");
    list.number("all_to_all_gb_per_s",
                spec.all_to_all_gb_per_s,
                "GB/s",
                kLinkRate,
                "Rate of a chip when all chips of an instance send to all.");
    list.number("mesh_bytes_max",
                spec.mesh_bytes_max,
                "B",
                kSize,
                "Largest tensor that the mesh algorithm moves.");
    list.number("rdh_bytes_max",
                spec.rdh_bytes_max,
                "B",
                kSize,
                "Largest tensor that recursive doubling and halving moves.");
    list.number("all_gather_touches",
                spec.all_gather_touches,
                "1",
                {0, 100},
                "HBM accesses per byte and pair of ranks of an all-gather.");
    list.number("reduce_scatter_touches",
                spec.reduce_scatter_touches,
                "1",
                {0, 100},
                "HBM accesses per byte and pair of ranks of a reduce-scatter.");
    list_network_fields(list, spec);
    list.number("sendrecv_ns",
                spec.sendrecv_ns,
                "ns",
                kTime,
                "sendrecv between two cores of a chip by DMA, before its bytes.");
    list.number("sendrecv_gpsimd_ns",
                spec.sendrecv_gpsimd_ns,
                "ns",
                kTime,
                "The same by the GpSimd engine's own DMA.");
}

void list_fields(FieldList& list, HbmSpec& spec) {
    list.name("kind", spec.kind, {"HBM2E", "HBM3", "HBM3E"}, "Generation of the memory.");
    list.number("stacks", spec.stacks, "stacks", {1, 64}, "Stacks of the chip.");
    list.number("stack_gib", spec.stack_gib, "GiB", {1, 1024}, "Size of a stack.");
    list.number("channels_per_stack",
                spec.channels_per_stack,
                "channels",
                {1, 256},
                "Channels of a stack.");
    list.number("stack_interface_bits",
                spec.stack_interface_bits,
                "bit",
                {32, 65536},
                "Width of a stack's interface.");
    list.number("pin_gbit_per_s", spec.pin_gbit_per_s, "Gbit/s", {0.1, 100}, "Rate of one pin.");
    list.number("cores_per_stack",
                spec.cores_per_stack,
                "NeuronCores",
                {1, 64},
                "NeuronCores that share a stack.");
    list.number("page_bytes", spec.page_bytes, "B", {64, 65536}, "Row of a bank.");
    list.number("access_bytes", spec.access_bytes, "B", {1, 4096}, "Smallest access.");
    list.number(
        "row_cycle_ns", spec.row_cycle_ns, "ns", {0, 1e6}, "Activate to activate of one bank.");
    list.number(
        "banks_per_channel", spec.banks_per_channel, "banks", {1, 1024}, "Banks of a channel.");
    list.number("refresh_efficiency",
                spec.refresh_efficiency,
                "1",
                kShare,
                "Share of the time that refresh leaves.");
    list.number("turnaround_efficiency",
                spec.turnaround_efficiency,
                "1",
                kShare,
                "Share of the time that changes between reads and writes leave.");
}

void list_fields(FieldList& list, RuntimeSpec& spec) {
    list.number("kernel_start_ns",
                spec.kernel_start_ns,
                "ns",
                kTime,
                "Launch to the first instruction that can trigger a DMA, in a profiler's "
                "total_time.");
    list.number("benchmark_start_ns",
                spec.benchmark_start_ns,
                "ns",
                kTime,
                "The same in the latency that nki.benchmark reports.");
    list.number("kernel_end_ns",
                spec.kernel_end_ns,
                "ns",
                kTime,
                "Last result visible to the end of the kernel.");
}

void list_fields(FieldList& list, AccuracySpec& spec) {
    constexpr Range kError{0, 0.9};
    list.number("new_api_error",
                spec.new_api_error,
                "1",
                kError,
                "Four of five measured kernels of nki are within this share of the simulation.");
    list.number("old_api_error", spec.old_api_error, "1", kError, "The same of neuronxcc.nki.");
    list.flag("is_extrapolated", spec.is_extrapolated, "Nothing was measured on this chip.");
}

std::vector<Field> chip_fields(ChipSpec& spec) {
    FieldList list;
    list.number("neuron_core_version",
                spec.neuron_core_version,
                "1",
                {2, 4},
                "Generation of the NeuronCore: the instruction set.");
    list.number(
        "neuron_cores", spec.neuron_cores, "NeuronCores", {1, 1024}, "NeuronCores of the chip.");
    list.group("neuron_core", spec.neuron_core);
    list.group("dma", spec.dma);
    list.group("collectives", spec.collectives);
    list.group("hbm", spec.hbm);
    list.group("runtime", spec.runtime);
    list.group("accuracy", spec.accuracy);
    return list.take();
}

}  // namespace trnsim::spec
