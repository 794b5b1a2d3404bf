// SPDX-License-Identifier: Apache-2.0
// Hand-made tables of instructions and profiles of the same small kernel.
#include "sample_tables.hpp"

#include "trnsim/timeline/instruction_writer.hpp"

#include <optional>
#include <sstream>
#include <vector>

namespace trnsim::report {
namespace {

using timeline::Executed;
using timeline::InstructionWriter;
using Json = nlohmann::ordered_json;

/// A profiled instruction of the kernel.
Json profiled_instruction(const std::string& label,
                          const std::string& opcode,
                          const std::string& name,
                          const std::string& operands,
                          const std::vector<std::int64_t>& start_duration_wait) {
    return {{"label", label},
            {"opcode", opcode},
            {"bir_instruction_name", name},
            {"operands", operands},
            {"timestamp", start_duration_wait.at(0)},
            {"duration", start_duration_wait.at(1)},
            {"evt_wait_time", start_duration_wait.at(2)},
            {"subgraph", "sg00"},
            {"instruction_type", name.empty() ? "" : "REGULAR"}};
}

Json profiled_transfer(const std::string& label,
                       const std::string& name,
                       bool is_load,
                       const std::vector<std::int64_t>& start_duration_wait) {
    Json transfer = profiled_instruction(
        label,
        "DMA_DIRECT2D",
        name,
        is_load ? " semaphore=8  src_elem_size=512 dst_elem_size=512 src_pattern=[512,1][128,1] "
                  "dst_pattern=[262144,1][128,1] src_shape_reg=0"
                : "S[6] (Vector)>=2 semaphore=9  src_elem_size=512 dst_elem_size=512 "
                  "src_pattern=[512,262144][2,128] dst_pattern=[65536,512][2,128]",
        start_duration_wait);
    transfer[is_load ? "hbm_read_bytes" : "hbm_write_bytes"] = is_load ? 65'536 : 131'072;
    return transfer;
}

Json packet(const std::string& queue, const std::string& engine, int at, int length, int bytes) {
    return {{"dma_queue", queue},
            {"dma_engine", engine},
            {"timestamp", at},
            {"duration", length},
            {"transfer_size", bytes},
            {"subgraph", "sg00"}};
}

/// What the table's instructions are.
struct Labels {
    timeline::LabelId load{};
    timeline::LabelId weights{};
    timeline::LabelId matmul{};
    timeline::LabelId wait{};
    timeline::LabelId copy{};
    timeline::LabelId reduce{};
    timeline::LabelId store{};
};

Labels add_labels(InstructionWriter& writer) {
    Labels labels;
    labels.load = writer.add_label({.name = "dma_copy",
                                    .category = "dma",
                                    .source = "kernel.py:3",
                                    .details = "dst float32 sbuf 128p [128]",
                                    .elements = 128,
                                    .bytes = 65'536,
                                    .descriptors = 128,
                                    .hbm_read_bytes = 65'536});
    labels.weights = writer.add_label({.name = "LoadStationary",
                                       .category = "tensor",
                                       .source = "kernel.py:4",
                                       .details = "stationary float32 sbuf 128p [128]",
                                       .elements = 128});
    labels.matmul = writer.add_label({.name = "nc_matmul",
                                      .category = "tensor",
                                      .source = "kernel.py:4",
                                      .details = "dst float32 psum 128p [128]",
                                      .elements = 128});
    labels.wait = writer.add_label(
        {.name = "EVENT_SEMAPHORE", .category = "vector", .source = "kernel.py:5", .details = ""});
    labels.copy = writer.add_label({.name = "tensor_copy",
                                    .category = "vector",
                                    .source = "kernel.py:5",
                                    .details = "dst float32 sbuf 128p [128]",
                                    .elements = 128});
    labels.reduce = writer.add_label({.name = "tensor_reduce",
                                      .category = "vector",
                                      .source = "kernel.py:7",
                                      .details = "data float32 sbuf 128p [1]",
                                      .elements = 1});
    labels.store = writer.add_label({.name = "dma_copy",
                                     .category = "dma",
                                     .source = "kernel.py:8",
                                     .details = "src float32 sbuf 128p [128]",
                                     .elements = 128,
                                     .bytes = 65'536,
                                     .descriptors = 128,
                                     .hbm_write_bytes = 65'536});
    return labels;
}

}  // namespace

std::string simulated_table() {
    std::ostringstream output;
    InstructionWriter writer(output, "0.1.0");
    const auto tensor = writer.add_track("device.neuron_core_0", "tensor_engine");
    const auto vector = writer.add_track("device.neuron_core_0", "vector_engine");
    const auto ring = writer.add_track("device.neuron_core_0", "dma_ring_0");
    const auto out = writer.add_track("device.neuron_core_0", "dma_ring_6");
    const Labels labels = add_labels(writer);
    const auto add = [&](timeline::TrackId track,
                         timeline::LabelId label,
                         std::uint64_t order,
                         double start,
                         double duration,
                         double waited,
                         std::optional<Executed> held_by = std::nullopt) {
        writer.slice({.track = track,
                      .label = label,
                      .start = ns(start),
                      .duration = ns(duration),
                      .flow = 0,
                      .waited_on = {},
                      .order = order,
                      .latency = ns(duration),
                      .occupied = ns(duration / 2),
                      .waited = ns(waited),
                      .held_by = held_by});
    };
    add(ring, labels.load, 0, 1000, 2000, 0);
    add(ring, labels.load, 1, 1060, 2040.5, 0);
    add(tensor, labels.weights, 0, 3100.5, 100, 2100.5, Executed{ring, 1});
    add(tensor, labels.matmul, 1, 3200.5, 500, 0);
    add(vector, labels.wait, 0, 3700, 0, 2700, Executed{tensor, 1});
    add(vector, labels.copy, 1, 3750, 250, 50, Executed{tensor, 1});
    add(vector, labels.reduce, 2, 4000, 100, 0);
    add(vector, labels.reduce, 3, 4100, 100, 25);
    add(out, labels.store, 0, 4200, 1500, 3200, Executed{vector, 2});
    add(out, labels.store, 1, 4300, 1500, 40, Executed{vector, 3});
    writer.finish({.chip = "trainium2",
                   .kernel = "small",
                   .input = "kernel.py::small",
                   .arguments = {"float32[128,128]"},
                   .total = ns(7900),
                   .kernel_start = ns(1000),
                   .kernel_end = ns(2100)});
    return output.str();
}

Json profiled() {
    Json instructions = Json::array();
    instructions.push_back(profiled_instruction("Tensor", "DRAIN", "", "", {10, 20, 29'860}));
    instructions.push_back(profiled_instruction(
        "Scalar", "ACT_TABLE_LOAD", "I-5-0-pwp", " table_sel=0", {950, 1283, 18}));
    instructions.push_back(profiled_transfer("Sync", "I-1-0", true, {900, 500, 0}));
    instructions.push_back(profiled_transfer("Sync", "I-2-0", true, {1500, 500, 0}));
    instructions.push_back(profiled_instruction("Tensor",
                                                "EVENT_SEMAPHORE",
                                                "I-3-0-wait-0",
                                                "S[8] (qSyncDynamicHW)>=16",
                                                {3000, 50, 2000}));
    for (int half = 0; half < 2; ++half) {
        Json weights =
            profiled_instruction("Tensor",
                                 "LDWEIGHTS",
                                 "I-3-0",
                                 "fp32_mode=LOW src=fp32@0x379f4[-1,0,0][128,1,1] 128*128",
                                 {3050 + 300 * half, 200, 0});
        weights["pc"] = 10 + 2 * half;
        Json matmul = profiled_instruction(
            "TensorMatrix",
            "MATMUL",
            "I-3-0",
            " fp32_mode=LOW src=fp32@0x1[1,0,0][128,1,1] dst=0x2[1,0,0][128,1,1] 128*128",
            {3100 + 300 * half, 400, 0});
        matmul["pc"] = 11 + 2 * half;
        instructions.push_back(weights);
        instructions.push_back(matmul);
    }
    instructions.push_back(profiled_instruction(
        "Vector",
        "COPY",
        "I-4-0-tc-dve",
        "S[5] (Tensor)>=1 src=fp32@0x2[1,1][128,1] dst=fp32@0x4[1,1][128,1] channels=128",
        {4000, 250, 3500}));
    instructions.push_back(profiled_instruction("Vector",
                                                "TENSOR_REDUCE",
                                                "I-6-0",
                                                "src=fp32@0x4[1,1][1,2] dst=fp32@0x5[1,1][2,1]",
                                                {4300, 120, 10}));
    instructions.push_back(profiled_transfer("GpSimd", "I-7-0", false, {4500, 40, 23}));
    return {{"summary", Json::array({{{"total_time", 8.5e-6}}})},
            {"dma_queues_info",
             Json::array({{{"q_idx", 0}, {"q_name", "qSyncDynamicHW"}, {"subgraph", "sg00"}},
                          {{"q_idx", 1}, {"q_name", "qGpSimdDynamic"}, {"subgraph", "sg00"}},
                          {{"q_idx", 14}, {"q_name", "qDveTable"}, {"subgraph", "sg00"}}})},
            {"dma",
             Json::array({packet("0", "64", 1600, 300, 32'768),
                          packet("0", "64", 1900, 20, 4),
                          packet("0", "65", 1700, 400, 32'768),
                          packet("0", "65", 2100, 20, 4),
                          packet("0", "64", 2200, 300, 65'536),
                          packet("0", "64", 2500, 30, 4),
                          packet("0", "65", 2600, 40, 4),
                          packet("1", "64", 5000, 900, 131'072),
                          packet("1", "64", 5900, 100, 4),
                          packet("14", "64", 1, 2, 16'384)})},
            {"instruction", instructions}};
}

}  // namespace trnsim::report
