// SPDX-License-Identifier: Apache-2.0
// Strict JSON: UTF-8, no duplicate keys, errors with line and column.
#include "json_text.hpp"

#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace trnsim::spec {
namespace {

constexpr std::size_t kDepthMax = 32;

/// "file:3:7", both from 1, of the byte at `offset`.
std::string place(std::string_view text, std::size_t offset, const std::string& origin) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column =
        before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    return fmt::format("{}:{}:{}", origin, line, column);
}

/// First bytes of a UTF-8 sequence, what its second byte may be, and its length. (RFC 3629,
/// section 4.)
struct Utf8Row {
    unsigned first_least;
    unsigned first_most;
    unsigned second_least;
    unsigned second_most;
    std::size_t length;
};
constexpr std::array kUtf8{Utf8Row{0x00, 0x7f, 0, 0, 1},
                           Utf8Row{0xc2, 0xdf, 0x80, 0xbf, 2},
                           Utf8Row{0xe0, 0xe0, 0xa0, 0xbf, 3},
                           Utf8Row{0xe1, 0xec, 0x80, 0xbf, 3},
                           Utf8Row{0xed, 0xed, 0x80, 0x9f, 3},
                           Utf8Row{0xee, 0xef, 0x80, 0xbf, 3},
                           Utf8Row{0xf0, 0xf0, 0x90, 0xbf, 4},
                           Utf8Row{0xf1, 0xf3, 0x80, 0xbf, 4},
                           Utf8Row{0xf4, 0xf4, 0x80, 0x8f, 4}};

/// Length of the UTF-8 sequence at the start of `text`, or 0 if there is none.
std::size_t utf8_length(std::string_view text) {
    const auto in = [&](std::size_t i, unsigned least, unsigned most) {
        const auto byte = static_cast<unsigned char>(text[i]);
        return byte >= least && byte <= most;
    };
    const auto* row = std::find_if(kUtf8.begin(), kUtf8.end(), [&](const Utf8Row& each) {
        return in(0, each.first_least, each.first_most);
    });
    if (row == kUtf8.end() || row->length > text.size()) {
        return 0;
    }
    if (row->length > 1 && !in(1, row->second_least, row->second_most)) {
        return 0;
    }
    for (std::size_t i = 2; i < row->length; ++i) {
        if (!in(i, 0x80, 0xbf)) {
            return 0;
        }
    }
    return row->length;
}

void check_utf8(std::string_view text, const std::string& origin) {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = utf8_length(text.substr(i));
        if (length == 0) {
            throw ConfigError(fmt::format("{}: byte 0x{:02x} is not UTF-8; save the file as UTF-8",
                                          place(text, i, origin),
                                          static_cast<unsigned char>(text[i])));
        }
        i += length;
    }
}

/// What the parser calls for each piece of a text, from front to back: puts the value together.
class JsonBuilder {
public:
    JsonBuilder(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

    [[nodiscard]] Json take() { return std::move(whole_); }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(Json::number_integer_t value) { return add(value); }
    bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
    bool number_float(Json::number_float_t value, const std::string& /*as_written*/) {
        return add(value);
    }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(Json::binary_t& value) { return add(std::move(value)); }

    bool start_object(std::size_t /*members*/) {
        open(Json::value_t::object);
        open_.back()->get_ref<Json::object_t&>().reserve(kLeafMembers);
        return true;
    }
    bool start_array(std::size_t /*elements*/) { return open(Json::value_t::array); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(const std::string& key) {
        const auto [member, is_new] = open_.back()->emplace(key, nullptr);
        if (!is_new) {
            throw ConfigError(fmt::format(
                "{}: key {} occurs twice in one object; keep one", origin_, in_quotes(key)));
        }
        member_ = &*member;
        return true;
    }

    bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& what) {
        if (dynamic_cast<const Json::out_of_range*>(&what) != nullptr) {
            throw ConfigError(
                fmt::format("{}: a number is too large for a double; give a smaller one", origin_));
        }
        throw ConfigError(fmt::format("{}: this is not JSON; correct it here or just before",
                                      place(text_, byte == 0 ? 0 : byte - 1, origin_)));
    }

private:
    /// Of a number: its value, unit, source and note.
    static constexpr std::size_t kLeafMembers = 4;

    /// Where the next value goes: the whole, an element of the innermost array, or a member that
    /// key() has made.
    Json& place_of_next() {
        if (open_.empty()) {
            return whole_;
        }
        Json& around = *open_.back();
        return around.is_array() ? around.emplace_back() : *member_;
    }

    template <typename Value>
    bool add(Value&& value) {
        place_of_next() = std::forward<Value>(value);
        return true;
    }

    bool open(Json::value_t kind) {
        if (open_.size() > kDepthMax) {
            throw ConfigError(fmt::format(
                "{}: nested deeper than {} levels; a chip file has at most 5", origin_, kDepthMax));
        }
        open_.push_back(&(place_of_next() = Json(kind)));
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    const std::string& origin_;
    Json whole_;
    std::vector<Json*>
        open_;                ///< Objects and arrays, from the outside in. Only the last one grows.
    Json* member_ = nullptr;  ///< Of the innermost object, without its value so far.
};

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
    check_utf8(text, origin);
    JsonBuilder builder(text, origin);
    Json::sax_parse(text, &builder);
    return builder.take();
}

std::string pointer_to(const std::string& pointer, std::string_view key) {
    std::string result = pointer + "/";
    for (const char c : key) {
        result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return result;
}

}  // namespace trnsim::spec
