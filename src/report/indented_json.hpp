// SPDX-License-Identifier: Apache-2.0
// JSON text for people and programs, written from front to back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace trnsim::report {

/// Spells values byte for byte as nlohmann::ordered_json::dump(1) does, bytes that are no UTF-8
/// replaced, without a tree of them: a result has a thousand, and a short run takes about as long.
/// Commas and indents come by themselves.
class IndentedJson {
public:
    /// The text so far.
    [[nodiscard]] const std::string& text() const { return text_; }

    /// An object; `members()` writes what is in it.
    template <typename F>
    void object(F&& members) {
        open('{');
        members();
        close('}');
    }

    /// An array of what `element(item)` writes for each item.
    template <typename Range, typename F>
    void array(const Range& items, F&& element) {
        open('[');
        for (const auto& item : items) {
            element(item);
        }
        close(']');
    }

    /// Begins a member: its value comes next.
    IndentedJson& key(std::string_view name);

    /// A whole member.
    template <typename T>
    void member(std::string_view name, const T& item) {
        key(name).value(item);
    }

    /// A string, boolean or number; null is a number that is not finite.
    template <typename T>
    void value(const T& item) {
        if constexpr (std::is_convertible_v<T, std::string_view>) {
            string(item);
        } else if constexpr (std::is_same_v<T, bool>) {
            raw(item ? "true" : "false");
        } else if constexpr (std::is_floating_point_v<T>) {
            real(item);
        } else {
            raw(std::to_string(item));
        }
    }

    /// A value that is JSON already, without indents or with its own from 0 on.
    void raw(std::string_view json);

private:
    void open(char bracket);
    void close(char bracket);
    /// What stands between a value and the one before it, or its key.
    void separate();
    void begin_line();
    void string(std::string_view characters);
    void real(double number);

    std::string text_;
    std::size_t depth_ = 0;
    bool is_first_ = true;      ///< In its object or array.
    bool follows_key_ = false;  ///< The next value.
};

}  // namespace trnsim::report
