// SPDX-License-Identifier: Apache-2.0
// Strict JSON: UTF-8, no duplicate keys, errors with line and column.
#include "json_text.hpp"

#include "message_text.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace trnsim::spec {
namespace {

constexpr int kDepthMax = 32;

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

/// The keys of the objects that are open while the parser runs.
class OpenObjects {
public:
    explicit OpenObjects(const std::string& origin) : origin_(origin) {}

    bool operator()(int depth, nlohmann::json::parse_event_t event, const Json& parsed) {
        using Event = nlohmann::json::parse_event_t;
        if (depth > kDepthMax) {
            throw ConfigError(fmt::format(
                "{}: nested deeper than {} levels; a chip file has at most 5", origin_, kDepthMax));
        }
        if (event == Event::object_start) {
            keys_.emplace_back();
        } else if (event == Event::object_end) {
            keys_.pop_back();
        } else if (event == Event::key) {
            const auto& key = parsed.get_ref<const std::string&>();
            if (!keys_.back().insert(key).second) {
                throw ConfigError(fmt::format(
                    "{}: key {} occurs twice in one object; keep one", origin_, in_quotes(key)));
            }
        }
        return true;
    }

private:
    const std::string& origin_;
    std::vector<std::set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
    check_utf8(text, origin);
    OpenObjects open(origin);
    const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
        return open(depth, static_cast<nlohmann::json::parse_event_t>(event), parsed);
    };
    try {
        return Json::parse(text, callback);
    } catch (const Json::parse_error& error) {
        throw ConfigError(fmt::format("{}: this is not JSON; correct it here or just before",
                                      place(text, error.byte == 0 ? 0 : error.byte - 1, origin)));
    } catch (const Json::out_of_range&) {
        throw ConfigError(
            fmt::format("{}: a number is too large for a double; give a smaller one", origin));
    }
}

std::string pointer_to(const std::string& pointer, std::string_view key) {
    std::string result = pointer + "/";
    for (const char c : key) {
        result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return result;
}

}  // namespace trnsim::spec
