// SPDX-License-Identifier: Apache-2.0
// Checks a JSON value against its field and stores it.
#include "field_value.hpp"

#include "message_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

namespace trnsim::spec {
namespace {

/// The value, short enough for a message.
std::string shown(JsonElement value) {
    std::string_view text;
    return value.get(text) == simdjson::SUCCESS ? in_quotes(text) : value_text(value);
}

std::string number_text(double value) {
    return fmt::format("{}", value);
}

void store(const FieldTarget& target, double number) {
    std::visit(
        [&](auto* value) {
            using Value = std::remove_pointer_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::int64_t>) {
                *value = static_cast<std::int64_t>(number);
            } else if constexpr (std::is_same_v<Value, double>) {
                *value = number;
            } else if constexpr (std::is_same_v<Value, Cycles>) {
                *value = Cycles{static_cast<std::int64_t>(number)};
            } else if constexpr (std::is_same_v<Value, Picoseconds>) {
                *value = from_nanoseconds(number);
            } else if constexpr (std::is_same_v<Value, Gigahertz>) {
                *value = Gigahertz{number};
            } else if constexpr (std::is_same_v<Value, GigabytesPerSecond>) {
                *value = GigabytesPerSecond{number};
            } else if constexpr (std::is_same_v<Value, NeuronCoreVersion>) {
                *value = static_cast<NeuronCoreVersion>(static_cast<std::uint8_t>(number));
            }
        },
        target);
}

}  // namespace

bool is_flag(const Field& field) {
    return std::holds_alternative<bool*>(field.target);
}

bool is_name(const Field& field) {
    return std::holds_alternative<std::string*>(field.target);
}

bool is_whole_number(const Field& field) {
    return std::holds_alternative<std::int64_t*>(field.target) ||
           std::holds_alternative<Cycles*>(field.target) ||
           std::holds_alternative<NeuronCoreVersion*>(field.target);
}

std::string allowed(const Field& field) {
    if (is_flag(field)) {
        return "true or false";
    }
    if (is_name(field)) {
        std::string list;
        for (const std::string& name : field.names) {
            list += (list.empty() ? "" : " or ") + in_quotes(name);
        }
        return list;
    }
    return fmt::format("{}number from {} to {}{}",
                       is_whole_number(field) ? "a whole " : "a ",
                       number_text(field.range.least),
                       number_text(field.range.most),
                       field.unit == "1" ? "" : " " + field.unit);
}

std::string misfit(const Field& field, JsonElement value) {
    return fmt::format(
        "the value is {}, but allowed is {}; correct it", shown(value), allowed(field));
}

bool assign(const Field& field, JsonElement value) {
    if (is_flag(field)) {
        return value.get(*std::get<bool*>(field.target)) == simdjson::SUCCESS;
    }
    if (is_name(field)) {
        std::string_view name;
        if (value.get(name) != simdjson::SUCCESS ||
            std::find(field.names.begin(), field.names.end(), name) == field.names.end()) {
            return false;
        }
        *std::get<std::string*>(field.target) = name;
        return true;
    }
    double number = 0.0;
    if (value.get(number) != simdjson::SUCCESS ||
        (is_whole_number(field) && std::floor(number) != number) ||
        !(number >= field.range.least && number <= field.range.most)) {
        return false;
    }
    store(field.target, number);
    return true;
}

}  // namespace trnsim::spec
