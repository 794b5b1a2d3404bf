// SPDX-License-Identifier: Apache-2.0
// Canonical JSON text: one spelling for every value, no spaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::program {

/// Builds one line of JSON; commas come by themselves.
class JsonWriter {
public:
    /// The text so far; clear() begins the next line.
    [[nodiscard]] const std::string& text() const { return text_; }
    void clear() { text_.clear(); }

    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(std::string_view name);

    JsonWriter& value(std::int64_t number);
    JsonWriter& value(std::string_view string);
    JsonWriter& boolean(bool truth);

    /// The shortest text that reads back as the same number; "inf", "-inf" and "nan" as strings.
    JsonWriter& real(double number);

    /// A key with its value.
    JsonWriter& member(std::string_view name, std::int64_t number) {
        return key(name).value(number);
    }
    JsonWriter& member(std::string_view name, std::string_view string) {
        return key(name).value(string);
    }

private:
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);
    void separate();

    std::string text_;
};

}  // namespace trnsim::program
