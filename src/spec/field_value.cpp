// SPDX-License-Identifier: Apache-2.0
// Checks a JSON value against its field and stores it.
#include "field_value.hpp"

#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

namespace trnsim::spec {
namespace {

/// The JSON text of a value, short enough for a message.
std::string shown(const Json& value) {
    if (value.is_object() || value.is_array()) {
        return value.is_object() ? "an object" : "an array";
    }
    return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.dump();
}

std::string number_text(double value) {
    return fmt::format("{}", value);
}

[[noreturn]] void fail(const Field& field, const Json& value, const std::string& where) {
    throw ConfigError(fmt::format(
        "{}: the value is {}, but allowed is {}; correct it", where, shown(value), allowed(field)));
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

void assign(const Field& field, const Json& value, const std::string& where) {
    if (is_flag(field)) {
        if (!value.is_boolean()) {
            fail(field, value, where);
        }
        *std::get<bool*>(field.target) = value.get<bool>();
        return;
    }
    if (is_name(field)) {
        const auto* name = value.get_ptr<const Json::string_t*>();
        if (name == nullptr ||
            std::find(field.names.begin(), field.names.end(), *name) == field.names.end()) {
            fail(field, value, where);
        }
        *std::get<std::string*>(field.target) = *name;
        return;
    }
    if (!value.is_number()) {
        fail(field, value, where);
    }
    const auto number = value.get<double>();
    if (is_whole_number(field) && std::floor(number) != number) {
        fail(field, value, where);
    }
    if (!(number >= field.range.least && number <= field.range.most)) {
        fail(field, value, where);
    }
    store(field.target, number);
}

}  // namespace trnsim::spec
