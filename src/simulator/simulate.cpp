// SPDX-License-Identifier: Apache-2.0
// Elaborates a device for a launch, runs it to its end, collects what was measured.
#include "trnsim/simulator/simulate.hpp"

#include "core_result.hpp"
#include "core_source.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/device/neuron_device.hpp"
#include "trnsim/lowering/checks/shared_memory_check.hpp"
#include "trnsim/lowering/dependencies/meeting.hpp"

#include <systemc>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace trnsim {
namespace {

using device::NeuronDevice;
using Sources = std::vector<std::unique_ptr<CoreSource>>;

/// Simulated time between two calls of the progress function.
constexpr double kProgressNanoseconds = 200'000.0;

/// The programs of all cores, with what they need to run.
struct Cores {
    Cores(const Launch& launch, const ChipSpec& chip, const RunOptions& options) {
        for (const program::Program* program : launch) {
            add(*program, chip, options);
        }
    }

    void add(const program::Program& program, const ChipSpec& chip, const RunOptions& options) {
        meetings.push_back(std::make_unique<neuron_core::CoreMeeting>());
        for (std::int32_t core = 0; core < program.header.cores; ++core) {
            const program::Program* one = &program;
            if (program.header.cores > 1) {
                one = parts.emplace_back(std::make_unique<program::Program>(program.of_core(core)))
                          .get();
                lowering::check_meetings(*one, core);
            }
            sources.push_back(std::make_unique<CoreSource>(*one, chip, options.policies));
            programs.push_back(sources.back()->program(options.timeline));
            programs.back().meeting = meetings.back().get();
            programs.back().core = core;
            instructions += sources.back()->trace().instruction_count;
        }
        if (program.header.cores > 1 && program.header.form == program::Form::Program) {
            check_shared_memory(static_cast<std::size_t>(program.header.cores));
        }
    }

    /// Of the last `count` parts, which are one program. \throws ProgramError for a race
    void check_shared_memory(std::size_t count) const {
        std::vector<const program::Program*> members;
        for (std::size_t i = parts.size() - count; i < parts.size(); ++i) {
            members.push_back(parts[i].get());
        }
        lowering::SharedMemoryCheck(members).run();
    }

