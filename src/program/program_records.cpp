// SPDX-License-Identifier: Apache-2.0
// Records of the program: loop, end, alloc, run, summary.
#include "access_checks.hpp"
#include "affine_reader.hpp"
#include "limits.hpp"
#include "records.hpp"
#include "trace_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace trnsim::program {
namespace {

void add_node(ReaderState& state, Node::Kind kind, std::size_t index) {
    state.program.nodes.push_back({.kind = kind, .index = static_cast<std::uint32_t>(index)});
}

/// Counts a run or an allocation, loops expanded.
void count_step(ReaderState& state) {
    state.executed_steps += state.executions();
    if (state.executed_steps > kMaxSteps) {
        state.place.fail(fmt::format(
            "the program executes more than {} steps, the limit; shorten it", kMaxSteps));
    }
}

void check_loop_name(const ReaderState& state, const JsonValue& value) {
    const std::string_view index = value.nonempty_text();
    if (index == "base") {
        value.fail("\"base\", which names the constant of a position; use another name");
    }
    for (const OpenLoop& open : state.open_loops) {
        if (state.program.loops[state.program.nodes[open.node].index].index == index) {
            value.fail(fmt::format("{}, the name of a loop around this one; use another name",
                                   in_quotes(index)));
        }
    }
}

void check_no_loop_is_open(const ReaderState& state) {
    if (!state.open_loops.empty()) {
        const Node& node = state.program.nodes[state.open_loops.back().node];
        state.place.fail(fmt::format("loop {} is still open; add its \"end\"",
                                     in_quotes(state.program.loops[node.index].index)));
    }
}

/// Puts the program of core 0 and those of the others where they belong.
void finish_cores(ReaderState& state) {
    state.part.nodes = std::move(state.program.nodes);
    state.parts.push_back(std::move(state.part));
    state.program.nodes = std::move(state.parts.front().nodes);
    state.program.instruction_count = state.parts.front().instruction_count;
    state.parts.erase(state.parts.begin());
    state.program.other_cores = std::move(state.parts);
}

Position read_position(ReaderState& state, const Operand& operand, const JsonValue& value) {
    static constexpr std::array kProgramKeys{
        optional_key("instance"), optional_key("offset"), optional_key("partition")};
    static constexpr std::array kLoweredKeys{optional_key("address"), optional_key("partition")};
    const bool is_lowered = state.is_lowered();
    const std::span<const JsonKey> keys =
        is_lowered ? std::span<const JsonKey>(kLoweredKeys) : kProgramKeys;
    const std::size_t count = keys.size() - (operand.space == Space::Hbm ? 1 : 0);
    const JsonFields fields(state.place, value.object(), keys.first(count));
    const auto read = [&](std::string_view key) {
        return fields.has(key) ? read_affine(state, fields[key]) : Affine{};
    };
    Position position;
    position.offset = read(is_lowered ? "address" : "offset");
    if (!is_lowered) {
        position.instance = read("instance");
    }
    if (operand.space != Space::Hbm) {
        position.partition = read("partition");
    }
    return position;
}

void read_positions(ReaderState& state, const JsonValue& value, Run& run) {
    const InstructionTemplate& instruction = state.program.templates[run.instruction];
    const JsonArray array = value.array();
    if (array.size() != instruction.operands.size()) {
        value.fail(fmt::format("an array of {}; template {} has {} operands, write one object each",
                               array.size(),
                               run.instruction,
                               instruction.operands.size()));
    }
    run.at.reserve(array.size());
    value.for_each([&](const JsonValue& entry) {
        const Operand& operand = instruction.operands[run.at.size()];
        Place::Part part(state.place, "operand", static_cast<std::int64_t>(run.at.size()));
        part.label(name(operand.role));
        run.at.push_back(read_position(state, operand, entry));
        if (state.is_lowered()) {
            check_lowered_access(state, instruction, operand, run.at.back());
        } else {
            check_program_access(state, instruction, operand, run.at.back());
        }
    });
}

void check_semaphore_count(const JsonValue& value, std::size_t count) {
    if (count == 0 || count > kMaxSemaphores) {
        value.fail(fmt::format("an array of {}, allowed is 1 to {}", count, kMaxSemaphores));
    }
}

void read_waits(ReaderState& state, const JsonValue& value, Run& run) {
    static constexpr std::array kKeys{JsonKey{"semaphore"}, JsonKey{"at_least"}};
    value.for_each([&](const JsonValue& entry) {
        const Place::Part part(state.place, "wait", std::ssize(run.waits));
        const JsonFields fields(state.place, entry.object(), kKeys);
        const std::int64_t semaphore = fields["semaphore"].integer(0, kMaxSemaphoreId);
        Affine at_least = read_affine(state, fields["at_least"]);
        const Interval range = interval_of(state, at_least, "at_least");
        if (range.low < 0) {
            state.place.fail(
                fmt::format("\"at_least\" falls to {}; a semaphore is never below 0", range.low));
        }
        if (range.high > kMaxSemaphoreValue) {
            state.place.fail(fmt::format("\"at_least\" rises to {}; a semaphore counts to {}",
                                         range.high,
                                         kMaxSemaphoreValue));
        }
        run.waits.push_back({static_cast<std::int32_t>(semaphore), std::move(at_least)});
    });
    check_semaphore_count(value, run.waits.size());
}

void read_signals(ReaderState& state, const JsonValue& value, Run& run) {
    static constexpr std::array kKeys{JsonKey{"semaphore"}, JsonKey{"add"}, optional_key("when")};
    static constexpr std::array<std::string_view, 2> kMoments{"read", "done"};
    value.for_each([&](const JsonValue& entry) {
        const Place::Part part(state.place, "signal", std::ssize(run.signals));
        const JsonFields fields(state.place, entry.object(), kKeys);
        SemaphoreSignal signal;
        signal.semaphore =
            static_cast<std::int32_t>(fields["semaphore"].integer(0, kMaxSemaphoreId));
        signal.add = fields["add"].integer(1, kMaxSemaphoreId);
        if (fields.has("when")) {
            const std::string_view when = fields["when"].text();
            if (std::ranges::find(kMoments, when) == kMoments.end()) {
                fields["when"].fail(fmt::format(
                    "{}, an unknown name{}", in_quotes(when), suggestion(when, kMoments)));
            }
            signal.at_read = when == "read";
        }
        run.signals.push_back(signal);
    });
    check_semaphore_count(value, run.signals.size());
}

/// The number of a memset whose template leaves it to its runs.
void read_number(ReaderState& state, const JsonFields& fields, Run& run) {
    const bool is_left = !state.program.templates[run.instruction].attributes.value.has_value();
    const bool is_given = fields.has("value");
    if (is_given && !is_left) {
        state.place.fail(fmt::format(
            R"("value" is for templates that leave it to their runs, which template {} )"
            "does not; leave it out",
            run.instruction));
    }
    if (is_left && !is_given) {
        state.place.fail(fmt::format(R"(key "value" is missing; template {} leaves it to its runs)",
                                     run.instruction));
    }
    if (is_given) {
        run.value = read_affine(state, fields["value"]);
        static_cast<void>(interval_of(state, *run.value, "value"));
    }
}

/// The number of a producer: a natural one in every iteration.
Affine read_producer(ReaderState& state, const JsonValue& value, std::string_view key) {
    Affine producer = read_affine(state, value);
    const Interval range = interval_of(state, producer, key);
    if (range.low < 0) {
        state.place.fail(
            fmt::format("\"{}\" falls to {}; producers are counted from 0", key, range.low));
    }
    return producer;
}

/// Edges of the schedule.
void read_edges(ReaderState& state, const JsonFields& fields, Run& run) {
    if (fields.has("producer")) {
        run.producer = read_producer(state, fields["producer"], "producer");
    }
    if (fields.has("depends_on")) {
        fields["depends_on"].for_each([&](const JsonValue& entry) {
            const Place::Part part(state.place, "depends_on", std::ssize(run.depends_on));
            run.depends_on.push_back(read_producer(state, entry, "depends_on"));
        });
        if (run.depends_on.empty()) {
            fields["depends_on"].fail("an empty array; leave the key out");
        }
    }
}

JsonFields run_fields(const ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{
        JsonKey{"record"},
        JsonKey{"template"},
        JsonKey{"at"},
        optional_key("value"),
        optional_key("producer"),
        optional_key("depends_on"),
        optional_key("wait"),
        optional_key("signal"),
    };
    const JsonFields fields(state.place, record, kKeys);
    if (!state.is_lowered() && (fields.has("wait") || fields.has("signal"))) {
        state.place.fail(
            "\"wait\" and \"signal\" are for lowered traces; leave them out, the "
            "lowering orders what depends on each other");
    }
    if (state.is_lowered() && (fields.has("producer") || fields.has("depends_on"))) {
        state.place.fail(
            "\"producer\" and \"depends_on\" are for program traces; write the semaphores of "
            "a lowered one");
    }
    return fields;
}

}  // namespace

