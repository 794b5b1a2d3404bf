// SPDX-License-Identifier: Apache-2.0
// Vector clocks from meetings.
#include "trnsim/lowering/checks/shared_memory_check.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/base/rounding.hpp"
#include "trnsim/lowering/dependencies/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace trnsim::lowering {
namespace {

using program::Program;
using program::Step;

std::uint32_t bit(std::size_t core) {
    return std::uint32_t{1} << core;
}

/// Who touches a shared buffer, and whether somebody writes it.
struct Use {
    std::set<std::size_t> cores{};
    bool is_written = false;
};

/// Adds what a core does to shared buffers, by their names.
void note_uses(std::size_t core, const Program& program, std::map<std::string, Use>& uses) {
    for (const program::Node& node : program.nodes) {
        if (node.kind != program::Node::Kind::Run) {
            continue;
        }
        const std::uint32_t instruction = program.runs[node.index].instruction;
        for (const Operand& operand : program.templates[instruction].operands) {
            const std::string& name = program.buffers[operand.buffer].shared;
            if (!name.empty() && !operand.indirect) {
                Use& use = uses[name];
                use.cores.insert(core);
                use.is_written = use.is_written || operand.writes();
            }
        }
    }
}

}  // namespace

SharedMemoryCheck::SharedMemoryCheck(std::span<const Program* const> cores) {
    for (const Program* program : cores) {
        Core& core = cores_.emplace_back();
        core.program = program;
        core.cursor = std::make_unique<program::Cursor>(*program);
        core.watched.resize(program->buffers.size());
        core.clock.resize(cores.size());
        core.shapes.resize(program->templates.size());
    }
    watch();
}

/// Looks only at buffers that one core writes and another one touches.
void SharedMemoryCheck::watch() {
    std::map<std::string, Use> uses;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
        note_uses(core, *cores_[core].program, uses);
    }
    for (const auto& [name, use] : uses) {
        if (use.is_written && use.cores.size() > 1) {
            records_[name];
        }
    }
    for (Core& core : cores_) {
        watch_buffers(core);
        shape_operands(core);
    }
}

void SharedMemoryCheck::watch_buffers(Core& core) const {
    for (std::size_t buffer = 0; buffer < core.watched.size(); ++buffer) {
        const std::string& name = core.program->buffers[buffer].shared;
        core.watched[buffer] = records_.contains(name) ? name : std::string{};
    }
}

void SharedMemoryCheck::shape_operands(Core& core) {
    for (std::size_t i = 0; i < core.shapes.size(); ++i) {
        for (const Operand& operand : core.program->templates[i].operands) {
            const bool is_watched = !core.watched[operand.buffer].empty() && !operand.indirect;
            core.shapes[i].push_back(is_watched ? std::make_unique<RegionShape>(operand) : nullptr);
        }
    }
}

void SharedMemoryCheck::run() {
    if (records_.empty()) {
        return;
    }
    do {
        for (std::size_t core = 0; core < cores_.size(); ++core) {
            advance(core);
        }
    } while (meet());  // Cores that wait for ever are a deadlock, which the simulation tells.
}

void SharedMemoryCheck::advance(std::size_t index) {
    Core& core = cores_[index];
    while (!core.has_ended && core.waits_for == nullptr) {
        const Step* step = core.cursor->next();
        if (step == nullptr) {
            core.has_ended = true;
            return;
        }
        if (step->is_alloc) {
            continue;
        }
        access(index, *step);
        const InstructionTemplate& instruction =
            core.program->templates[core.program->runs[step->run].instruction];
        const MeetingPlan plan =
            plan_meeting(instruction, static_cast<std::int32_t>(cores_.size()));
        if (plan.cores != 0) {
            core.waits_for = std::make_unique<Meeting>(plan.cores | bit(index), plan.channel);
            core.waits_for_bytes = !instruction.operands.empty();
        }
    }
}

void SharedMemoryCheck::access(std::size_t index, const Step& step) {
    const Core& core = cores_[index];
    const std::uint32_t instruction = core.program->runs[step.run].instruction;
    const InstructionTemplate& from = core.program->templates[instruction];
    if (from.op == Opcode::CoreBarrier) {
        return;  // Its dst is what the meeting is about.
    }
    for (std::size_t i = 0; i < from.operands.size(); ++i) {
        const RegionShape* shape = core.shapes[instruction][i].get();
        if (shape == nullptr) {
            continue;
        }
        const Record record{.core = index,
                            .instruction = instruction,
                            .operand = i,
                            .meetings = core.clock[index],
                            .is_write = from.operands[i].writes(),
                            .first = Region(*shape, 0, step.at[i].offset * shape->element_bytes)};
        std::vector<Record>& records = records_.at(core.watched[from.operands[i].buffer]);
        check(index, record, records);
        remember(record, records);
    }
}

void SharedMemoryCheck::check(std::size_t core,
                              const Record& access,
                              const std::vector<Record>& records) const {
    for (const Record& other : records) {
        const bool is_harmless = other.core == core || (!access.is_write && !other.is_write) ||
                                 cores_[core].clock[other.core] > other.meetings;
        if (is_harmless) {
            continue;
        }
        for (auto [i, end] = places_near(other, access.first); i < end; ++i) {
            const Region region = other.first.moved_by(i * other.step);
            if (!overlap(region, access.first) || is_same_work(access, other, region, records)) {
                continue;
            }
            const Program& program = *cores_[core].program;
            const Operand& operand = program.templates[access.instruction].operands[access.operand];
            throw ProgramError(fmt::format(
                "race: {} bytes {} to {} of {}, which all cores share, and {} bytes {} to {} of "
                "it, and no core_barrier or sendrecv orders the two; let the cores meet in "
                "between{}",
                text_of(access),
                access.first.begin(),
                access.first.end() - 1,
                program.buffers[operand.buffer].name,
                text_of(other),
                region.begin(),
                region.end() - 1,
                has_met_for_nothing_ ? ", over that tensor: a core_barrier without dst orders none"
                                     : ""));
        }
    }
}

