// SPDX-License-Identifier: Apache-2.0
// Loads before a loop whose tiles SBUF has no room for are made in the loop.
#pragma once

#include "trnsim/lowering/analysis/liveness.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// Whether there is room for tiles with such lives.
using Fits = std::function<bool(const std::vector<SiteLiveness>&)>;

/// A program after loads have moved into loops.
struct SunkLoads {
    program::Program program;
    /// By site: how often each of its tiles is loaded instead of once.
    std::map<std::uint32_t, std::int64_t> passes;
};

/// A program whose live tiles do not fit into SBUF, with what it loads before a loop loaded in it.
/// `lives`: what analyse_liveness() says of it.
///
///     for k in 40:                         for row in 32:
///         b[k] = load(w[k])                    for k in 40:
///     for row in 32:                  -->          b[k] = load(w[k])
///         for k in 40:                         for k in 40:
///             c[row] += a[row, k] @ b[k]           c[row] += a[row, k] @ b[k]
///
/// Those that keep most bytes go first, until all others fit beside one tile of each that went.
/// What is loaded must be an argument or constant that the program does not write; nothing else may
/// write the tiles, and who reads them does so in one affine or sequential loop beside the loads,
/// each iteration the same ones. Nothing is to be done where everything fits, and where it would
/// not even so.
[[nodiscard]] std::optional<SunkLoads> sink_loads(const program::Program& program,
                                                  std::vector<SiteLiveness> lives,
                                                  const Fits& fits);

}  // namespace trnsim::lowering