void read_loop(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{
        JsonKey{"record"},
        JsonKey{"index"},
        JsonKey{"count"},
        JsonKey{"kind"},
        optional_key("in_order"),
        optional_key("source"),
    };
    Place::Part part(state.place, "loop");
    const JsonFields fields(state.place, record, kKeys);
    check_loop_name(state, fields["index"]);
    Loop loop;
    loop.index = fields["index"].text();
    loop.count = fields["count"].integer(1, kMaxSteps);
    loop.kind = fields["kind"].choice(loop_kind_from_name, LoopKind::Runtime);
    loop.is_in_order = fields.has("in_order") && fields["in_order"].boolean();
    loop.source = read_source(state, fields);
    if (state.open_loops.size() == kMaxDepth) {
        state.place.fail(fmt::format("loops are nested deeper than {}, the limit", kMaxDepth));
    }
    if (loop.count > kMaxSteps / state.executions()) {
        state.place.fail(fmt::format(
            "with the loops around it, it runs more than {} times, the limit; shorten it",
            kMaxSteps));
    }
    state.open_loops.push_back({.node = static_cast<std::uint32_t>(state.program.nodes.size()),
                                .body_executions = state.executions() * loop.count});
    add_node(state, Node::Kind::Loop, state.program.loops.size());
    state.program.loops.push_back(std::move(loop));
    state.program.max_depth =
        std::max(state.program.max_depth, static_cast<std::int32_t>(state.open_loops.size()));
}

