// SPDX-License-Identifier: Apache-2.0
// From the JSON of a chip file to a ChipConfig.
#pragma once

#include "field.hpp"
#include "json_text.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace trnsim::spec {

inline constexpr int kSchemaVersion = 1;
inline constexpr auto kPlainKeys = {"schema_version", "name", "short_name"};

/// Walks a chip file and fills a ChipConfig; every throw is a ConfigError with file and JSON
/// pointer.
class ChipReader {
public:
    explicit ChipReader(std::string origin);

    [[nodiscard]] ChipConfig read(JsonElement file);

private:
    /// `group` is empty for the file, else "neuron_core.sbuf.".
    void read_group(JsonObject object, const std::string& group);
    void read_leaf(JsonElement leaf, std::size_t index);
    void read_header(JsonObject file);
    void require_all() const;
    /// \throws ConfigError if one occurs twice
    void require_single_keys(JsonObject object, std::string_view path) const;
    /// The text `key` of the object at `path`.
    [[nodiscard]] std::string_view read_text(JsonObject object,
                                             std::string_view key,
                                             std::string_view path) const;
    [[nodiscard]] std::vector<std::string> keys_below(std::string_view group) const;
    /// "file: /neuron_core/sbuf" of "neuron_core.sbuf"
    [[nodiscard]] std::string at(std::string_view path) const;

    ChipConfig config_;
    std::vector<Field> fields_;                                  ///< Bound to config_.spec.
    std::unordered_map<std::string_view, std::size_t> by_path_;  ///< Into fields_.
    std::unordered_set<std::string_view>
        groups_;  ///< Paths that are objects, with a dot at their end.
};

/// Relations between fields that no range of a single one can say.
/// \throws ConfigError
void check_relations(const ChipSpec& spec, const std::string& origin);

}  // namespace trnsim::spec
