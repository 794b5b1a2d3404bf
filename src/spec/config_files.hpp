// SPDX-License-Identifier: Apache-2.0
// Where chip files are.
#pragma once

#include <string>

namespace trnsim::spec {

/// The file of a chip: the path itself, or chips/<name>.json in the first folder of configurations
/// there is. \throws ConfigError for an unknown name and where no folder of configurations is found
[[nodiscard]] std::string find_chip_file(const std::string& name_or_path);

/// Whether a chip file is the one that its chip's name stands for, however the path is written.
[[nodiscard]] bool is_shipped(const std::string& path);

/// The contents of a small file.
/// \throws ConfigError for a missing file, a folder, a file over 1 MiB
[[nodiscard]] std::string read_config_file(const std::string& path);

}  // namespace trnsim::spec
