// SPDX-License-Identifier: Apache-2.0
// Parses with simdjson; where that refuses, nlohmann/json says at which byte.
#include "json_text.hpp"

#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace trnsim::spec {
namespace {

constexpr std::size_t kDepthMax = 32;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

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

/// \throws ConfigError about a text that simdjson refused
[[noreturn]] void refuse(std::string_view text,
                         simdjson::error_code code,
                         const std::string& origin) {
    if (code == simdjson::MEMALLOC) {
        throw std::bad_alloc();
    }
    check_utf8(text, origin);
    if (code == simdjson::DEPTH_ERROR) {
        throw ConfigError(fmt::format(
            "{}: nested deeper than {} levels; a chip file has at most 5", origin, kDepthMax));
    }
    try {
        [[maybe_unused]] const auto accepted = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        throw ConfigError(fmt::format("{}: this is not JSON; correct it here or just before",
                                      place(text, error.byte == 0 ? 0 : error.byte - 1, origin)));
    } catch (const nlohmann::json::out_of_range&) {
        // The same number, as the one parser or the other calls it.
    }
    throw ConfigError(fmt::format(
        "{}: a number is too large for a double or 64 bits; give a smaller one", origin));
}

}  // namespace

JsonElement parse_json(JsonParser& parser, std::string_view text, const std::string& origin) {
    if (text.starts_with(kByteOrderMark)) {  // Not every version of simdjson refuses it.
        throw ConfigError(fmt::format(
            "{}: the file begins with a byte order mark; save the file as UTF-8 without one",
            origin));
    }
    JsonElement element;
    simdjson::error_code code = parser.allocate(text.size(), kDepthMax);
    if (code == simdjson::SUCCESS) {
        code = parser.parse(text.data(), text.size()).get(element);
    }
    if (code != simdjson::SUCCESS) {
        refuse(text, code, origin);
    }
    return element;
}

std::optional<std::string_view> repeated_key(JsonObject object) {
    for (auto member = object.begin(); member != object.end(); ++member) {
        for (auto earlier = object.begin(); earlier != member; ++earlier) {
            if (earlier.key() == member.key()) {
                return member.key();
            }
        }
    }
    return std::nullopt;
}

std::string value_text(JsonElement value) {
    switch (value.type()) {
        case simdjson::dom::element_type::ARRAY:
            return "an array";
        case simdjson::dom::element_type::OBJECT:
            return "an object";
        case simdjson::dom::element_type::STRING:
            return json_string(value.get_string().value_unsafe());
        case simdjson::dom::element_type::INT64:
            return fmt::format("{}", value.get_int64().value_unsafe());
        case simdjson::dom::element_type::UINT64:
            return fmt::format("{}", value.get_uint64().value_unsafe());
        case simdjson::dom::element_type::DOUBLE:
            return fmt::format("{}", value.get_double().value_unsafe());
        case simdjson::dom::element_type::BOOL:
            return value.get_bool().value_unsafe() ? "true" : "false";
        default:
            return "null";
    }
}

std::string json_string(std::string_view text) {
    using Json = nlohmann::json;
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace trnsim::spec
