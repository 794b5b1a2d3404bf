// SPDX-License-Identifier: Apache-2.0
// Laws that hold for any program on any chip: nothing is lost, nothing is faster than its roofline.
#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "support/simulation.hpp"
#include "trnsim/memory/hbm_timing.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"
#include "trnsim/program/cursor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace trnsim {
namespace {

/// What a program asks for, loops expanded.
struct Demand {
    std::int64_t instructions = 0;
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
    std::int64_t macs = 0;
    std::map<Engine, std::int64_t> only;  ///< Instructions that one engine alone can run.

    explicit Demand(const program::Program& program) {
        program::Cursor cursor(program);
        for (const program::Step* step = cursor.next(); step != nullptr; step = cursor.next()) {
            if (!step->is_alloc) {
                add(program.templates[program.runs[step->run].instruction]);
            }
        }
    }

private:
    void add(const InstructionTemplate& instruction) {
        ++instructions;
        if (instruction.engines.size() == 1) {
            ++only[instruction.engines.front()];
        }
        for (const Operand& operand : instruction.operands) {
            if (operand.space == Space::Hbm) {
                (operand.writes() ? hbm_write_bytes : hbm_read_bytes) += operand.total_bytes();
            }
        }
        if (instruction.op == Opcode::NcMatmul) {
            macs += neuron_core::macs(instruction);
        }
    }
};

void expect_shares_to_add_up(const RunResult& result) {
    for (const auto& [engine, times] : result.engines) {
        Picoseconds sum = times.active + times.idle;
        for (const Picoseconds waiting : times.waiting) {
            EXPECT_GE(waiting, Picoseconds{}) << name(engine);
            sum += waiting;
        }
        EXPECT_EQ(sum, result.total) << name(engine);
        EXPECT_GE(times.active, Picoseconds{}) << name(engine);
        EXPECT_GE(times.idle, result.kernel_end) << name(engine) << " works after the kernel's end";
        EXPECT_LE(times.covered, result.total) << name(engine);
    }
}

void expect_critical_path_to_add_up(const RunResult& result) {
    Picoseconds sum;
    for (const CriticalPathEntry& entry : result.critical_path) {
        EXPECT_GE(entry.time, Picoseconds{}) << entry.what;
        sum += entry.time;
    }
    EXPECT_EQ(sum, result.total);
    EXPECT_TRUE(std::ranges::is_sorted(
        result.critical_path, std::ranges::greater{}, &CriticalPathEntry::time));
}

void expect_lines_to_add_up(const RunResult& result) {
    std::map<std::string, Picoseconds> active;
    std::map<std::string, std::int64_t> instructions;
    for (const LineResult& line : result.lines) {
        active[line.engine] += line.active;
        instructions[line.engine] += line.instructions;
        Picoseconds waited;
        for (const auto& [producer, time] : line.waited_for) {
            waited += time;
        }
        EXPECT_LE(waited, line.stalled) << line.source << " " << line.op;
    }
    for (const auto& [engine, times] : result.engines) {
        const std::string engine_name(name(engine));
        EXPECT_EQ(active[engine_name], times.active) << engine_name;
        EXPECT_EQ(instructions[engine_name], times.instructions) << engine_name;
    }
}

void expect_bytes_and_work_to_be_the_programs(const RunResult& result, const Demand& demand) {
    EXPECT_EQ(result.nisa_calls, demand.instructions);
    EXPECT_EQ(result.tensor.macs, demand.macs);
    EXPECT_EQ(result.memory.hbm_read_bytes,
              demand.hbm_read_bytes + result.memory.spill_reload_bytes);
    EXPECT_EQ(result.memory.hbm_write_bytes,
              demand.hbm_write_bytes + result.memory.spill_save_bytes);
    std::int64_t ring_bytes = 0;
    std::int64_t transfers = 0;
    for (const DmaRingResult& ring : result.dma.rings) {
        ring_bytes += ring.bytes;
        transfers += ring.transfers;
        EXPECT_LE(ring.active, result.total);
    }
    EXPECT_EQ(ring_bytes, result.dma.bytes);
    EXPECT_EQ(transfers, result.dma.transfers);
    for (const auto& [engine, count] : demand.only) {
        if (engine != Engine::Dma) {
            EXPECT_GE(result.engines.at(engine).instructions, count) << name(engine);
        }
    }
}

void expect_no_faster_than_any_roofline(const RunResult& result, const ChipSpec& chip) {
    const Picoseconds work = result.total - result.kernel_start - result.kernel_end;
    for (const auto& [engine, times] : result.engines) {
        EXPECT_GE(work, times.active) << name(engine);
    }
    const TensorEngineSpec& tensor = chip.neuron_core.tensor_engine;
    const double peak = neuron_core::peak_bf16_flops(tensor);
    EXPECT_LE(2.0 * static_cast<double>(result.tensor.peak_weighted_macs),
              peak * work.seconds() * 1.000001);
    for (const Picoseconds busy : result.dma.engine_busy) {
        EXPECT_GE(work, busy);
        EXPECT_LE(busy, result.dma.active + Picoseconds{1});
    }
    const double engines_rate =
        static_cast<double>(chip.dma.engines) * chip.dma.engine_gb_per_s.value;
    EXPECT_LE(static_cast<double>(result.dma.bytes), engines_rate * work.nanoseconds());
    const double hbm_rate = memory::stack_sustained(chip.hbm, Bytes{chip.hbm.page_bytes}).value;
    EXPECT_LE(static_cast<double>(result.memory.hbm_read_bytes + result.memory.hbm_write_bytes),
              hbm_rate * work.nanoseconds());
}

struct Setting {
    std::string chip;
    bool spills = false;

