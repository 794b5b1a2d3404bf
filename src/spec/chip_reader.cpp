// SPDX-License-Identifier: Apache-2.0
// Strict reading of a chip file: every key known, every field there, every unit and range right.
#include "chip_reader.hpp"

#include "field_value.hpp"
#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
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

}  // namespace

ChipReader::ChipReader(std::string origin) {
    config_.origin = std::move(origin);
    fields_ = chip_fields(config_.spec);
    for (const Field& field : fields_) {
        by_path_[field.path] = &field;
        for (std::size_t dot = field.path.find('.'); dot != std::string::npos;
             dot = field.path.find('.', dot + 1)) {
            groups_.insert(field.path.substr(0, dot + 1));
        }
    }
}

std::string ChipReader::at(const std::string& pointer) const {
    return config_.origin + ": " + pointer;
}

std::vector<std::string> ChipReader::keys_below(const std::string& path) const {
    std::vector<std::string> keys;
    if (path.empty()) {
        keys.assign(kPlainKeys.begin(), kPlainKeys.end());
    }
    for (const Field& field : fields_) {
        if (field.path.compare(0, path.size(), path) == 0) {
            std::string key = field.path.substr(path.size());
            key.resize(std::min(key.size(), key.find('.')));
            if (keys.empty() || keys.back() != key) {
                keys.push_back(std::move(key));
            }
        }
    }
    return keys;
}

ChipConfig ChipReader::read(const Json& file) {
    if (!file.is_object()) {
        throw ConfigError(
            fmt::format("{}: a chip file is a JSON object; start it with {{\"schema_version\": {}",
                        config_.origin,
                        kSchemaVersion));
    }
    read_header(file);
    read_object(file, "", "");
    require_all();
    check_relations(config_.spec, config_.origin);
    for (const Field& field : fields_) {
        config_.leaves.push_back(std::move(leaves_.at(field.path)));
    }
    return std::move(config_);
}

void ChipReader::read_header(const Json& file) {
    const auto version = file.find("schema_version");
    if (version == file.end() || *version != kSchemaVersion) {
        throw ConfigError(
            fmt::format("{}: is {}, but this program reads version {}; convert the file",
                        at("/schema_version"),
                        version == file.end() ? "missing" : "another version",
                        kSchemaVersion));
    }
    config_.spec.name = read_text(file, "name", "");
    config_.spec.short_name = read_text(file, "short_name", "");
}

const std::string& ChipReader::read_text(const Json& object,
                                         const std::string& key,
                                         const std::string& pointer) const {
    const auto member = object.find(key);
    const auto* text = member == object.end() ? nullptr : member->get_ptr<const std::string*>();
    if (text == nullptr || text->empty()) {
        throw ConfigError(
            fmt::format("{}: is {}, but must be a text of at least one character; write one",
                        at(pointer_to(pointer, key)),
                        member == object.end() ? "missing"
                        : text == nullptr      ? "no text"
                                               : "empty"));
    }
    return *text;
}

void ChipReader::read_object(const Json& object,
                             const std::string& path,
                             const std::string& pointer) {
    if (!object.is_object()) {
        throw ConfigError(fmt::format(
            "{}: must be an object with the keys{}", at(pointer), listed(keys_below(path))));
    }
    for (const auto& [key, member] : object.items()) {
        const std::string member_pointer = pointer_to(pointer, key);
        const auto field = by_path_.find(path + key);
        if (field != by_path_.end()) {
            read_leaf(member, *field->second, member_pointer);
        } else if (key.find('.') == std::string::npos && groups_.contains(path + key + ".")) {
            read_object(member, path + key + ".", member_pointer);
        } else if (!path.empty() ||
                   std::find(kPlainKeys.begin(), kPlainKeys.end(), key) == kPlainKeys.end()) {
            throw ConfigError(fmt::format("{}: unknown key {} in {}{}",
                                          config_.origin,
                                          in_quotes(key),
                                          pointer.empty() ? "the file" : pointer,
                                          suggestion(key, keys_below(path))));
        }
    }
}

void ChipReader::read_leaf(const Json& leaf, const Field& field, const std::string& pointer) {
    static const std::vector<std::string> keys{"value", "unit", "source", "note"};
    if (!leaf.is_object()) {
        throw ConfigError(
            fmt::format("{}: must be an object {{\"value\": ..., \"unit\": \"{}\", \"source\": "
                        "...}}; write one",
                        at(pointer),
                        field.unit));
    }
    for (const auto& [key, member] : leaf.items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
            throw ConfigError(fmt::format("{}: unknown key {} in {}{}",
                                          config_.origin,
                                          in_quotes(key),
                                          pointer,
                                          suggestion(key, keys)));
        }
    }
    const std::string& unit = read_text(leaf, "unit", pointer);
    if (unit != field.unit) {
        throw ConfigError(fmt::format("{}: the unit is {}, but must be \"{}\"; convert the value",
                                      at(pointer),
                                      in_quotes(unit),
                                      field.unit));
    }
    const std::string& source = read_text(leaf, "source", pointer);
    if (!is_source(source)) {
        throw ConfigError(fmt::format(
            "{}: the source is {}, but must be tags of docs/sources.md such as \"NKI-ARCH-V3\", "
            "separated by \", \"; name the document there and its tag here",
            at(pointer),
            in_quotes(source)));
    }
    const auto value = leaf.find("value");
    if (value == leaf.end()) {
        throw ConfigError(fmt::format("{}/value: is missing; add {}", at(pointer), allowed(field)));
    }
    assign(field, *value, at(pointer));
    leaves_[field.path] = {
        .path = field.path,
        .value = value->dump(),
        .unit = unit,
        .source = source,
        .note = leaf.contains("note") ? read_text(leaf, "note", pointer) : std::string(),
        .description = field.description};
}

void ChipReader::require_all() const {
    for (const Field& field : fields_) {
        if (!leaves_.contains(field.path)) {
            std::string pointer = "/" + field.path;
            std::replace(pointer.begin(), pointer.end(), '.', '/');
            throw ConfigError(fmt::format(
                R"({}: is missing ({}); add {{"value": {}, "unit": "{}", "source": ...}})",
                at(pointer),
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
