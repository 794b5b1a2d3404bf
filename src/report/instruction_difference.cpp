// SPDX-License-Identifier: Apache-2.0
// Joins two tables and sums up what differs.
#include "trnsim/report/instruction_difference.hpp"

#include "alignment.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace trnsim::report {
namespace {

using Instruction = InstructionTable::Instruction;
using Instructions = std::vector<Instruction>;

const Instructions& of_engine(const InstructionTable& table, Engine engine) {
    return table.engines[static_cast<std::size_t>(engine)];
}

/// Numbers for what instructions are joined by, the same for both tables.
class KeyNumbers {
public:
    std::vector<std::uint32_t> of(const InstructionTable& table, Engine engine) {
        std::vector<std::uint32_t> numbers;
        for (const Instruction& instruction : of_engine(table, engine)) {
            const InstructionTable::Kind& kind = table.kind_of(instruction);
            const std::int64_t size = engine == Engine::Dma ? kind.bytes : kind.elements;
            const auto next = static_cast<std::uint32_t>(known_.size());
            numbers.push_back(known_.try_emplace({kind.opcode, size}, next).first->second);
        }
        return numbers;
    }

private:
    std::map<std::pair<std::string, std::int64_t>, std::uint32_t> known_;
};

/// Time with an instruction between issue and result.
Picoseconds covered(const Instructions& instructions) {
    Picoseconds sum;
    Picoseconds until;
    for (const Instruction& instruction : instructions) {  // In order of their starts, nearly.
        const Picoseconds end = instruction.start + instruction.duration.value_or(Picoseconds{});
        sum += std::max(Picoseconds{}, end - std::max(instruction.start, until));
        until = std::max(until, end);
    }
    return sum;
}

/// None if that of no instruction is known.
std::optional<Picoseconds> waited(const Instructions& instructions) {
    std::optional<Picoseconds> sum;
    for (const Instruction& instruction : instructions) {
        if (instruction.waited) {
            sum = sum.value_or(Picoseconds{}) + *instruction.waited;
        }
    }
    return sum;
}

std::int64_t others(const InstructionTable& table, Engine engine) {
    std::int64_t sum = 0;
    for (const auto& [opcode, count] : table.others[static_cast<std::size_t>(engine)]) {
        sum += count;
    }
    return sum;
}

std::vector<InstructionDifference::Row> rows_of(
    const std::vector<std::pair<std::size_t, std::size_t>>& joined,
    std::size_t before_count,
    std::size_t after_count) {
    std::vector<InstructionDifference::Row> rows;
    std::size_t before = 0;
    std::size_t after = 0;
    const auto skip_to = [&](std::size_t before_end, std::size_t after_end) {
        for (; before < before_end; ++before) {
            rows.push_back({.before = before, .after = std::nullopt});
        }
        for (; after < after_end; ++after) {
            rows.push_back({.before = std::nullopt, .after = after});
        }
    };
    for (const auto& [left, right] : joined) {
        skip_to(left, right);
        rows.push_back({.before = before++, .after = after++});
    }
    skip_to(before_count, after_count);
    return rows;
}

void add_engine(InstructionDifference& difference, Engine engine) {
    const Instructions& before = of_engine(difference.before, engine);
    const Instructions& after = of_engine(difference.after, engine);
    if (before.empty() && after.empty()) {
        return;
    }
    KeyNumbers numbers;
    const auto joined =
        align(numbers.of(difference.before, engine), numbers.of(difference.after, engine));
    difference.engines.push_back(
        {.engine = engine,
         .count = {static_cast<std::int64_t>(before.size()),
                   static_cast<std::int64_t>(after.size())},
         .other_count = {others(difference.before, engine), others(difference.after, engine)},
         .active = {covered(before), covered(after)},
         .waited = {waited(before), waited(after)},
         .joined = static_cast<std::int64_t>(joined.size()),
         .rows = rows_of(joined, before.size(), after.size())});
}

/// What is summed over a kind in one table.
struct KindSums {
    std::vector<Picoseconds> durations;
    std::int64_t count = 0;
    Picoseconds total;
    std::optional<Picoseconds> waited;

