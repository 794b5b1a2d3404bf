// SPDX-License-Identifier: Apache-2.0
// Strict reading of a chip file: every key known, every field there, every unit and range right.
#include "chip_reader.hpp"

#include "field_value.hpp"
#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace trnsim::spec {
namespace {

bool is_source_tag(std::string_view tag) {
    const auto is_allowed = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    };
    return !tag.empty() && std::all_of(tag.begin(), tag.end(), is_allowed);
}

/// Tags separated by ", ", or what set() wrote.
bool is_source(std::string_view source) {
    while (true) {
        const std::size_t comma = source.find(", ");
        const std::string_view tag = source.substr(0, comma);
        if (!is_source_tag(tag) && tag != kSetByUser) {
            return false;
        }
        if (comma == std::string_view::npos) {
            return true;
        }
        source.remove_prefix(comma + 2);
    }
}

/// "/neuron_core/sbuf" of "neuron_core.sbuf" or "neuron_core.sbuf."
std::string pointer_to(std::string_view path) {
    if (path.ends_with('.')) {
        path.remove_suffix(1);
    }
    std::string pointer = "/" + std::string(path);
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    return pointer;
}

}  // namespace

ChipReader::ChipReader(std::string origin) {
    config_.origin = std::move(origin);
    fields_ = chip_fields(config_.spec);
    config_.leaves.resize(fields_.size());
    by_path_.reserve(fields_.size());
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const std::string_view path = fields_[i].path;
        by_path_[path] = i;
        for (std::size_t dot = path.find('.'); dot != std::string::npos;
             dot = path.find('.', dot + 1)) {
            groups_.insert(path.substr(0, dot + 1));
        }
    }
}

std::string ChipReader::at(std::string_view path) const {
    return config_.origin + ": " + pointer_to(path);
}

std::vector<std::string> ChipReader::keys_below(std::string_view group) const {
    std::vector<std::string> keys;
    if (group.empty()) {
        keys.assign(kPlainKeys.begin(), kPlainKeys.end());
    }
    for (const Field& field : fields_) {
        if (field.path.starts_with(group)) {
            std::string key = field.path.substr(group.size());
            key.resize(std::min(key.size(), key.find('.')));
            if (keys.empty() || keys.back() != key) {
                keys.push_back(std::move(key));
            }
        }
    }
    return keys;
}

ChipConfig ChipReader::read(JsonElement file) {
    JsonObject object;
    if (file.get(object) != simdjson::SUCCESS) {
        throw ConfigError(
            fmt::format("{}: a chip file is a JSON object; start it with {{\"schema_version\": {}",
                        config_.origin,
                        kSchemaVersion));
    }
    require_single_keys(object, "");
    read_header(object);
    read_group(object, "");
    require_all();
    check_relations(config_.spec, config_.origin);
    return std::move(config_);
}

void ChipReader::read_header(JsonObject file) {
    double version = 0.0;
    const simdjson::error_code code = file["schema_version"].get(version);
    if (code != simdjson::SUCCESS || version != kSchemaVersion) {
        throw ConfigError(
            fmt::format("{}: is {}, but this program reads version {}; convert the file",
                        at("schema_version"),
                        code == simdjson::NO_SUCH_FIELD ? "missing" : "another version",
                        kSchemaVersion));
    }
    config_.spec.name = read_text(file, "name", "");
    config_.spec.short_name = read_text(file, "short_name", "");
}

std::string_view ChipReader::read_text(JsonObject object,
                                       std::string_view key,
                                       std::string_view path) const {
    std::string_view text;
    const simdjson::error_code code = object[key].get(text);
    if (code != simdjson::SUCCESS || text.empty()) {
        throw ConfigError(
            fmt::format("{}: is {}, but must be a text of at least one character; write one",
                        at(fmt::format("{}{}{}", path, path.empty() ? "" : ".", key)),
                        code == simdjson::NO_SUCH_FIELD ? "missing"
                        : code != simdjson::SUCCESS     ? "no text"
                                                        : "empty"));
    }
    return text;
}

void ChipReader::require_single_keys(JsonObject object, std::string_view path) const {
    if (const auto key = repeated_key(object)) {
        throw ConfigError(fmt::format("{}: key {} occurs twice in {}; keep one",
                                      config_.origin,
                                      in_quotes(*key),
                                      path.empty() ? "the file" : pointer_to(path)));
    }
}

