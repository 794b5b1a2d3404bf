// SPDX-License-Identifier: Apache-2.0
// Members of JSON objects, with a pointer in the message where one is missing or of another type.
#pragma once

#include "trnsim/base/error.hpp"
#include "trnsim/base/units.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace trnsim::report {

/// An object within a file, and where it is.
class JsonMembers {
public:
    /// `list` and `index` make the pointer of the object: "/instruction/7"; no list: the whole
    /// file. The file's name and the advice must outlive it.
    JsonMembers(const std::string& file,
                std::string_view advice,
                simdjson::dom::element element,
                std::string_view list = {},
                std::size_t index = 0)
        : file_(file), advice_(advice), list_(list), index_(index) {
        if (element.get(object_) != simdjson::SUCCESS) {
            refuse("", "is no object");
        }
    }

    /// \throws UserError if it is missing or of another type
    template <typename T>
    [[nodiscard]] T get(const char* key) const {
        const std::optional<T> value = find<T>(key);
        if (!value) {
            refuse(key, "is missing");
        }
        return *value;
    }

    /// The same, but nothing if it is missing or null.
    template <typename T>
    [[nodiscard]] std::optional<T> find(const char* key) const {
        simdjson::dom::element element;
        if (object_[key].get(element) != simdjson::SUCCESS || element.is_null()) {
            return std::nullopt;
        }
        T value{};
        if (element.get(value) != simdjson::SUCCESS) {
            refuse(key, fmt::format("is no {}", type_name<T>()));
        }
        return value;
    }

    /// Nanoseconds. \throws UserError if negative, or longer than days
    [[nodiscard]] Picoseconds time(const char* key) const {
        constexpr double kMostNanoseconds = 1e15;
        const auto value = get<double>(key);
        if (!(value >= 0.0 && value <= kMostNanoseconds)) {
            refuse(key,
                   fmt::format("is {}, but it is a time in nanoseconds from 0 to 1e15", value));
        }
        return from_nanoseconds(value);
    }

    /// An index. \throws UserError if it is not below `size`
    [[nodiscard]] std::size_t index(const char* key, std::size_t size) const {
        const auto value = get<std::uint64_t>(key);
        if (value >= size) {
            refuse(key, fmt::format("is {}, but there are {}", value, size));
        }
        return value;
    }

    [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
        const std::string place = list_.empty() ? "" : fmt::format("{}/{}", list_, index_);
        throw UserError(fmt::format("{}: {}{}{}: {}; {}",
                                    file_,
                                    place,
                                    key.empty() && !place.empty() ? "" : "/",
                                    key,
                                    what,
                                    advice_));
    }

private:
    template <typename T>
    static constexpr std::string_view type_name() {
        if constexpr (std::is_same_v<T, std::string_view>) {
            return "string";
        } else if constexpr (std::is_same_v<T, bool>) {
            return "boolean";
        } else if constexpr (std::is_same_v<T, simdjson::dom::array>) {
            return "list";
        } else if constexpr (std::is_same_v<T, simdjson::dom::object>) {
            return "object";
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
            return "whole number from 0 on";
        } else {
            return "number";
        }
    }

    const std::string& file_;
    std::string_view advice_;
    simdjson::dom::object object_;
    std::string_view list_;
    std::size_t index_;
};

}  // namespace trnsim::report
