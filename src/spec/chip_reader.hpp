// SPDX-License-Identifier: Apache-2.0
// From the JSON of a chip file to a ChipConfig.
#pragma once

#include "field.hpp"
#include "json_text.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace trnsim::spec {

inline constexpr int kSchemaVersion = 1;
inline constexpr auto kPlainKeys = {"schema_version", "name", "short_name"};

/// Walks a chip file and fills a ChipConfig; every throw is a ConfigError with file and JSON
/// pointer.
class ChipReader {
public:
    explicit ChipReader(std::string origin);

    [[nodiscard]] ChipConfig read(const Json& file);

private:
    void read_object(const Json& object, const std::string& path, const std::string& pointer);
    void read_leaf(const Json& leaf, const Field& field, const std::string& pointer);
    void read_header(const Json& file);
    void require_all() const;
    [[nodiscard]] const std::string& read_text(const Json& object,
                                               const std::string& key,
                                               const std::string& pointer) const;
    [[nodiscard]] std::vector<std::string> keys_below(const std::string& path) const;
    [[nodiscard]] std::string at(const std::string& pointer) const;

    ChipConfig config_;
    std::vector<Field> fields_;  ///< Bound to config_.spec.
    std::map<std::string, const Field*> by_path_;
    std::set<std::string> groups_;  ///< Paths that are objects, with a dot at their end.
    std::map<std::string, ChipConfig::Leaf> leaves_;
};

/// Relations between fields that no range of a single one can say.
/// \throws ConfigError
void check_relations(const ChipSpec& spec, const std::string& origin);

}  // namespace trnsim::spec