    std::vector<std::unique_ptr<neuron_core::CoreMeeting>> meetings;
    std::vector<std::unique_ptr<program::Program>> parts;
    Sources sources;
    std::vector<neuron_core::CoreProgram> programs;
    std::int64_t instructions = 0;
};

void rethrow_fault(const NeuronDevice& device) {
    if (device.fault()) {
        std::rethrow_exception(device.fault());
    }
}

std::int64_t supplied(const NeuronDevice& device) {
    std::int64_t sum = 0;
    for (const auto& core : device.cores()) {
        sum += core->instruction_fetch().supplied();
    }
    return sum;
}

bool extend_queues(const NeuronDevice& device) {
    bool any = false;
    for (const auto& core : device.cores()) {
        any |= core->extend_queues();
    }
    return any;
}

/// Runs until nothing happens any more, telling progress now and then.
/// \throws ProgramError if that takes longer than kLongestTime
void run_to_standstill(const NeuronDevice& device, std::int64_t total, const RunOptions& options) {
    const auto end = sc_core::sc_time::from_value(static_cast<std::uint64_t>(kLongestTime.value));
    while (sc_core::sc_pending_activity()) {
        const sc_core::sc_time next = sc_core::sc_time_to_pending_activity();
        if (sc_core::sc_time_stamp() + next > end) {
            throw ProgramError(
                fmt::format("the program runs for longer than {:.0f} hours of simulated "
                            "time; make it smaller or the chip faster",
                            kLongestTime.seconds() / 3600));
        }
        sc_core::sc_time step = end - sc_core::sc_time_stamp();
        if (options.progress) {
            // The next event may be further away: a transfer of many descriptors takes
            // milliseconds.
            step = std::min(step,
                            std::max(sc_core::sc_time(kProgressNanoseconds, sc_core::SC_NS), next));
        }
        sc_core::sc_start(step, sc_core::SC_EXIT_ON_STARVATION);
        rethrow_fault(device);
        if (options.progress) {
            options.progress(supplied(device), total);
        }
    }
}

void check_deadlock(const NeuronDevice& device) {
    std::string text;
    Picoseconds latest{static_cast<std::int64_t>(sc_core::sc_time_stamp().value())};
    for (const auto& core : device.cores()) {
        const std::string blocked = core->describe_deadlock();
        text += text.empty() || blocked.empty() ? blocked : "; " + blocked;
        latest = std::max(latest, core->last_to_end().stats().last_done);
    }
    if (!text.empty()) {
        const bool has_semaphore = text.find("semaphore") != std::string::npos;
        throw ProgramError(fmt::format("deadlock at {:.3f} us: {}; {}",
                                       latest.microseconds(),
                                       text,
                                       has_semaphore ? "raise the semaphore or drop the wait"
                                                     : "let all of them come there, or none"));
    }
}

CoreResult in_short(const RunResult& result) {
    return {.total = result.total,
            .tensor_active = result.engines.at(Engine::Tensor).active,
            .hbm_limited = result.memory.hbm_limited,
            .hbm_read_bytes = result.memory.hbm_read_bytes,
            .hbm_write_bytes = result.memory.hbm_write_bytes};
}

/// How long the others kept the end of a core waiting.
Picoseconds kept_by_others(const RunResult& result) {
    Picoseconds time;
    for (const CriticalPathEntry& entry : result.critical_path) {
        time += entry.what == neuron_core::kCoresName ? entry.time : Picoseconds{};
    }
    return time;
}

/// Whether a core says more of the launch's latency: it ended later, or kept the other waiting.
bool decides(const RunResult& result, const RunResult& other) {
    return result.total != other.total ? result.total > other.total
                                       : kept_by_others(result) < kept_by_others(other);
}

RunResult collect(const NeuronDevice& device,
                  const Sources& sources,
                  const ChipSpec& chip,
                  Method method) {
    RunResult last;
    std::vector<CoreResult> cores;
    for (std::size_t core = 0; core < sources.size(); ++core) {
        RunResult result = core_result(*device.cores()[core], *sources[core], chip, method);
        cores.push_back(in_short(result));
        if (core == 0 || decides(result, last)) {
            last = std::move(result);
        }
    }
    last.cores = std::move(cores);
    return last;
}

std::uint64_t cores_of(const Launch& launch) {
    std::uint64_t cores = 0;
    for (const program::Program* program : launch) {
        cores += static_cast<std::uint64_t>(program->header.cores);
    }
    return cores;
}

}  // namespace

void check_cores(std::uint64_t cores, const ChipSpec& chip) {
    if (cores < 1 || cores > static_cast<std::uint64_t>(chip.neuron_cores)) {
        throw UserError(fmt::format("{} NeuronCores are asked for, but {} has {}; use 1 to {}",
                                    cores,
                                    chip.short_name,
                                    chip.neuron_cores,
                                    chip.neuron_cores));
    }
    const std::int64_t stacks =
        (static_cast<std::int64_t>(cores) - 1) / chip.hbm.cores_per_stack + 1;
    if (stacks > chip.hbm.stacks) {
        throw UserError(
            fmt::format("{} NeuronCores lie at {} HBM stacks with hbm.cores_per_stack={}, but "
                        "hbm.stacks={}; change one of the two or use at most {} cores",
                        cores,
                        stacks,
                        chip.hbm.cores_per_stack,
                        chip.hbm.stacks,
                        chip.hbm.stacks * chip.hbm.cores_per_stack));
    }
}

RunResult simulate(const Launch& launch, const ChipSpec& chip, const RunOptions& options) {
    check_cores(cores_of(launch), chip);
    // The kernel would print that it was stopped.
    sc_core::sc_report_handler::set_actions(
        "/OSCI/SystemC", sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    Cores cores(launch, chip, options);
    NeuronDevice device("device", chip, cores.programs);
    for (const auto& core : device.cores()) {
        core->start_at(chip.runtime.start(options.method));
    }
    do {
        run_to_standstill(device, cores.instructions, options);
    } while (extend_queues(device));
    check_deadlock(device);
    return collect(device, cores.sources, chip, options.method);
}

}  // namespace trnsim
