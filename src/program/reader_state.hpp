// SPDX-License-Identifier: Apache-2.0
// What the reader knows between two records of a trace.
#pragma once

#include "place.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace trnsim::program {

/// A loop whose `end` has not come yet.
struct OpenLoop {
    std::uint32_t node = 0;
    std::int64_t body_executions = 1;  ///< In the whole program.
};

/// The highest instance of a site that a run refers to, checked once all allocations are counted.
struct HighestUse {
    std::int64_t instance = -1;
    std::int64_t line = 0;
};

/// The program so far, and what is needed to check the next record.
struct ReaderState {
    explicit ReaderState(std::string name) : place(std::move(name)) {}

    Place place;
    Program program;
    bool has_header = false;
    bool has_summary = false;
    std::vector<OpenLoop> open_loops;
    std::vector<std::int64_t> instances;   ///< Per buffer: how many come into being.
    std::vector<HighestUse> highest_uses;  ///< Per buffer.
    std::int64_t executed_steps = 0;       ///< Runs and allocations, loops expanded.
    std::int64_t instructions = 0;         ///< Runs of all cores, loops expanded.
    std::int32_t cores = 0;                ///< `core` records so far.
    Part part;                             ///< Where the current core's declarations begin.
    std::vector<Part> parts;               ///< The cores before the current one.

    [[nodiscard]] bool is_lowered() const { return program.header.form == Form::Lowered; }

    /// How often the record at this point is executed.
    [[nodiscard]] std::int64_t executions() const {
        return open_loops.empty() ? 1 : open_loops.back().body_executions;
    }
};

}  // namespace trnsim::program
