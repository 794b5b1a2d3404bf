// SPDX-License-Identifier: Apache-2.0
// Spelling of JSON values.
#include "json_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace trnsim::program {

JsonWriter& JsonWriter::key(std::string_view name) {
    value(name);
    text_ += ':';
    return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
    separate();
    fmt::format_to(std::back_inserter(text_), "{}", number);
    return *this;
}

JsonWriter& JsonWriter::value(std::string_view string) {
    constexpr unsigned char kFirstPrintable = 0x20;
    separate();
    text_ += '"';
    for (const char character : string) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            text_ += '\\';
            text_ += character;
        } else if (byte < kFirstPrintable) {
            fmt::format_to(std::back_inserter(text_), "\\u{:04x}", byte);
        } else {
            text_ += character;
        }
    }
    text_ += '"';
    return *this;
}

JsonWriter& JsonWriter::boolean(bool truth) {
    separate();
    text_ += truth ? "true" : "false";
    return *this;
}

JsonWriter& JsonWriter::real(double number) {
    if (std::isnan(number)) {
        return value("nan");
    }
    if (std::isinf(number)) {
        return value(number > 0.0 ? "inf" : "-inf");
    }
    separate();
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text_.append(digits.data(), end);
    if (number == 0.0 && std::signbit(number)) {
        text_ += ".0";  // "-0" would read back as the integer 0.
    }
    return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    text_ += bracket;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    text_ += bracket;
    return *this;
}

/// A comma, unless the value is the first of its object or array or follows its key.
void JsonWriter::separate() {
    if (text_.empty()) {
        return;
    }
    const char last = text_.back();
    if (last != '{' && last != '[' && last != ':') {
        text_ += ',';
    }
}

}  // namespace trnsim::program
