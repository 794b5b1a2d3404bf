// SPDX-License-Identifier: Apache-2.0
// One JSON value of a record, read strictly: its type and range are checked where it is used.
#pragma once

#include "place.hpp"
#include "suggestion.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace trnsim::program {

using JsonElement = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

/// A value and what to call it in a message: its key, and its number if it is an array's entry.
class JsonValue {
public:
    static constexpr std::int64_t kNoEntry = -1;

    JsonValue(const Place& place,
              std::string_view key,
              JsonElement element,
              std::int64_t entry = kNoEntry)
        : place_(&place), key_(key), element_(element), entry_(entry) {}

    /// Each throws TraceError if the value is of another type or out of range.
    [[nodiscard]] std::int64_t integer(std::int64_t lowest, std::int64_t highest) const;
    [[nodiscard]] double number() const;
    [[nodiscard]] bool boolean() const;
    [[nodiscard]] std::string_view text() const;
    [[nodiscard]] std::string_view nonempty_text() const;
    [[nodiscard]] JsonArray array() const;
    [[nodiscard]] JsonObject object() const;
    [[nodiscard]] bool is_object() const { return element_.is_object(); }
    [[nodiscard]] bool is_text() const { return element_.is_string(); }

    /// The value as a name that `from_name` knows; `last` is the enumeration's last value.
    template <typename Enum>
    [[nodiscard]] Enum choice(std::optional<Enum> (*from_name)(std::string_view), Enum last) const {
        const std::string_view given = text();
        const std::optional<Enum> found = from_name(given);
        if (!found) {
            fail(fmt::format(
                "{}, an unknown name{}", in_quotes(given), suggestion(given, names_up_to(last))));
        }
        return *found;
    }

    /// A value within this one, called as this one in messages.
    [[nodiscard]] JsonValue entry(JsonElement element) const {
        return {*place_, key_, element, entry_};
    }

    /// Calls `visit(entry value)` for each entry of the array.
    template <typename Visit>
    void for_each(Visit visit) const {
        std::int64_t entry = 0;
        for (const JsonElement element : array()) {
            visit(JsonValue(*place_, key_, element, entry));
            ++entry;
        }
    }

    /// \throws TraceError: "key" is `message`
    [[noreturn]] void fail(std::string_view message) const;

private:
    [[noreturn]] void fail_type(std::string_view wanted) const;

    const Place* place_;
    std::string_view key_;
    JsonElement element_;
    std::int64_t entry_;
};

}  // namespace trnsim::program
