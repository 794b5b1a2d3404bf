// SPDX-License-Identifier: Apache-2.0
// Writes a small timeline for tests/python/timeline, which reads it with Perfetto's own schema.
#include "trnsim/base/error.hpp"
#include "trnsim/timeline/perfetto_writer.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace {

using namespace trnsim;
using namespace trnsim::timeline;

/// Eight tiles: two overlapping loads each on one ring, a matmul that waits for both, a copy that
/// waits for it.
void write_tiles(PerfettoWriter& writer) {
    const TrackId tensor = writer.add_track("NeuronCore 0", "tensor_engine");
    const TrackId vector = writer.add_track("NeuronCore 0", "vector_engine");
    const TrackId ring = writer.add_track("DMA", "ring[0]");
    const TrackId rate = writer.add_counter("HBM", "read rate", "GB/s");
    const LabelId load = writer.add_label({"dma_copy", "dma", "kernel.py:44", "128 x 4 KiB"});
    const LabelId matmul = writer.add_label({"nc_matmul", "tensor", "kernel.py:52", "K=128 N=512"});
    const LabelId copy = writer.add_label({"tensor_copy", "vector", "kernel.py:55", ""});
    constexpr std::int64_t kTile = 3'000'416;
    FlowId flow = 0;
    for (std::int64_t i = 0; i < 8; ++i) {
        const Picoseconds at{i * kTile};
        const std::array<FlowId, 2> loads{++flow, ++flow};
        writer.slice({ring, load, at, Picoseconds{1'500'333}, loads[0], {}});
        writer.slice({ring, load, at + Picoseconds{200'417}, Picoseconds{1'500'333}, loads[1], {}});
        const std::array<FlowId, 1> product{++flow};
        writer.slice(
            {tensor, matmul, at + Picoseconds{2'000'834}, Picoseconds{216'667}, product[0], loads});
        writer.slice({vector, copy, at + Picoseconds{2'400'000}, Picoseconds{600'416}, 0, product});
        writer.counter(rate, at, 349.5);
        writer.counter(rate, at + Picoseconds{1'700'750}, 0.0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("sample_timeline: one argument is needed, the file to write\n", stderr);
        return 2;
    }
    try {
        PerfettoWriter writer(argv[1], "trn2 sample");
        write_tiles(writer);
        writer.finish();
    } catch (const UserError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
