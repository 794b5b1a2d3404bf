// SPDX-License-Identifier: Apache-2.0
// Whole simulations, as many as a test wants, and their results as flat numbers.
#include "support/simulation.hpp"

#include "support/systemc_test.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <fmt/format.h>

namespace trnsim::test {
namespace {

using Numbers = std::map<std::string, std::int64_t>;

void add_engines(const RunResult& result, Numbers& numbers) {
    for (const auto& [engine, times] : result.engines) {
        const std::string path = fmt::format("engines.{}.", name(engine));
        numbers[path + "active_ps"] = times.active.value;
        numbers[path + "idle_ps"] = times.idle.value;
        numbers[path + "covered_ps"] = times.covered.value;
        numbers[path + "instructions"] = times.instructions;
        for (std::size_t cause = 0; cause < times.waiting.size(); ++cause) {
            numbers[fmt::format("{}waiting_{}_ps", path, name(static_cast<WaitCause>(cause)))] =
                times.waiting[cause].value;
        }
    }
}

void add_dma(const DmaResult& dma, Numbers& numbers) {
    numbers["dma.active_ps"] = dma.active.value;
    numbers["dma.transfers"] = dma.transfers;
    numbers["dma.descriptors"] = dma.descriptors;
    numbers["dma.bytes"] = dma.bytes;
    for (std::size_t engine = 0; engine < dma.engine_busy.size(); ++engine) {
        numbers[fmt::format("dma.engines.{}.busy_ps", engine)] = dma.engine_busy[engine].value;
    }
    for (const DmaRingResult& ring : dma.rings) {
        const std::string path = fmt::format("dma.rings.{}.", ring.ring);
        numbers[path + "active_ps"] = ring.active.value;
        numbers[path + "transfers"] = ring.transfers;
        numbers[path + "bytes"] = ring.bytes;
    }
}

void add_memory(const MemoryResult& memory, Numbers& numbers) {
    numbers["memory.hbm_read_bytes"] = memory.hbm_read_bytes;
    numbers["memory.hbm_write_bytes"] = memory.hbm_write_bytes;
    numbers["memory.spill_save_bytes"] = memory.spill_save_bytes;
    numbers["memory.spill_reload_bytes"] = memory.spill_reload_bytes;
    numbers["memory.sbuf_peak_partition_bytes"] = memory.sbuf_peak_partition_bytes;
    numbers["memory.psum_peak_banks"] = memory.psum_peak_banks;
    numbers["memory.hbm_limited_ps"] = memory.hbm_limited.value;
}

void add_lines(const RunResult& result, Numbers& numbers) {
    for (const LineResult& line : result.lines) {
        const std::string path = fmt::format("lines.{} {} {}.", line.source, line.op, line.engine);
        numbers[path + "instructions"] = line.instructions;
        numbers[path + "active_ps"] = line.active.value;
        numbers[path + "stalled_ps"] = line.stalled.value;
        numbers[path + "on_critical_path_ps"] = line.on_critical_path.value;
        for (const auto& [producer, time] : line.waited_for) {
            numbers[fmt::format("{}waited_for.{}_ps", path, producer)] = time.value;
        }
    }
    for (const CriticalPathEntry& entry : result.critical_path) {
        numbers[fmt::format("critical_path.{}_ps", entry.what)] = entry.time.value;
    }
}

}  // namespace

const std::vector<std::string>& chip_names() {
    static const std::vector<std::string> names{"inf2", "trn1", "trn2", "trn3"};
    return names;
}

ChipSpec chip(const std::string& short_name) {
    static const std::map<std::string, std::string> files{{"inf2", "inferentia2"},
                                                          {"trn1", "trainium1"},
                                                          {"trn2", "trainium2"},
                                                          {"trn3", "trainium3"}};
    static std::map<std::string, ChipSpec> loaded;
    const auto known = loaded.find(short_name);
    if (known != loaded.end()) {
        return known->second;
    }
    const std::string path =
        std::string(TRNSIM_SOURCE_DIR "/configs/chips/") + files.at(short_name) + ".json";
    return loaded.emplace(short_name, spec::load_chip(path).spec).first->second;
}

RunResult run(const program::Program& program, const ChipSpec& chip, const RunOptions& options) {
    return run(Launch{&program}, chip, options);
}

RunResult run(const Launch& launch, const ChipSpec& chip, const RunOptions& options) {
    begin_fresh_kernel();
    return simulate(launch, chip, options);
}

std::map<std::string, std::int64_t> numbers_of(const RunResult& result) {
    Numbers numbers;
    numbers["total_ps"] = result.total.value;
    numbers["kernel_start_ps"] = result.kernel_start.value;
    numbers["kernel_end_ps"] = result.kernel_end.value;
    numbers["nisa_calls"] = result.nisa_calls;
    numbers["activation_table_loads"] = result.activation_table_loads;
    numbers["tensor.macs"] = result.tensor.macs;
    numbers["tensor.transpose_macs"] = result.tensor.transpose_macs;
    numbers["tensor.peak_weighted_macs"] = result.tensor.peak_weighted_macs;
    numbers["tensor.peak_weighted_transpose_macs"] = result.tensor.peak_weighted_transpose_macs;
    numbers["tensor.cold_ps"] = result.tensor.cold.value;
    add_engines(result, numbers);
    add_dma(result.dma, numbers);
    add_memory(result.memory, numbers);
    add_lines(result, numbers);
    return numbers;
}

}  // namespace trnsim::test

// A SystemC context cannot be taken down; run() leaves the old one behind.
extern "C" const char* __lsan_default_suppressions();   // NOLINT: the sanitizer's name
extern "C" const char* __lsan_default_suppressions() {  // NOLINT
    return "leak:libsystemc\nleak:sc_simcontext\nleak:trnsim::test::run\n";
}