    friend std::ostream& operator<<(std::ostream& os, const Setting& setting) {
        return os << setting.chip << (setting.spills ? ", spilling" : "");
    }
};

class ConservationOfRandomPrograms : public testing::TestWithParam<Setting> {};

TEST_P(ConservationOfRandomPrograms, NothingIsLostAndNothingBeatsItsRoofline) {
    ChipSpec chip = test::chip(GetParam().chip);
    test::RandomProgramShape shape;
    if (GetParam().spills) {
        chip.neuron_core.sbuf.usable_partition_kib = 5;
        shape = {.sbuf_sites = 2, .items = 40, .old_tile_one_in = 2};
    }
    std::int64_t spilled = 0;
    for (unsigned seed = 100; seed < 130; ++seed) {
        SCOPED_TRACE("program of seed " + std::to_string(seed));
        const program::Program program = test::random_program(seed, shape);
        const lowering::Policies policies{.engine_choice = seed % 2 == 0
                                                               ? lowering::EngineChoice::Balanced
                                                               : lowering::EngineChoice::First};
        const RunResult result = test::run(program, chip, policies);
        expect_shares_to_add_up(result);
        expect_critical_path_to_add_up(result);
        expect_lines_to_add_up(result);
        expect_bytes_and_work_to_be_the_programs(result, Demand(program));
        expect_no_faster_than_any_roofline(result, chip);
        spilled += result.memory.spill_reload_bytes;
        if (testing::Test::HasFailure()) {
            return;
        }
    }
    EXPECT_EQ(spilled > 0, GetParam().spills);
}

INSTANTIATE_TEST_SUITE_P(Chips,
                         ConservationOfRandomPrograms,
                         testing::Values(Setting{"inf2"},
                                         Setting{"trn1"},
                                         Setting{"trn2"},
                                         Setting{"trn3"},
                                         Setting{"trn2", true}));

TEST(Conservation, AProgramOfNothingTakesTheKernelsStartAndEnd) {
    const test::ProgramBuilder builder;
    const RunResult result = test::run(builder.build(), test::chip("trn2"));
    EXPECT_EQ(result.total, result.kernel_start + result.kernel_end);
    expect_shares_to_add_up(result);
    expect_critical_path_to_add_up(result);
}

}  // namespace
}  // namespace trnsim
