// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of a chip file, made of the same fields as the reader.
#include "chip_reader.hpp"
#include "field_value.hpp"

#include <nlohmann/json.hpp>

namespace trnsim::spec {
namespace {

/// Members stay in the order in which they are added.
using Json = nlohmann::ordered_json;

Json text_schema(const char* description) {
    return {{"type", "string"}, {"minLength", 1}, {"description", description}};
}

/// Without a fraction where there is none.
Json bound(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json value_schema(const Field& field) {
    if (is_flag(field)) {
        return {{"type", "boolean"}};
    }
    if (is_name(field)) {
        return {{"enum", field.names}};
    }
    return {{"type", is_whole_number(field) ? "integer" : "number"},
            {"minimum", bound(field.range.least)},
            {"maximum", bound(field.range.most)}};
}

Json leaf_schema(const Field& field) {
    return {{"$ref", "#/$defs/leaf"},
            {"description", field.description},
            {"properties", {{"value", value_schema(field)}, {"unit", {{"const", field.unit}}}}}};
}

/// What all leaves have in common.
Json common_leaf_schema() {
    return {{"type", "object"},
            {"properties",
             {{"source", text_schema("Tags resolved in docs/sources.md.")},
              {"note", text_schema("What else there is to say.")}}},
            {"propertyNames", {{"enum", {"value", "unit", "source", "note"}}}},
            {"required", {"value", "unit", "source"}}};
}

Json object_schema() {
    return {{"type", "object"},
            {"properties", Json::object()},
            {"required", Json::array()},
            {"additionalProperties", false}};
}

/// The schema of `key` in the object of `schema`; a new one where it is not there yet.
Json& member(Json& schema, const std::string& key, Json fresh) {
    Json& properties = schema["properties"];
    if (!properties.contains(key)) {
        properties[key] = std::move(fresh);
        schema["required"].push_back(key);
    }
    return properties[key];
}

constexpr std::size_t kLineMax = 100;

/// Objects longer than a line are spread over several.
std::string text_of(const Json& json, std::size_t indent) {
    std::string line = json.dump(-1, ' ', false);
    if (!json.is_object() || line.size() + indent <= kLineMax) {
        return line;
    }
    const std::string margin(indent, ' ');
    std::string text = "{";
    for (const auto& [key, member] : json.items()) {
        text += (text.size() == 1 ? "\n  " : ",\n  ") + margin + Json(key).dump() + ": " +
                text_of(member, indent + 2);
    }
    return text + "\n" + margin + "}";
}

}  // namespace

std::string chip_schema() {
    Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "trnsim chip configuration"}};
    schema.update(object_schema());
    member(schema, "schema_version", {{"const", kSchemaVersion}});
    member(schema, "name", text_schema("The long name: trainium2."));
    member(schema, "short_name", text_schema("The short name: trn2."));
    ChipSpec spec;
    for (const Field& field : chip_fields(spec)) {
        Json* object = &schema;
        std::size_t start = 0;
        for (std::size_t dot = field.path.find('.'); dot != std::string::npos;
             dot = field.path.find('.', start)) {
            object = &member(*object, field.path.substr(start, dot - start), object_schema());
            start = dot + 1;
        }
        member(*object, field.path.substr(start), leaf_schema(field));
    }
    schema["$defs"] = {{"leaf", common_leaf_schema()}};
    return text_of(schema, 0) + "\n";
}

}  // namespace trnsim::spec