void ChipReader::read_group(JsonObject object, const std::string& group) {
    for (const auto [key, member] : object) {
        const std::string path = group + std::string(key);
        const bool is_one_key = key.find('.') == std::string_view::npos;
        if (const auto field = by_path_.find(path); is_one_key && field != by_path_.end()) {
            read_leaf(member, field->second);
        } else if (is_one_key && groups_.contains(path + ".")) {
            JsonObject inner;
            if (member.get(inner) != simdjson::SUCCESS) {
                throw ConfigError(fmt::format("{}: must be an object with the keys{}",
                                              at(path),
                                              listed(keys_below(path + "."))));
            }
            require_single_keys(inner, path);
            read_group(inner, path + ".");
        } else if (!group.empty() ||
                   std::find(kPlainKeys.begin(), kPlainKeys.end(), key) == kPlainKeys.end()) {
            throw ConfigError(fmt::format("{}: unknown key {} in {}{}",
                                          config_.origin,
                                          in_quotes(key),
                                          group.empty() ? "the file" : pointer_to(group),
                                          suggestion(key, keys_below(group))));
        }
    }
}

void ChipReader::read_leaf(JsonElement leaf, std::size_t index) {
    static const std::vector<std::string> keys{"value", "unit", "source", "note"};
    const Field& field = fields_[index];
    JsonObject object;
    if (leaf.get(object) != simdjson::SUCCESS) {
        throw ConfigError(
            fmt::format("{}: must be an object {{\"value\": ..., \"unit\": \"{}\", \"source\": "
                        "...}}; write one",
                        at(field.path),
                        field.unit));
    }
    require_single_keys(object, field.path);
    bool has_note = false;
    for (const auto [key, member] : object) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
            throw ConfigError(fmt::format("{}: unknown key {} in {}{}",
                                          config_.origin,
                                          in_quotes(key),
                                          pointer_to(field.path),
                                          suggestion(key, keys)));
        }
        has_note = has_note || key == "note";
    }
    const std::string_view unit = read_text(object, "unit", field.path);
    if (unit != field.unit) {
        throw ConfigError(fmt::format("{}: the unit is {}, but must be \"{}\"; convert the value",
                                      at(field.path),
                                      in_quotes(unit),
                                      field.unit));
    }
    const std::string_view source = read_text(object, "source", field.path);
    if (!is_source(source)) {
        throw ConfigError(fmt::format(
            "{}: the source is {}, but must be tags of docs/sources.md such as \"NKI-ARCH-V3\", "
            "separated by \", \"; name the document there and its tag here",
            at(field.path),
            in_quotes(source)));
    }
    JsonElement value;
    if (object["value"].get(value) != simdjson::SUCCESS) {
        throw ConfigError(
            fmt::format("{}/value: is missing; add {}", at(field.path), allowed(field)));
    }
    if (!assign(field, value)) {
        throw ConfigError(fmt::format("{}: {}", at(field.path), misfit(field, value)));
    }
    config_.leaves[index] = {
        .path = field.path,
        .value = value_text(value),
        .unit = std::string(unit),
        .source = std::string(source),
        .note = has_note ? std::string(read_text(object, "note", field.path)) : std::string(),
        .description = field.description};
}

void ChipReader::require_all() const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const Field& field = fields_[i];
        if (config_.leaves[i].path.empty()) {
            throw ConfigError(fmt::format(
                R"({}: is missing ({}); add {{"value": {}, "unit": "{}", "source": ...}})",
                at(field.path),
                field.description,
                allowed(field),
                field.unit));
        }
    }
}

void check_relations(const ChipSpec& spec, const std::string& origin) {
    const auto require = [&](bool holds, std::string_view what) {
        if (!holds) {
            throw ConfigError(fmt::format("{}: {}", origin, what));
        }
    };
    const NeuronCoreSpec& core = spec.neuron_core;
    const ClockGateSpec& gate = core.tensor_engine.clock_gate;
    require(
        core.sbuf.half_rate_stride_bytes > core.sbuf.full_rate_stride_bytes,
        "/neuron_core/sbuf/half_rate_stride_bytes: is not above full_rate_stride_bytes; raise it");
    require(
        core.sbuf.usable_partition_kib <= core.sbuf.partition_kib,
        "/neuron_core/sbuf/usable_partition_kib: is above partition_kib; lower it or raise that");
    require(
        gate.phase_cycles < gate.window_cycles,
        "/neuron_core/tensor_engine/clock_gate/phase_cycles: is not below window_cycles; lower it");
    require(
        core.vector_engine.transpose_regroup_cycles >= core.vector_engine.transpose_interval_cycles,
        "/neuron_core/vector_engine/transpose_regroup_cycles: is below "
        "transpose_interval_cycles; raise it");
    require(core.tensor_engine.tile_min <=
                std::min(core.tensor_engine.pe_rows, core.tensor_engine.pe_columns),
            "/neuron_core/tensor_engine/tile_min: is above the PE array; lower it");
    require(core.dge.none.available,
            "/neuron_core/dge/none/available: is false, but static descriptors are what every chip "
            "has; set it to true");
    require(std::has_single_bit(static_cast<std::uint64_t>(core.psum.bank_bytes)),
            "/neuron_core/psum/bank_bytes: is not a power of two, of which its parts are; choose "
            "one");
    require(spec.hbm.access_bytes <= spec.hbm.page_bytes,
            "/hbm/access_bytes: is above page_bytes; lower it");
}

}  // namespace trnsim::spec
