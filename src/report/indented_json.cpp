// SPDX-License-Identifier: Apache-2.0
// Spelling of values, as nlohmann::json's where that is not obvious.
#include "indented_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace trnsim::report {
namespace {

using Json = nlohmann::ordered_json;

/// By character: whether it stands for itself, whatever is around it.
constexpr std::array<bool, 256> kIsPlain = [] {
    std::array<bool, 256> plain{};
    for (std::size_t character = ' '; character <= '~'; ++character) {
        plain[character] = character != '"' && character != '\\';
    }
    return plain;
}();

bool is_plain(char character) {
    return kIsPlain[static_cast<unsigned char>(character)];
}

}  // namespace

IndentedJson& IndentedJson::key(std::string_view name) {
    string(name);
    text_ += ": ";
    follows_key_ = true;
    return *this;
}

void IndentedJson::raw(std::string_view json) {
    separate();
    for (const char character : json) {
        if (character == '\n') {
            begin_line();
        } else {
            text_ += character;
        }
    }
}

void IndentedJson::string(std::string_view characters) {
    separate();
    if (std::ranges::all_of(characters, is_plain)) {
        text_ += '"';
        text_ += characters;
        text_ += '"';
    } else {
        text_ += Json(characters).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
}

void IndentedJson::real(double number) {
    separate();
    if (!std::isfinite(number)) {
        text_ += "null";
        return;
    }
    std::array<char, 64> digits{};
    char* const begin = digits.data();
    text_.append(begin, nlohmann::detail::to_chars(begin, begin + digits.size(), number));
}

void IndentedJson::open(char bracket) {
    separate();
    text_ += bracket;
    ++depth_;
    is_first_ = true;
}

void IndentedJson::close(char bracket) {
    --depth_;
    if (!is_first_) {
        begin_line();
    }
    text_ += bracket;
    is_first_ = false;
}

void IndentedJson::separate() {
    if (!follows_key_ && depth_ > 0) {
        if (!is_first_) {
            text_ += ',';
        }
        begin_line();
    }
    is_first_ = false;
    follows_key_ = false;
}

void IndentedJson::begin_line() {
    text_ += '\n';
    text_.append(depth_, ' ');
}

}  // namespace trnsim::report
