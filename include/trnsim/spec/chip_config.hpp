// SPDX-License-Identifier: Apache-2.0
// Reads chip configurations strictly, applies --set, and describes them.
#pragma once

#include "trnsim/spec/chip_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trnsim::spec {

/// A chip with where each of its numbers comes from.
struct ChipConfig {
    /// One leaf as printed by `trnsim describe`.
    struct Leaf {
        std::string path;    ///< "neuron_core.tensor_engine.clock_ghz"
        std::string value;   ///< As written in JSON.
        std::string unit;    ///< "GHz"; "1" for pure numbers, switches and names.
        std::string source;  ///< Tags resolved in docs/sources.md, "set by the user" after --set.
        std::string note;    ///< What else the file says about it; may be empty.
        std::string description;  ///< What it is: the sentence of its field.
    };
    ChipSpec spec;
    std::vector<Leaf> leaves;    ///< All of them, in the order of the file format.
    std::string origin;          ///< The file it was read from.
    bool is_as_shipped = false;  ///< That file is one of trnsim's own, and nothing was set since.
};

/// Loads a chip by short name ("trn2"), long name ("trainium2") or path of a JSON file. Names are
/// looked up in the folder of the environment variable TRNSIM_CONFIG_DIR, else in the installation
/// the program runs from, else in the source tree it was built from. \throws ConfigError naming the
/// JSON pointer, what is allowed and the nearest valid name
[[nodiscard]] ChipConfig load_chip(const std::string& name_or_path);

/// Reads the text of a chip file; `origin` begins the messages.
/// \throws ConfigError as load_chip()
[[nodiscard]] ChipConfig parse_chip(std::string_view text, const std::string& origin);

/// Overrides one leaf: "neuron_core.tensor_engine.clock_ghz=2.6"; one that has this value stays as
/// it is, with its source.
/// \throws ConfigError for an unknown path, a value of the wrong type or out of range
void set(ChipConfig& config, std::string_view assignment);

/// Overrides several, which together have to make sense; of the same leaf the last one counts.
/// \throws ConfigError as for one; nothing is changed then
void set(ChipConfig& config, const std::vector<std::string>& assignments);

/// The configuration as JSON text in the file's format, overrides included: what parse_chip() reads
/// back.
[[nodiscard]] std::string to_json(const ChipConfig& config);

/// The JSON Schema of a chip file: configs/schema/chip.schema.json.
[[nodiscard]] std::string chip_schema();

/// The short names of the chips that ship with trnsim.
[[nodiscard]] std::vector<std::string> chip_names();

}  // namespace trnsim::spec
