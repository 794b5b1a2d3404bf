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

std::string_view last_name(std::string_view path) {
    return path.substr(path.rfind('.') + 1);
}

/// Whether two names have a word between underscores in common.
bool share_word(std::string_view a, std::string_view b) {
    for (std::size_t begin = 0; begin < a.size();) {
        const std::size_t end = std::min(a.find('_', begin), a.size());
        const std::string word = fmt::format("_{}_", a.substr(begin, end - begin));
        if (fmt::format("_{}_", b).find(word) != std::string::npos) {
            return true;
        }
        begin = end + 1;
    }
    return false;
}

/// What is in the innermost group of a path that there is: those with a word of its last name, or
/// else all.
std::vector<std::string> related(std::string_view path,
                                 const std::vector<std::string>& candidates) {
    const std::string_view wanted = last_name(path);
    std::vector<std::string> members;
    for (std::size_t end = path.rfind('.'); members.empty() && end != std::string_view::npos;
         end = end == 0 ? std::string_view::npos : path.rfind('.', end - 1)) {
        const std::string group = fmt::format(".{}.", path.substr(0, end));
        std::ranges::copy_if(candidates, std::back_inserter(members), [&](const auto& each) {
            return ("." + each).find(group) != std::string::npos;
        });
    }
    std::vector<std::string> like;
    std::ranges::copy_if(members, std::back_inserter(like), [&](const auto& each) {
        return share_word(wanted, last_name(each));
    });
    return like.empty() ? members : like;
}

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
    if (const auto found = ending_in(last_name(path)); !found.empty()) {
        return or_these(found);
    }
    const auto found = related(path, candidates);
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
