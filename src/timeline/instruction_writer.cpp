// SPDX-License-Identifier: Apache-2.0
// A line of JSON for every slice.
#include "trnsim/timeline/instruction_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace trnsim::timeline {
namespace {

using nlohmann::json;

constexpr std::size_t kFlushedBytes = std::size_t{1} << 16;

/// A JSON string.
std::string in_json(std::string_view text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Nanoseconds, exactly: "1234.5".
std::string nanoseconds(Picoseconds time) {
    constexpr std::int64_t kPerNanosecond = 1000;
    std::string text = fmt::format("{}", time.value / kPerNanosecond);
    if (const std::int64_t rest = time.value % kPerNanosecond; rest != 0) {
        text += fmt::format(".{:03}", rest);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text;
}

std::string list(const std::vector<std::string>& lines) {
    return lines.empty() ? "[]" : fmt::format("[\n{}\n]", fmt::join(lines, ",\n"));
}

}  // namespace

InstructionWriter::InstructionWriter(std::ostream& output, std::string_view trnsim_version)
    : output_(output),
      buffer_(fmt::format("{{\"kind\":{},\n\"schema_version\":{},\n\"trnsim_version\":{},\n"
                          "\"instructions\":[",
                          in_json(kKind),
                          kSchemaVersion,
                          in_json(trnsim_version))) {}

TrackId InstructionWriter::add_track(std::string_view group, std::string_view name) {
    queues_.push_back(fmt::format(R"({{"core":{},"name":{}}})", in_json(group), in_json(name)));
    return static_cast<TrackId>(queues_.size() - 1);
}

TrackId InstructionWriter::add_counter(std::string_view /*group*/,
                                       std::string_view /*name*/,
                                       std::string_view /*unit*/) {
    return 0;
}

LabelId InstructionWriter::add_label(const Label& label) {
    templates_.push_back(
        fmt::format("{{\"opcode\":{},\"engine\":{},\"source\":{},\"operands\":{},\"elements\":{},"
                    "\"is_transpose\":{},\"bytes\":{},\"descriptors\":{},\"hbm_read_bytes\":{},"
                    "\"hbm_write_bytes\":{}}}",
                    in_json(label.name),
                    in_json(label.category),
                    in_json(label.source),
                    in_json(label.details),
                    label.elements,
                    label.is_transpose,
                    label.bytes,
                    label.descriptors,
                    label.hbm_read_bytes,
                    label.hbm_write_bytes));
    return static_cast<LabelId>(templates_.size() - 1);
}

void InstructionWriter::slice(const Slice& slice) {
    fmt::format_to(std::back_inserter(buffer_),
                   "{}\n{{\"queue\":{},\"order\":{},\"template\":{},\"start_ns\":{},"
                   "\"duration_ns\":{},\"occupied_ns\":{},\"waited_ns\":{},\"waited_for\":",
                   is_first_ ? "" : ",",
                   slice.track,
                   slice.order,
                   slice.label,
                   nanoseconds(slice.start),
                   nanoseconds(slice.latency),
                   nanoseconds(slice.occupied),
                   nanoseconds(slice.waited));
    is_first_ = false;
    if (slice.waited.value > 0 && slice.held_by) {
        fmt::format_to(std::back_inserter(buffer_),
                       R"({{"queue":{},"order":{}}}}})",
                       slice.held_by->track,
                       slice.held_by->order);
    } else {
        buffer_ += "null}";
    }
    if (buffer_.size() > kFlushedBytes) {
        flush();
    }
}

void InstructionWriter::finish(const Run& run) {
    std::vector<std::string> arguments;
    for (const std::string& argument : run.arguments) {
        arguments.push_back(in_json(argument));
    }
    buffer_ += fmt::format(
        "\n],\n\"templates\":{},\n\"queues\":{},\n\"chip\":{},\n\"kernel\":{},\n\"input\":{},\n"
        "\"arguments\":{},\n\"total_ns\":{},\n\"kernel_start_ns\":{},\n\"kernel_end_ns\":{}}}\n",
        list(templates_),
        list(queues_),
        in_json(run.chip),
        in_json(run.kernel),
        in_json(run.input),
        list(arguments),
        nanoseconds(run.total),
        nanoseconds(run.kernel_start),
        nanoseconds(run.kernel_end));
    flush();
}

void InstructionWriter::flush() {
    output_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
}

}  // namespace trnsim::timeline
