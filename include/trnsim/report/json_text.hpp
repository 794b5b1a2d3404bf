// SPDX-License-Identifier: Apache-2.0
// Reading a file that should hold JSON.
#pragma once

#include <string>
#include <string_view>

namespace trnsim::report {

/// What a file holds, as far as it can be JSON: reading ends at a first character that begins none,
/// so that devices and streams that never end are no trap. `advice`: which file to give instead.
/// \throws UserError if it cannot be read, begins no JSON, or is no regular file and longer than
/// 256 MiB
[[nodiscard]] std::string read_json_text(const std::string& path, std::string_view advice);

}  // namespace trnsim::report