void read_end(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{JsonKey{"record"}};
    const Place::Part part(state.place, "end");
    const JsonFields fields(state.place, record, kKeys);
    if (state.open_loops.empty()) {
        state.place.fail("no loop is open here; remove the record, or add its \"loop\"");
    }
    Program& program = state.program;
    const std::uint32_t loop = state.open_loops.back().node;
    state.open_loops.pop_back();
    program.nodes[loop].match = static_cast<std::uint32_t>(program.nodes.size());
    program.nodes.push_back(
        {.kind = Node::Kind::End, .index = program.nodes[loop].index, .match = loop});
}

void read_core(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{JsonKey{"record"}, JsonKey{"core"}};
    const Place::Part part(state.place, "core");
    const JsonFields fields(state.place, record, kKeys);
    const std::int32_t cores = state.program.header.cores;
    if (cores == 1) {
        state.place.fail("the header has no \"cores\"; write it there, or remove the record");
    }
    const std::int64_t core = fields["core"].integer(0, cores - 1);
    if (core != state.cores) {
        fields["core"].fail(
            fmt::format("{}, the next one is {}; count from 0 in order", core, state.cores));
    }
    check_no_loop_is_open(state);
    if (core > 0) {
        state.part.nodes = std::move(state.program.nodes);
        state.parts.push_back(std::move(state.part));
        state.program.nodes.clear();
    }
    state.part = {.first_buffer = state.program.buffers.size(),
                  .first_template = state.program.templates.size()};
    ++state.cores;
}

void read_alloc(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{JsonKey{"record"}, JsonKey{"buffer"}};
    const Place::Part part(state.place, "alloc");
    if (state.is_lowered()) {
        state.place.fail("a lowered trace addresses memory directly; remove the record");
    }
    const JsonFields fields(state.place, record, kKeys);
    const std::int64_t id = fields["buffer"].integer(0, kMaxInteger);
    if (id >= std::ssize(state.program.buffers)) {
        fields["buffer"].fail(fmt::format("{}, past the {} declared so far; declare it before",
                                          id,
                                          state.program.buffers.size()));
    }
    const auto index = static_cast<std::size_t>(id);
    if (index < state.part.first_buffer) {
        fields["buffer"].fail(fmt::format("{}, which belongs to another core", id));
    }
    const Buffer& buffer = state.program.buffers[index];
    if (buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output) {
        state.place.fail(
            fmt::format("buffer {} ({}) is an {}, which exists from the start; remove "
                        "the record",
                        id,
                        in_quotes(buffer.name),
                        name(buffer.kind)));
    }
    count_step(state);
    state.instances[index] += state.executions();
    add_node(state, Node::Kind::Alloc, index);
}

void read_run(ReaderState& state, JsonObject record) {
    Place::Part part(state.place, "run");
    const JsonFields fields = run_fields(state, record);
    const std::int64_t id = fields["template"].integer(0, kMaxInteger);
    if (id >= std::ssize(state.program.templates)) {
        fields["template"].fail(fmt::format("{}, past the {} declared so far; declare it before",
                                            id,
                                            state.program.templates.size()));
    }
    if (id < static_cast<std::int64_t>(state.part.first_template)) {
        fields["template"].fail(fmt::format("{}, which belongs to another core", id));
    }
    Run run;
    run.instruction = static_cast<std::uint32_t>(id);
    part.label(name(state.program.templates[run.instruction].op));
    read_positions(state, fields["at"], run);
    read_number(state, fields, run);
    read_edges(state, fields, run);
    if (fields.has("wait")) {
        read_waits(state, fields["wait"], run);
    }
    if (fields.has("signal")) {
        read_signals(state, fields["signal"], run);
    }
    count_step(state);
    state.part.instruction_count += state.executions();
    state.instructions += state.executions();
    add_node(state, Node::Kind::Run, state.program.runs.size());
    state.program.runs.push_back(std::move(run));
}

void read_summary(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{JsonKey{"record"}, JsonKey{"instructions"}};
    const Place::Part part(state.place, "summary");
    const JsonFields fields(state.place, record, kKeys);
    const Header& header = state.program.header;
    check_no_loop_is_open(state);
    const std::int64_t instructions = fields["instructions"].integer(0, kMaxSteps);
    if (instructions != state.instructions) {
        fields["instructions"].fail(
            fmt::format("{}, but the program above runs {}; the trace was "
                        "changed or cut, write it again",
                        instructions,
                        state.instructions));
    }
    check_instances_exist(state);
    if (state.cores != (header.cores == 1 ? 0 : header.cores)) {
        state.place.fail(
            fmt::format("the header says {} cores, but {} have a program; add \"core\"",
                        header.cores,
                        state.cores));
    }
    finish_cores(state);
    state.has_summary = true;
}

}  // namespace trnsim::program
