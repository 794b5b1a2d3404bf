// SPDX-License-Identifier: Apache-2.0
// Quotes, lists and suggests names.
#include "message_text.hpp"

#include "trnsim/base/nearest_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace trnsim::spec {
namespace {

constexpr std::size_t kQuotedMax = 60;
constexpr std::size_t kListedMax = 8;

}  // namespace

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
    if (const std::string_view nearest = nearest_name(name, candidates); !nearest.empty()) {
        return fmt::format("; did you mean {}?", in_quotes(nearest));
    }
    return "; allowed are" + listed(candidates);
}

std::string path_suggestion(std::string_view path, const std::vector<std::string>& candidates) {
    const auto those = [&candidates](const auto& is_wanted) {
        std::vector<std::string> found;
        std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(found), is_wanted);
        return found;
    };
    const std::string group = std::string(path) + ".";
    const auto members = those([&](const std::string& each) { return each.starts_with(group); });
    if (!members.empty()) {
        return "; it is a group with" + listed(members) + "; name one of them";
    }
    const auto ending_in = [&](std::string_view end) {
        const std::string ending = "." + std::string(end);
        return those([&](const std::string& each) { return each.ends_with(ending); });
    };
    const auto or_these = [](const std::vector<std::string>& found) {
        return "; did you mean" + listed(found) + "?";
    };
    if (const auto found = ending_in(path); !found.empty()) {
        return or_these(found);
    }
    if (const std::string_view nearest = nearest_name(path, candidates); !nearest.empty()) {
        return or_these({std::string(nearest)});
    }
    if (const auto found = ending_in(path.substr(path.rfind('.') + 1)); !found.empty()) {
        return or_these(found);
    }
    const std::string inside = "." + std::string(path.substr(0, path.find('.'))) + ".";
    const auto found = those(
        [&](const std::string& each) { return ("." + each).find(inside) != std::string::npos; });
    return found.empty() ? "; trnsim describe CHIP lists what there is" : or_these(found);
}

std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < std::min(kListedMax, names.size()); ++i) {
        list += (i == 0 ? " " : ", ") + in_quotes(names[i]);
    }
    return names.size() > kListedMax ? list + ", ..." : list;
}

std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (const char c : text.substr(0, kQuotedMax)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20U || byte == 0x7fU) {
            result += fmt::format("\\x{:02x}", byte);
        } else {
            result += c;
        }
    }
    return result + (text.size() > kQuotedMax ? "\"..." : "\"");
}

}  // namespace trnsim::spec
