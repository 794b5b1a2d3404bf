// SPDX-License-Identifier: Apache-2.0
// Better hardware does not make a kernel slower.
#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "support/simulation.hpp"
#include "trnsim/program/reader.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace trnsim {
namespace {

/// One improvement of Trainium2.
struct Improvement {
    std::string name;
    std::vector<std::string> settings;

    friend std::ostream& operator<<(std::ostream& os, const Improvement& better) {
        return os << better.name;
    }
};

const std::vector<program::Program>& programs() {
    static const std::vector<program::Program> all = [] {
        std::vector<program::Program> result;
        for (const std::string name : {"matmul_tiled", "softmax_rows", "scale_lowered"}) {
            result.push_back(
                program::read_file(TRNSIM_SOURCE_DIR "/examples/traces/" + name + ".nkt"));
        }
        for (unsigned seed = 0; seed < 100; ++seed) {
            result.push_back(test::random_program(seed));
        }
        return result;
    }();
    return all;
}

/// In-order queues and first-come shares can lose a little where another order would not (a Graham
/// anomaly): the worst of 400 random programs lost 0.95 %.
constexpr double kNoise = 0.01;

class Monotony : public testing::TestWithParam<Improvement> {};

TEST_P(Monotony, BetterHardwareIsNotSlower) {
    spec::ChipConfig better = spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/trainium2.json");
    for (const std::string& setting : GetParam().settings) {
        spec::set(better, setting);
    }
    const ChipSpec trn2 = test::chip("trn2");
    double most = 0.0;
    for (std::size_t i = 0; i < programs().size(); ++i) {
        const Picoseconds before = test::run(programs()[i], trn2).total;
        const Picoseconds after = test::run(programs()[i], better.spec).total;
        const double loss = (after - before).seconds() / before.seconds();
        EXPECT_LE(loss, kNoise) << "program " << i << ": " << before << " became " << after;
        most = std::max(most, loss);
    }
    RecordProperty("most_lost_ppm", static_cast<int>(1e6 * most));
}

INSTANTIATE_TEST_SUITE_P(
    Trn2,
    Monotony,
    testing::Values(
        Improvement{"TensorClock", {"neuron_core.tensor_engine.clock_ghz=3.0"}},
        Improvement{"NoClockGate", {"neuron_core.tensor_engine.clock_gate.enabled=false"}},
        Improvement{"VectorClock", {"neuron_core.vector_engine.clock_ghz=1.2"}},
        Improvement{"ScalarClock", {"neuron_core.scalar_engine.clock_ghz=1.5"}},
        Improvement{"GpsimdClock", {"neuron_core.gpsimd_engine.clock_ghz=1.5"}},
        Improvement{"TableLoads", {"neuron_core.scalar_engine.table_load_ns=600"}},
        Improvement{"WakeUp",
                    {"neuron_core.semaphore_file.wakeup_ns=10",
                     "neuron_core.semaphore_file.wakeup_tensor_ns=10"}},
        Improvement{"DmaRate", {"dma.engine_gb_per_s=54.4"}},
        Improvement{"DmaDescriptors", {"dma.descriptor_overhead_ns=1"}},
        Improvement{"DmaReadTurn", {"dma.read_turn_ns=1", "dma.read_turn_gb_per_s=1000"}},
        Improvement{"DmaCompletion", {"dma.completion_ns=100"}},
        Improvement{"DmaRings", {"dma.ring_outstanding_transfers=16", "dma.ring_interval_ns=10"}},
        Improvement{
            "HardwareDge",
            {"neuron_core.dge.hardware.blocks=4", "neuron_core.dge.hardware.first_byte_ns=700"}},
        Improvement{"HbmRate", {"hbm.pin_gbit_per_s=11.4"}},
        Improvement{"Sbuf", {"neuron_core.sbuf.usable_partition_kib=224"}},
        Improvement{"PsumPorts", {"neuron_core.psum.same_bank_halves_rate=false"}},
        Improvement{"SbufPorts", {"neuron_core.sbuf.fast_modes_share_bus=false"}}),
    [](const testing::TestParamInfo<Improvement>& better) { return better.param.name; });

TEST(MonotonyOfTrn1, WithoutPortExclusionsNothingIsSlower) {
    ChipSpec free = test::chip("trn1");
    free.neuron_core.sbuf.vector_gpsimd_exclusive = false;
    free.neuron_core.psum.vector_scalar_exclusive = false;
    for (std::size_t i = 3; i < programs().size(); ++i) {
        const Picoseconds before = test::run(programs()[i], test::chip("trn1")).total;
        EXPECT_LE(test::run(programs()[i], free).total.seconds(), before.seconds() * (1.0 + kNoise))
            << "program " << i;
    }
}

}  // namespace
}  // namespace trnsim
