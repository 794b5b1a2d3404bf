// SPDX-License-Identifier: Apache-2.0
// A program of transfers alone.
#pragma once

#include "support/program_builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace trnsim::test {

/// Loads of `sites` tiles and stores of them, tile by tile.
struct LoadsAndStores {
    ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {128, 64});
    std::uint32_t out = builder.output("out", Dtype::Float32, {128, 64});
    std::vector<std::uint32_t> tiles;

    explicit LoadsAndStores(int sites) {
        for (int site = 0; site < sites; ++site) {
            tiles.push_back(builder.tile(
                "tile" + std::to_string(site), Space::Sbuf, Dtype::Float32, {128, 64}));
            builder.alloc(tiles.back()).run(builder.copy(tiles.back(), in));
        }
        for (const std::uint32_t tile : tiles) {
            builder.run(builder.copy(out, tile));
        }
    }
};

}  // namespace trnsim::test
