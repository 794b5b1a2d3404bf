// SPDX-License-Identifier: Apache-2.0
// What changed between two results: joined by key.
#include "trnsim/report/difference.hpp"

#include "flat_values.hpp"
#include "schema_version.hpp"

#include <array>
#include <map>
#include <set>
#include <utility>

namespace trnsim::report {
namespace {

using Json = ResultFile::Json;

/// Sections in the order of a result's keys.
constexpr std::array kSections{"subject",
                               "config",
                               "policies",
                               "compiler",
                               "summary",
                               "roofline",
                               "engines",
                               "dma",
                               "memory",
                               "run",
                               "attribution",
                               "critical_path",
                               "warnings",
                               "assumptions"};

/// Every key once: by section, in it those of `before` in their order, then those that only `after`
/// has.
std::vector<FlatKey> keys_of_both(const FlatValues& before, const FlatValues& after) {
    std::vector<FlatKey> keys;
    std::set<FlatKey> seen;
    for (const char* section : kSections) {
        for (const FlatValues* values : {&before, &after}) {
            for (const auto& [key, value] : *values) {
                if (key.section == section && seen.insert(key).second) {
                    keys.push_back(key);
                }
            }
        }
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
