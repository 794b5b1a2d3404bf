// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a trace. Either a TraceError, or a program that writes what reads back
// the same and whose steps the cursor finds where its positions say, in both directions.
#include "trnsim/base/error.hpp"
#include "trnsim/program/cursor.hpp"
#include "trnsim/program/reader.hpp"
#include "trnsim/program/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

namespace {

using namespace trnsim::program;

constexpr int kMaxSteps = 2000;  ///< Walked from each end of a program.

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

Program read_text(const std::string& text) {
    std::istringstream input(text);
    return read(input, "fuzz");
}

std::string written(const Program& program) {
    std::ostringstream output;
    write(program, output);
    return output.str();
}

void check_walk(const Program& program, Cursor::Direction direction) {
    Cursor cursor(program, direction);
    for (int i = 0; i < kMaxSteps; ++i) {
        const Step* step = cursor.next();
        if (step == nullptr) {
            return;
        }
        if (step->is_alloc) {
            continue;
        }
        const Run& run = program.runs[step->run];
        require(step->at.size() == run.at.size());
        for (std::size_t j = 0; j < run.at.size(); ++j) {
            require(step->at[j].instance == evaluate(run.at[j].instance, step->iterations));
            require(step->at[j].offset == evaluate(run.at[j].offset, step->iterations));
            require(step->at[j].partition == evaluate(run.at[j].partition, step->iterations));
        }
    }
}

}  // namespace

// The name and the signature are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {  // NOLINT
    Program program;
    try {
        program = read_text(std::string(reinterpret_cast<const char*>(data), size));
    } catch (const trnsim::TraceError&) {
        return 0;
    }
    const std::string text = written(program);
    require(written(read_text(text)) == text);
    check_walk(program, Cursor::Direction::Forward);
    check_walk(program, Cursor::Direction::Backward);
    return 0;
}
