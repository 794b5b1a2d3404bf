// SPDX-License-Identifier: Apache-2.0
// Strict JSON: UTF-8, no duplicate keys, errors with line and column.
#include "json_text.hpp"

#include "nearest_name.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

/// Length of the UTF-8 sequence at the start of `text`, or 0 if there is none. (RFC 3629,
/// section 4.)
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto in = [](unsigned value, unsigned least, unsigned most) {
        return value >= least && value <= most;
    };
    const auto tail = [&](std::size_t from, std::size_t length) {
        for (std::size_t i = from; i < length; ++i) {
            if (!in(byte(i), 0x80, 0xbf)) {
                return std::size_t{0};
            }
        }
        return length;
    };
    const unsigned first = byte(0);
    if (first < 0x80U) {
        return 1;
    }
    if (in(first, 0xc2, 0xdf)) {
        return tail(1, 2);
    }
    if (in(first, 0xe0, 0xef)) {
        const unsigned least = first == 0xe0U ? 0xa0U : 0x80U;
        const unsigned most = first == 0xedU ? 0x9fU : 0xbfU;
        return in(byte(1), least, most) ? tail(2, 3) : 0;
    }
    if (in(first, 0xf0, 0xf4)) {
        const unsigned least = first == 0xf0U ? 0x90U : 0x80U;
        const unsigned most = first == 0xf4U ? 0x8fU : 0xbfU;
        return in(byte(1), least, most) ? tail(2, 4) : 0;
    }
    return 0;
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
