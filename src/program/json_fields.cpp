// SPDX-License-Identifier: Apache-2.0
// Checking the keys of an object.
#include "json_fields.hpp"

#include <fmt/format.h>

#include <cassert>
#include <vector>

namespace trnsim::program {
namespace {

/// Keys are short, and most differ in their first character: comparing memory is a call.
bool is_same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && (a.empty() || a.front() == b.front()) && a == b;
}

}  // namespace

JsonFields::JsonFields(const Place& place, JsonObject object, std::span<const JsonKey> keys)
    : place_(place), keys_(keys) {
    assert(keys.size() <= kMaxKeys);
    for (const auto [key, value] : object) {
        const std::size_t found = find(key);
        if (found == keys_.size()) {
            fail_unknown(key);
        }
        if ((present_ >> found & 1U) != 0) {
            place_.fail(fmt::format("key {} is given twice; keep one", in_quotes(key)));
        }
        present_ |= 1U << found;
        values_[found] = value;
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        if (keys_[i].required && (present_ >> i & 1U) == 0) {
            place_.fail(fmt::format("key {} is missing; add it", in_quotes(keys_[i].name)));
        }
    }
}

bool JsonFields::has(std::string_view key) const {
    const std::size_t found = find(key);
    assert(found < keys_.size());
    return (present_ >> found & 1U) != 0;
}

JsonValue JsonFields::operator[](std::string_view key) const {
    const std::size_t found = find(key);
    assert(found < keys_.size() && (present_ >> found & 1U) != 0);
    return {place_, keys_[found].name, values_[found]};
}

std::size_t JsonFields::find(std::string_view key) const {
    std::size_t i = 0;
    while (i < keys_.size() && !is_same(keys_[i].name, key)) {
        ++i;
    }
    return i;
}

void JsonFields::fail_unknown(std::string_view key) const {
    std::vector<std::string_view> names;
    for (const JsonKey& each : keys_) {
        names.push_back(each.name);
    }
    place_.fail(fmt::format("unknown key {}{}",
                            in_quotes(key),
                            keys_.empty() ? "; none is allowed" : suggestion(key, names)));
}

}  // namespace trnsim::program
