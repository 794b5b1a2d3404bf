// SPDX-License-Identifier: Apache-2.0
// Loading, overriding and writing chip configurations.
#include "trnsim/spec/chip_config.hpp"

#include "chip_reader.hpp"
#include "config_files.hpp"
#include "field_value.hpp"
#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace trnsim::spec {
namespace {

constexpr int kIndent = 2;

std::string leaf_json(const ChipConfig::Leaf& leaf) {
    const std::string note = leaf.note.empty() ? "" : R"(, "note": )" + json_string(leaf.note);
    return fmt::format(R"({{"value": {}, "unit": {}, "source": {}{}}})",
                       leaf.value,
                       json_string(leaf.unit),
                       json_string(leaf.source),
                       note);
}

std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> parts;
    std::size_t start = 0;
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', start)) {
        parts.push_back(path.substr(start, dot - start));
        start = dot + 1;
    }
    parts.push_back(path.substr(start));
    return parts;
}

/// The value of an assignment: JSON, or a bare word as a text.
JsonElement value_of(JsonParser& parser, const std::string& text) {
    JsonElement value;
    if (parser.parse(text).get(value) == simdjson::SUCCESS) {
        return value;
    }
    // A text in the same parser: a bare word is not JSON only for lack of quotation marks.
    return parse_json(parser, json_string(text), "--set");
}

}  // namespace

ChipConfig load_chip(const std::string& name_or_path) {
    const std::string path = find_chip_file(name_or_path);
    ChipConfig config = parse_chip(read_config_file(path), path);
    config.is_as_shipped = is_shipped(path);
    return config;
}

ChipConfig parse_chip(std::string_view text, const std::string& origin) {
    JsonParser parser;
    return ChipReader(origin).read(parse_json(parser, text, origin));
}

namespace {

/// Overrides a leaf, whatever the others are; nothing is set where it has that value.
void assign_leaf(ChipConfig& config, std::string_view assignment) {
    const std::string where = "--set " + std::string(assignment);
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos) {
        throw ConfigError(where + ": has no \"=\"; write path=value");
    }
    const std::string path(assignment.substr(0, equals));
    const std::vector<Field> fields = chip_fields(config.spec);
    const auto field = std::find_if(
        fields.begin(), fields.end(), [&](const Field& each) { return each.path == path; });
    if (field == fields.end()) {
        std::vector<std::string> paths;
        paths.reserve(fields.size());
        for (const Field& each : fields) {
            paths.push_back(each.path);
        }
        throw ConfigError(fmt::format(
            "{}: the chip has no {}{}", where, in_quotes(path), path_suggestion(path, paths)));
    }
    JsonParser parser;
    const JsonElement value = value_of(parser, std::string(assignment.substr(equals + 1)));
    if (!assign(*field, value)) {
        throw ConfigError(fmt::format("{}: {}", where, misfit(*field, value)));
    }
    ChipConfig::Leaf& leaf = config.leaves.at(static_cast<std::size_t>(field - fields.begin()));
    if (std::string text = value_text(value); leaf.value != text) {
        leaf.value = std::move(text);
        leaf.source = kSetByUser;
        leaf.note.clear();
        config.is_as_shipped = false;
    }
}

}  // namespace

void set(ChipConfig& config, std::string_view assignment) {
    set(config, std::vector{std::string(assignment)});
}

void set(ChipConfig& config, const std::vector<std::string>& assignments) {
    if (assignments.empty()) {
        return;
    }
    ChipConfig changed = config;
    for (const std::string& assignment : assignments) {
        assign_leaf(changed, assignment);
    }
    check_relations(changed.spec, fmt::format("--set {}", fmt::join(assignments, " --set ")));
    config = std::move(changed);
}

std::string to_json(const ChipConfig& config) {
    std::string text =
        fmt::format("{{\n  \"schema_version\": {},\n  \"name\": {},\n  \"short_name\": {}",
                    kSchemaVersion,
                    json_string(config.spec.name),
                    json_string(config.spec.short_name));
    std::vector<std::string> open;  // Groups around the current leaf.
    const auto line = [&](std::size_t depth, const std::string& content) {
        text += "\n" + std::string((depth + 1) * kIndent, ' ') + content;
    };
    for (const ChipConfig::Leaf& leaf : config.leaves) {
        const std::vector<std::string> parts = split(leaf.path);
        const auto [inner, outer] =
            std::mismatch(open.begin(), open.end(), parts.begin(), parts.end() - 1);
        while (open.end() != inner) {
            open.pop_back();
            line(open.size(), "}");
        }
        text += ",";
        for (std::size_t i = open.size(); i + 1 < parts.size(); ++i) {
            line(i, json_string(parts[i]) + ": {");
            open.push_back(parts[i]);
        }
        line(open.size(), json_string(parts.back()) + ": " + leaf_json(leaf));
    }
    while (!open.empty()) {
        open.pop_back();
        line(open.size(), "}");
    }
    return text + "\n}\n";
}

}  // namespace trnsim::spec
