// SPDX-License-Identifier: Apache-2.0
// Reading tables of instructions.
#include "trnsim/report/instruction_table.hpp"

#include "json_member.hpp"
#include "neuron_profile.hpp"
#include "opcode_words.hpp"
#include "quantity.hpp"
#include "trnsim/timeline/instruction_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trnsim::report {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using timeline::InstructionWriter;

constexpr std::string_view kTableAdvice = "give a file that trnsim run --instructions wrote";

struct TableQueue {
    std::string core;
    Engine engine = Engine::Dma;
};

/// "tensor_engine", "dma_ring_3"
Engine engine_of_queue(std::string_view name) {
    constexpr std::string_view kSuffix = "_engine";
    if (name.ends_with(kSuffix)) {
        name.remove_suffix(kSuffix.size());
    }
    return engine_from_name(name).value_or(Engine::Dma);
}

Direction direction_of(std::int64_t read, std::int64_t written) {
    if (read > 0) {
        return written > 0 ? Direction::WithinHbm : Direction::Load;
    }
    return written > 0 ? Direction::Store : Direction::OnChip;
}

std::vector<TableQueue> read_queues(const JsonMembers& file, const std::string& name) {
    std::vector<TableQueue> queues;
    for (const element item : file.get<array>("queues")) {
        const JsonMembers fields(name, kTableAdvice, item, "/queues", queues.size());
        queues.push_back({.core = std::string(fields.get<std::string_view>("core")),
                          .engine = engine_of_queue(fields.get<std::string_view>("name"))});
    }
    return queues;
}

void read_templates(const JsonMembers& file, InstructionTable& table) {
    for (const element item : file.get<array>("templates")) {
        const JsonMembers fields(table.name, kTableAdvice, item, "/templates", table.kinds.size());
        const auto engine = engine_from_name(fields.get<std::string_view>("engine"));
        if (!engine) {
            fields.refuse("engine", "is no engine of a NeuronCore");
        }
        InstructionTable::Kind kind{
            .engine = *engine,
            .opcode = profiler_word(
                fields.get<std::string_view>("opcode"), *engine, fields.get<bool>("is_transpose")),
            .elements = fields.get<std::int64_t>("elements"),
            .source = std::string(fields.get<std::string_view>("source"))};
        if (kind.engine == Engine::Dma && kind.opcode != "EVENT_SEMAPHORE") {
            kind.bytes = fields.get<std::int64_t>("bytes");
            kind.descriptors = fields.get<std::int64_t>("descriptors");
            kind.direction = direction_of(fields.get<std::int64_t>("hbm_read_bytes"),
                                          fields.get<std::int64_t>("hbm_write_bytes"));
            kind.opcode = name(kind.direction);
        }
        table.kinds.push_back(std::move(kind));
    }
}

/// An execution with what it is sorted by.
struct ExecutedRow {
    std::size_t queue = 0;
    std::uint64_t order = 0;
    InstructionTable::Instruction instruction;
};

std::vector<ExecutedRow> read_rows(const JsonMembers& file,
                                   const InstructionTable& table,
                                   const std::vector<TableQueue>& queues) {
    std::vector<ExecutedRow> rows;
    for (const element item : file.get<array>("instructions")) {
        const JsonMembers fields(table.name, kTableAdvice, item, "/instructions", rows.size());
        ExecutedRow& row = rows.emplace_back();
        row.queue = fields.index("queue", queues.size());
        row.order = fields.get<std::uint64_t>("order");
        row.instruction = {
            .kind = static_cast<std::uint32_t>(fields.index("template", table.kinds.size())),
            .start = fields.time("start_ns"),
            .duration = fields.time("duration_ns"),
            .waited = fields.time("waited_ns")};
        if (const auto whom = fields.find<simdjson::dom::object>("waited_for")) {
            std::uint64_t queue = 0;
            if ((*whom)["queue"].get(queue) != simdjson::SUCCESS || queue >= queues.size()) {
                fields.refuse("waited_for", "names no queue of the table");
            }
            row.instruction.waited_for = queues[queue].engine;
        }
    }
    return rows;
}

/// Keeps one core; \returns its name. \pre !rows.empty()
std::string keep_last_core(std::vector<ExecutedRow>& rows, const std::vector<TableQueue>& queues) {
    const auto last = std::ranges::max_element(rows, {}, [](const ExecutedRow& row) {
        return row.instruction.start + row.instruction.duration.value_or(Picoseconds{});
    });
    std::string core = queues[last->queue].core;
    std::erase_if(rows, [&](const ExecutedRow& row) { return queues[row.queue].core != core; });
    return core;
}