    [[nodiscard]] std::optional<Picoseconds> median() {
        if (durations.empty()) {
            return std::nullopt;
        }
        const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
        std::ranges::nth_element(durations, middle);
        return *middle;
    }
};

void add_kinds(InstructionDifference& difference) {
    std::map<std::tuple<Engine, std::string, std::int64_t>, Both<KindSums>> kinds;
    std::map<std::tuple<Engine, std::string, std::int64_t>, std::string> titles;
    const auto collect = [&](const InstructionTable& table, KindSums Both<KindSums>::*side) {
        for (const Instructions& instructions : table.engines) {
            for (const Instruction& instruction : instructions) {
                const InstructionTable::Kind& kind = table.kind_of(instruction);
                const std::tuple key{kind.engine,
                                     kind.opcode,
                                     kind.engine == Engine::Dma ? kind.bytes : kind.elements};
                titles.try_emplace(key, kind.title());
                KindSums& sums = kinds[key].*side;
                ++sums.count;
                if (instruction.waited) {
                    sums.waited = sums.waited.value_or(Picoseconds{}) + *instruction.waited;
                }
                if (instruction.duration) {
                    sums.durations.push_back(*instruction.duration);
                    sums.total += *instruction.duration;
                }
            }
        }
    };
    collect(difference.before, &Both<KindSums>::before);
    collect(difference.after, &Both<KindSums>::after);
    for (auto& [key, sums] : kinds) {
        difference.kinds.push_back({.engine = std::get<Engine>(key),
                                    .title = titles[key],
                                    .count = {sums.before.count, sums.after.count},
                                    .median = {sums.before.median(), sums.after.median()},
                                    .total = {sums.before.total, sums.after.total},
                                    .waited = {sums.before.waited, sums.after.waited}});
    }
    std::ranges::stable_sort(
        difference.kinds, std::ranges::greater{}, [](const InstructionDifference::KindTimes& kind) {
            return std::abs((kind.total.after - kind.total.before).value);
        });
}

/// When an instruction started, from the start of its kernel on.
Picoseconds start_in(const InstructionTable& table, Engine engine, std::size_t place) {
    return of_engine(table, engine)[place].start - table.kernel_start;
}

void add_partings_and_lags(InstructionDifference& difference,
                           const InstructionDifference::EngineTimes& engine) {
    Picoseconds lag;
    bool was_joined = true;
    for (std::size_t i = 0; i < engine.rows.size(); ++i) {
        const InstructionDifference::Row& row = engine.rows[i];
        const bool is_joined = row.before && row.after;
        if (is_joined) {
            const Picoseconds now = start_in(difference.after, engine.engine, *row.after) -
                                    start_in(difference.before, engine.engine, *row.before);
            if (now != lag) {
                difference.lags.push_back(
                    {.engine = engine.engine, .row = i, .change = now - lag, .lag = now});
            }
            lag = now;
        } else {
            if (was_joined) {
                difference.partings.push_back({.engine = engine.engine, .first_row = i});
            }
            InstructionDifference::Parting& parting = difference.partings.back();
            const Picoseconds start = row.before
                                          ? start_in(difference.before, engine.engine, *row.before)
                                          : start_in(difference.after, engine.engine, *row.after);
            parting.start = parting.rows == 0 ? start : std::min(parting.start, start);
            ++parting.rows;
        }
        was_joined = is_joined;
    }
}

void add_transfers(InstructionDifference& difference) {
    std::map<Direction, InstructionDifference::Transfers> sums;
    const auto collect = [&sums](const InstructionTable& table, auto side) {
        for (const Instruction& transfer : of_engine(table, Engine::Dma)) {
            const InstructionTable::Kind& kind = table.kind_of(transfer);
            InstructionDifference::Transfers& sum = sums[kind.direction];
            sum.direction = kind.direction;
            ++(sum.count.*side);
            sum.bytes.*side += kind.bytes;
            sum.descriptors.*side += kind.descriptors;
        }
    };
    collect(difference.before, &Both<std::int64_t>::before);
    collect(difference.after, &Both<std::int64_t>::after);
    for (const auto& [direction, sum] : sums) {
        difference.transfers.push_back(sum);
    }
}

}  // namespace

InstructionDifference diff(InstructionTable before, InstructionTable after) {
    InstructionDifference difference;
    difference.before = std::move(before);
    difference.after = std::move(after);
    for (const Engine engine : kSequencedEngines) {
        add_engine(difference, engine);
    }
    add_engine(difference, Engine::Dma);
    for (const InstructionDifference::EngineTimes& engine : difference.engines) {
        add_partings_and_lags(difference, engine);
    }
    std::ranges::stable_sort(difference.partings, {}, &InstructionDifference::Parting::start);
    std::ranges::stable_sort(
        difference.lags, std::ranges::greater{}, [](const InstructionDifference::Lag& lag) {
            return std::abs(lag.change.value);
        });
    add_kinds(difference);
    add_transfers(difference);
    return difference;
}

}  // namespace trnsim::report