std::pair<std::int64_t, std::int64_t> SharedMemoryCheck::places_near(const Record& record,
                                                                     const Region& region) {
    const std::int64_t step = std::abs(record.step);
    if (step == 0) {
        return {0, record.count};
    }
    // Of the way that its regions go: the bytes before the first one meets it, and until the last.
    const bool is_down = record.step < 0;
    const std::int64_t until =
        is_down ? record.first.begin() - region.end() : region.begin() - record.first.end();
    const std::int64_t beyond =
        is_down ? record.first.end() - region.begin() : region.end() - record.first.begin();
    return {std::max<std::int64_t>(0, floor_divide(until, step) + 1),
            std::min(record.count, floor_divide(beyond - 1, step) + 1)};
}

std::string SharedMemoryCheck::text_of(const Record& record) const {
    const Program& program = *cores_[record.core].program;
    const InstructionTemplate& instruction = program.templates[record.instruction];
    return fmt::format("core {} {} ({}: {}, {})",
                       record.core,
                       record.is_write ? "writes" : "reads",
                       program.source_text(instruction),
                       name(instruction.op),
                       name(instruction.operands[record.operand].role));
}

bool SharedMemoryCheck::is_same_line(const Record& a, const Record& b) const {
    const InstructionTemplate& one = cores_[a.core].program->templates[a.instruction];
    const InstructionTemplate& two = cores_[b.core].program->templates[b.instruction];
    return !one.source.empty() && one.source == two.source && one.op == two.op &&
           a.operand == b.operand;
}

bool SharedMemoryCheck::is_same_work(const Record& access,
                                     const Record& other,
                                     const Region& region,
                                     const std::vector<Record>& records) const {
    if (access.is_write && other.is_write) {
        return is_same_line(access, other) && region.begin() == access.first.begin() &&
               region.end() == access.first.end();
    }
    const Record& write = access.is_write ? access : other;
    const Region& written = access.is_write ? access.first : region;
    const std::size_t reader = access.is_write ? other.core : access.core;
    return std::ranges::any_of(records, [&](const Record& own) {
        const std::int64_t distance = written.base_byte() - own.first.base_byte();
        const std::int64_t place = own.step == 0 ? 0 : distance / own.step;
        return own.core == reader && own.is_write && is_same_line(own, write) &&
               place * own.step == distance && place >= 0 && place < own.count;
    });
}

bool SharedMemoryCheck::is_known_to_all(const Record& record) const {
    return std::ranges::all_of(
        cores_, [&](const Core& core) { return core.clock[record.core] > record.meetings; });
}

bool SharedMemoryCheck::continues(Record& record, const Record& access) {
    const bool is_same_operand =
        record.core == access.core && record.instruction == access.instruction &&
        record.operand == access.operand && record.meetings == access.meetings;
    if (!is_same_operand) {
        return false;
    }
    const std::int64_t distance = access.first.base_byte() - record.first.base_byte();
    if (distance == 0) {
        return true;
    }
    if (record.count == 1) {
        record.step = distance;
    }
    const std::int64_t place = distance / record.step;
    if (place * record.step != distance || place < 0 || place > record.count) {
        return false;
    }
    record.count = std::max(record.count, place + 1);
    return true;
}

void SharedMemoryCheck::remember(const Record& access, std::vector<Record>& records) {
    const bool is_known = std::any_of(records.rbegin(), records.rend(), [&](Record& record) {
        return continues(record, access);
    });
    if (is_known) {
        return;
    }
    if (records.size() >= kMaxRecords) {
        records.erase(records.begin());
    }
    records.push_back(access);
}

bool SharedMemoryCheck::meet() {
    bool any = false;
    for (const Core& core : cores_) {
        if (core.waits_for != nullptr && hold(Meeting{*core.waits_for})) {
            any = true;
        }
    }
    for (auto& [name, records] : records_) {
        std::erase_if(records, [&](const Record& record) { return is_known_to_all(record); });
    }
    return any;
}

bool SharedMemoryCheck::hold(const Meeting& meeting) {
    std::vector<std::size_t> members;
    std::uint32_t present = 0;
    for (std::size_t core = 0; core < cores_.size(); ++core) {
        const Meeting* waits_for = cores_[core].waits_for.get();
        const bool is_member = (meeting.first & bit(core)) != 0;
        if (is_member && waits_for != nullptr && *waits_for == meeting) {
            members.push_back(core);
            present |= bit(core);
        }
    }
    if (present != meeting.first) {
        return false;
    }
    const bool orders = std::ranges::all_of(
        members, [this](std::size_t core) { return cores_[core].waits_for_bytes; });
    has_met_for_nothing_ = has_met_for_nothing_ || !orders;
    const Clock known = known_after(members);
    for (const std::size_t core : members) {
        if (orders) {
            cores_[core].clock = known;
        }
        cores_[core].waits_for.reset();
    }
    return true;
}

SharedMemoryCheck::Clock SharedMemoryCheck::known_after(
    const std::vector<std::size_t>& members) const {
    Clock known(cores_.size());
    for (const std::size_t member : members) {
        Clock clock = cores_[member].clock;
        ++clock[member];
        std::ranges::transform(known, clock, known.begin(), std::ranges::max);
    }
    return known;
}

}  // namespace trnsim::lowering
