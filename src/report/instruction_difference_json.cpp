// SPDX-License-Identifier: Apache-2.0
// All that differs between two tables of instructions.
#include "quantity.hpp"
#include "schema_version.hpp"
#include "trnsim/report/instruction_difference.hpp"

#include <nlohmann/json.hpp>

namespace trnsim::report {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson table_json(const InstructionTable& table) {
    return {
        {"name", table.name},
        {"origin", table.origin == InstructionTable::Origin::Profile ? "profile" : "simulation"},
        {"title", table.title},
        {"total_ns", in_nanoseconds(table.total)},
        {"kernel_start_ns", in_nanoseconds(table.kernel_start)},
        {"notes", table.notes}};
}

OrderedJson both_json(const Both<std::int64_t>& both) {
    return {{"before", both.before}, {"after", both.after}};
}

OrderedJson both_json(const Both<Picoseconds>& both) {
    return {{"before", in_nanoseconds(both.before)}, {"after", in_nanoseconds(both.after)}};
}

OrderedJson time_json(const std::optional<Picoseconds>& time) {
    return time ? OrderedJson(in_nanoseconds(*time)) : OrderedJson();
}

OrderedJson both_json(const Both<std::optional<Picoseconds>>& both) {
    return {{"before", time_json(both.before)}, {"after", time_json(both.after)}};
}

OrderedJson instruction_json(const InstructionTable& table,
                             Engine engine,
                             const std::optional<std::size_t>& place) {
    if (!place) {
        return {};
    }
    const auto& instruction = table.engines[static_cast<std::size_t>(engine)][*place];
    const InstructionTable::Kind& kind = table.kind_of(instruction);
    return {{"order", *place},
            {"source", kind.source},
            {"pieces", instruction.pieces},
            {"start_ns", in_nanoseconds(instruction.start)},
            {"duration_ns", time_json(instruction.duration)},
            {"waited_ns", time_json(instruction.waited)},
            {"waited_for",
             instruction.waited_for ? OrderedJson(name(*instruction.waited_for)) : OrderedJson()},
            {"bytes", kind.bytes},
            {"descriptors", kind.descriptors}};
}

OrderedJson row_json(const InstructionDifference& difference,
                     Engine engine,
                     const InstructionDifference::Row& row) {
    const auto& kind =
        row.before ? difference.before.kind_of(
                         difference.before.engines[static_cast<std::size_t>(engine)][*row.before])
                   : difference.after.kind_of(
                         difference.after.engines[static_cast<std::size_t>(engine)][*row.after]);
    return {{"engine", name(engine)},
            {"kind", kind.title()},
            {"before", instruction_json(difference.before, engine, row.before)},
            {"after", instruction_json(difference.after, engine, row.after)}};
}

OrderedJson rows_json(const InstructionDifference& difference) {
    OrderedJson rows = OrderedJson::array();
    for (const auto& engine : difference.engines) {
        for (const auto& row : engine.rows) {
            rows.push_back(row_json(difference, engine.engine, row));
        }
    }
    return rows;
}

OrderedJson engine_times_json(const InstructionDifference& difference) {
    OrderedJson engines = OrderedJson::array();
    for (const auto& engine : difference.engines) {
        engines.push_back({{"engine", name(engine.engine)},
                           {"instruction_count", both_json(engine.count)},
                           {"other_count", both_json(engine.other_count)},
                           {"joined_count", engine.joined},
                           {"active_ns", both_json(engine.active)},
                           {"waited_ns", both_json(engine.waited)}});
    }
    return engines;
}

OrderedJson kinds_json(const InstructionDifference& difference) {
    OrderedJson kinds = OrderedJson::array();
    for (const auto& kind : difference.kinds) {
        kinds.push_back({{"engine", name(kind.engine)},
                         {"kind", kind.title},
                         {"count", both_json(kind.count)},
                         {"median_duration_ns", both_json(kind.median)},
                         {"total_duration_ns", both_json(kind.total)},
                         {"waited_ns", both_json(kind.waited)}});
    }
    return kinds;
}

/// Where a row is in "instructions".
std::size_t place_of(const InstructionDifference& difference, Engine engine, std::size_t row) {
    for (const auto& times : difference.engines) {
        if (times.engine == engine) {
            break;
        }
        row += times.rows.size();
    }
    return row;
}

OrderedJson partings_json(const InstructionDifference& difference) {
    OrderedJson partings = OrderedJson::array();
    for (const auto& parting : difference.partings) {
        partings.push_back({{"engine", name(parting.engine)},
                            {"start_ns", in_nanoseconds(parting.start)},
                            {"first_row", place_of(difference, parting.engine, parting.first_row)},
                            {"row_count", parting.rows}});
    }
    return partings;
}

OrderedJson lags_json(const InstructionDifference& difference) {
    OrderedJson lags = OrderedJson::array();
    for (const auto& lag : difference.lags) {
        lags.push_back({{"engine", name(lag.engine)},
                        {"row", place_of(difference, lag.engine, lag.row)},
                        {"change_ns", in_nanoseconds(lag.change)},
                        {"lag_ns", in_nanoseconds(lag.lag)}});
    }
    return lags;
}

OrderedJson transfers_json(const InstructionDifference& difference) {
    OrderedJson transfers = OrderedJson::array();
    for (const auto& sum : difference.transfers) {
        transfers.push_back({{"direction", name(sum.direction)},
                             {"count", both_json(sum.count)},
                             {"bytes", both_json(sum.bytes)},
                             {"descriptors", both_json(sum.descriptors)}});
    }
    return transfers;
}

}  // namespace

std::string to_json(const InstructionDifference& difference) {
    const OrderedJson json{{"kind", "instruction_difference"},
                           {"schema_version", kSchemaVersion},
                           {"before", table_json(difference.before)},
                           {"after", table_json(difference.after)},
                           {"engines", engine_times_json(difference)},
                           {"transfers", transfers_json(difference)},
                           {"kinds", kinds_json(difference)},
                           {"partings", partings_json(difference)},
                           {"lags", lags_json(difference)},
                           {"instructions", rows_json(difference)}};
    return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace trnsim::report