/// Puts rows, sorted by queue and order, on their engines. What an instruction that only waits
/// waited for is added to the next one.
void add_executed(const std::vector<ExecutedRow>& rows,
                  const std::vector<TableQueue>& queues,
                  InstructionTable& table) {
    std::optional<std::size_t> queue;
    InstructionTable::Instruction waiting;
    for (const ExecutedRow& row : rows) {
        if (row.queue != queue) {
            queue = row.queue;
            waiting = {};
        }
        const auto engine = static_cast<std::size_t>(queues[row.queue].engine);
        const std::string& opcode = table.kind_of(row.instruction).opcode;
        InstructionTable::Instruction instruction = row.instruction;
        instruction.waited =
            instruction.waited.value_or(Picoseconds{}) + waiting.waited.value_or(Picoseconds{});
        if (!instruction.waited_for) {
            instruction.waited_for = waiting.waited_for;
        }
        if (waits_or_triggers(opcode)) {
            ++table.others[engine][opcode];
            waiting = instruction;
        } else {
            table.engines[engine].push_back(instruction);
            waiting = {};
        }
    }
}

InstructionTable read_table(std::string name, element json) {
    InstructionTable table;
    table.name = std::move(name);
    const JsonMembers file(table.name, kTableAdvice, json);
    const auto version = file.get<std::int64_t>("schema_version");
    if (version != InstructionWriter::kSchemaVersion) {
        throw UserError(fmt::format(
            "{}: /schema_version: {}, but this trnsim reads {}; write the file again with it",
            table.name,
            version,
            InstructionWriter::kSchemaVersion));
    }
    const std::vector<TableQueue> queues = read_queues(file, table.name);
    read_templates(file, table);
    std::vector<ExecutedRow> rows = read_rows(file, table, queues);
    if (rows.empty()) {
        file.refuse("instructions", "there is none, so there is nothing to compare");
    }
    const std::size_t before = rows.size();
    const std::string core = keep_last_core(rows, queues);
    if (rows.size() != before) {
        table.notes.push_back(
            fmt::format("of several NeuronCores only {}, which ended last", core));
    }
    std::ranges::stable_sort(rows, {}, [](const ExecutedRow& row) {
        return std::pair{row.queue, row.order};
    });
    add_executed(rows, queues, table);
    std::ranges::stable_sort(table.engines[static_cast<std::size_t>(Engine::Dma)],
                             {},
                             &InstructionTable::Instruction::start);
    table.total = file.time("total_ns");
    table.kernel_start = file.time("kernel_start_ns");
    table.title = fmt::format("{} on {}, simulated",
                              file.get<std::string_view>("kernel"),
                              file.get<std::string_view>("chip"));
    return table;
}

}  // namespace

std::string_view name(Direction direction) {
    static constexpr std::array<std::string_view, kDirections.size()> kNames{
        "load", "store", "within HBM", "on chip"};
    return kNames[static_cast<std::size_t>(direction)];
}

std::string InstructionTable::Kind::title() const {
    if (engine == Engine::Dma) {
        return fmt::format("{} {}", opcode, bytes_text(static_cast<double>(bytes)));
    }
    return elements > 0 ? fmt::format("{} {}", opcode, elements) : opcode;
}

namespace {

/// What an object with a schema version is.
FileKind versioned_kind(const simdjson::dom::object& file) {
    constexpr std::array<std::pair<std::string_view, FileKind>, 7> kTelling{
        {{"neuron_core_version", FileKind::Chip},
         {"short_name", FileKind::Chip},
         {"fields", FileKind::Description},
         {"calls", FileKind::Calls},
         {"chips", FileKind::Comparison},
         {"changes", FileKind::Difference},
         {"families", FileKind::Validation}}};
    for (const auto& [key, kind] : kTelling) {
        if (file[key].error() == simdjson::SUCCESS) {
            return kind;
        }
    }
    return FileKind::Result;
}

}  // namespace

FileKind file_kind(std::string_view text) {
    simdjson::dom::parser parser;
    element json;
    if (parser.parse(text.data(), text.size()).get(json) != simdjson::SUCCESS) {
        return FileKind::NoJson;
    }
    simdjson::dom::object file;
    if (json.get(file) != simdjson::SUCCESS) {
        return FileKind::OtherJson;
    }
    std::string_view kind;
    array list;
    if (file["kind"].get(kind) == simdjson::SUCCESS) {
        if (kind == InstructionWriter::kKind) {
            return FileKind::Instructions;
        }
        if (kind == "instruction_difference") {
            return FileKind::Difference;
        }
    }
    if (file["instruction"].get(list) == simdjson::SUCCESS) {
        return FileKind::Profile;
    }
    return file["schema_version"].error() == simdjson::SUCCESS ? versioned_kind(file)
                                                               : FileKind::OtherJson;
}

InstructionTable read_instructions(std::string name, std::string_view text) {
    simdjson::dom::parser parser;
    element json;
    if (const auto error = parser.parse(text.data(), text.size()).get(json);
        error != simdjson::SUCCESS) {
        throw UserError(fmt::format(
            "{}: no JSON: {}; give the whole file", name, simdjson::error_message(error)));
    }
    simdjson::dom::object file;
    const bool is_profile =
        json.get(file) == simdjson::SUCCESS && file["instruction"].error() == simdjson::SUCCESS;
    return is_profile ? read_profile(std::move(name), json) : read_table(std::move(name), json);
}

}  // namespace trnsim::report
