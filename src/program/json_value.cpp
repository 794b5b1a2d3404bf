// SPDX-License-Identifier: Apache-2.0
// Types and ranges of JSON values.
#include "json_value.hpp"

namespace trnsim::program {
namespace {

using Type = simdjson::dom::element_type;

std::string_view type_name(Type type) {
    switch (type) {
        case Type::ARRAY:
            return "an array";
        case Type::OBJECT:
            return "an object";
        case Type::INT64:
        case Type::UINT64:
            return "an integer";
        case Type::DOUBLE:
            return "a number with a fraction or exponent";
        case Type::STRING:
            return "a string";
        case Type::BOOL:
            return "a boolean";
        case Type::NULL_VALUE:
            break;
    }
    return "null";
}

}  // namespace

std::int64_t JsonValue::integer(std::int64_t lowest, std::int64_t highest) const {
    std::int64_t value = 0;
    if (element_.get(value) == simdjson::SUCCESS) {
        if (value < lowest || value > highest) {
            fail(fmt::format("{}, allowed is {} to {}", value, lowest, highest));
        }
        return value;
    }
    if (element_.is_uint64()) {
        fail(fmt::format("beyond 2^63, allowed is {} to {}", lowest, highest));
    }
    fail_type("an integer");
}

double JsonValue::number() const {
    double value = 0.0;
    if (element_.get(value) != simdjson::SUCCESS) {
        fail_type("a number");
    }
    return value;
}

bool JsonValue::boolean() const {
    bool value = false;
    if (element_.get(value) != simdjson::SUCCESS) {
        fail_type("true or false");
    }
    return value;
}

std::string_view JsonValue::text() const {
    std::string_view value;
    if (element_.get(value) != simdjson::SUCCESS) {
        fail_type("a string");
    }
    return value;
}

std::string_view JsonValue::nonempty_text() const {
    const std::string_view value = text();
    if (value.empty()) {
        fail("empty; write at least one character");
    }
    return value;
}

JsonArray JsonValue::array() const {
    JsonArray value;
    if (element_.get(value) != simdjson::SUCCESS) {
        fail_type("an array");
    }
    return value;
}

JsonObject JsonValue::object() const {
    JsonObject value;
    if (element_.get(value) != simdjson::SUCCESS) {
        fail_type("an object");
    }
    return value;
}

void JsonValue::fail(std::string_view message) const {
    if (entry_ == kNoEntry) {
        place_->fail(fmt::format("{} is {}", in_quotes(key_), message));
    }
    place_->fail(fmt::format("{}, entry {}, is {}", in_quotes(key_), entry_, message));
}

void JsonValue::fail_type(std::string_view wanted) const {
    fail(fmt::format("{}; write {}", type_name(element_.type()), wanted));
}

}  // namespace trnsim::program
