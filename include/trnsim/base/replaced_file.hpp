// SPDX-License-Identifier: Apache-2.0
// What a file that is written beside another one and renamed takes over from it.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace trnsim {

/// The file that a path means: links are followed, whether or not there is something at their end,
/// so that a file that is written and renamed does not take the place of a link. The path itself
/// where links go round.
[[nodiscard]] std::string link_target(const std::string& path);

/// nullopt: there is no such file.
[[nodiscard]] std::optional<mode_t> permissions_of(const std::string& path);

}  // namespace trnsim
