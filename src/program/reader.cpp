// SPDX-License-Identifier: Apache-2.0
// Reading a trace: lines to JSON, JSON to records, records in their order.
#include "trnsim/program/reader.hpp"

#include "line_source.hpp"
#include "records.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

namespace trnsim::program {
namespace {

struct RecordKind {
    std::string_view name;
    void (*read)(ReaderState&, JsonObject);
};

constexpr std::array kRecordKinds{
    RecordKind{"run", read_run},
    RecordKind{"alloc", read_alloc},
    RecordKind{"loop", read_loop},
    RecordKind{"end", read_end},
    RecordKind{"header", read_header},
    RecordKind{"file", read_file_name},
    RecordKind{"buffer", read_buffer},
    RecordKind{"template", read_template},
    RecordKind{"note", read_note},
    RecordKind{"core", read_core},
    RecordKind{"summary", read_summary},
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view json_fault(simdjson::error_code code) {
    switch (code) {
        case simdjson::UTF8_ERROR:
            return "the line is not UTF-8; save the file as UTF-8";
        case simdjson::UNCLOSED_STRING:
            return "a string is not closed; add the quotation mark";
        case simdjson::UNESCAPED_CHARS:
            return "a string holds a control character; write it as \\u00XX";
        case simdjson::STRING_ERROR:
            return "a string holds an unknown escape or half a surrogate pair; correct it";
        case simdjson::NUMBER_ERROR:
            return "a number is malformed or beyond 64 bits; correct it";
        case simdjson::DEPTH_ERROR:
            return "the JSON is nested too deeply; no record is";
        default:
            return "the line is not one JSON value; write one record, complete, on a line";
    }
}

JsonObject parse(simdjson::dom::parser& parser, const Place& place, std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
        place.fail("the line is empty, each holds one record; remove it");
    }
    if (line.starts_with(kByteOrderMark)) {
        place.fail("the line begins with a byte order mark; save the file as UTF-8 without one");
    }
    JsonElement element;
    const auto code = parser.parse(line.data(), line.size(), false).get(element);
    if (code == simdjson::MEMALLOC) {
        throw std::bad_alloc();
    }
    if (code != simdjson::SUCCESS) {
        const bool is_json = line[begin] == '{' || line[begin] == '[';
        place.fail(is_json || code == simdjson::UTF8_ERROR
                       ? json_fault(code)
                       : "the line does not begin with a brace, as every record does; correct it, "
                         "or name a trace");
    }
    JsonObject object;
    if (element.get(object) != simdjson::SUCCESS) {
        place.fail("the line is JSON but not an object; write {\"record\":…}");
    }
    return object;
}

const RecordKind& kind_of(const Place& place, JsonObject object) {
    const auto first = object.begin();
    if (first == object.end() || first.key() != "record") {
        place.fail("the first key is not \"record\"; put it first");
    }
    const std::string_view given = JsonValue(place, "record", first.value()).text();
    for (const RecordKind& kind : kRecordKinds) {
        if (kind.name == given) {
            return kind;
        }
    }
    std::array<std::string_view, kRecordKinds.size()> names{};
    std::ranges::transform(kRecordKinds, names.begin(), &RecordKind::name);
    place.fail(fmt::format("unknown record {}{}", in_quotes(given), suggestion(given, names)));
}

void check_order(const ReaderState& state, const RecordKind& kind) {
    if (state.has_summary) {
        state.place.fail("a record after the summary, which is the last; remove it");
    }
    if (state.has_header == (kind.read == read_header)) {
        state.place.fail(state.has_header ? "a second header; a trace has one"
                                          : "the first record is not a header; begin with one");
    }
    const bool is_of_all = kind.read == read_core || kind.read == read_header ||
                           kind.read == read_file_name || kind.read == read_note ||
                           kind.read == read_summary;
    if (state.program.header.cores > 1 && state.cores == 0 && !is_of_all) {
        state.place.fail("several cores, but none has begun; write a \"core\" record first");
    }
}

}  // namespace

Program read(std::istream& input, const std::string& name) {
    ReaderState state(name);
    LineSource lines(input, state.place);
    simdjson::dom::parser parser;
    while (const auto line = lines.next()) {
        const JsonObject object = parse(parser, state.place, *line);
        const RecordKind& kind = kind_of(state.place, object);
        check_order(state, kind);
        kind.read(state, object);
    }
    if (!state.has_summary) {
        state.place.fail(state.has_header
                             ? "the file ends without a summary: it is truncated; write it again"
                             : "the file is empty; a trace begins with a header");
    }
    return std::move(state.program);
}

Program read_file(const std::string& path) {
    if (path == "-") {
        return read(std::cin, "standard input");
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        throw TraceError(fmt::format("{}: is a directory; name a trace in it", path));
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        const std::error_code reason(errno, std::generic_category());
        throw TraceError(fmt::format("{}: cannot be opened: {}; check the name and the permissions",
                                     path,
                                     reason.message()));
    }
    return read(file, path);
}

}  // namespace trnsim::program
