// SPDX-License-Identifier: Apache-2.0
// Where symbolic links lead.
#pragma once

#include <string>

namespace trnsim {

/// The file that a path means: links are followed, whether or not there is something at their end,
/// so that a file that is written and renamed does not take the place of a link. The path itself
/// where links go round.
[[nodiscard]] std::string link_target(const std::string& path);

}  // namespace trnsim
