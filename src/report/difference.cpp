// SPDX-License-Identifier: Apache-2.0
// What changed between two results: joined by key.
#include "trnsim/report/difference.hpp"

#include <map>
#include <utility>

#include "flat_values.hpp"
#include "schema_version.hpp"

namespace trnsim::report {
namespace {

using Json = ResultFile::Json;

/// A key's place in the order of sections; lists and new keys stay behind the key they follow in their file.
std::vector<FlatKey> keys_of_both(const FlatValues& before, const FlatValues& after) {
    std::vector<FlatKey> keys;
    std::map<FlatKey, bool> seen;
    const auto add = [&keys, &seen](const FlatKey& key) {
        if (seen.try_emplace(key, true).second) {
            keys.push_back(key);
        }
    };
    std::size_t next_after = 0;
    const auto add_section_of_after = [&](const std::string& section) {
        while (next_after < after.size() && after[next_after].first.section == section) {
            add(after[next_after++].first);
        }
    };
    for (std::size_t i = 0; i < before.size(); ++i) {
        const std::string& section = before[i].first.section;
        add(before[i].first);
        if (i + 1 == before.size() || before[i + 1].first.section != section) {
            add_section_of_after(section);
        }
    }
    for (const auto& [key, value] : after) {
        add(key);
    }
    return keys;
}

Json value_or_null(const std::map<FlatKey, Json>& values, const FlatKey& key) {
    const auto found = values.find(key);
    return found == values.end() ? Json() : found->second;
}

}  // namespace

Difference diff(ResultFile before, ResultFile after) {
    const FlatValues old_values = flat_values(before);
    const FlatValues new_values = flat_values(after);
    const std::map<FlatKey, Json> old_by_key(old_values.begin(), old_values.end());
    const std::map<FlatKey, Json> new_by_key(new_values.begin(), new_values.end());
    std::vector<Change> changes;
    for (const FlatKey& key : keys_of_both(old_values, new_values)) {
        Json was = value_or_null(old_by_key, key);
        Json is = value_or_null(new_by_key, key);
        if (was != is) {
            changes.push_back({key.section, key.key, key.field, std::move(was), std::move(is)});
        }
    }
    return {std::move(before), std::move(after), std::move(changes)};
}

std::string to_json(const Difference& difference) {
    Json changes = Json::array();
    for (const Change& change : difference.changes) {
        changes.push_back({{"section", change.section},
                           {"key", change.key},
                           {"field", change.field},
                           {"before", change.before},
                           {"after", change.after}});
    }
    const Json json{{"schema_version", kSchemaVersion},
                    {"before", difference.before.name()},
                    {"after", difference.after.name()},
                    {"changes", changes}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnsim::report
