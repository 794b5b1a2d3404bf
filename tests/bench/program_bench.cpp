// SPDX-License-Identifier: Apache-2.0
// How fast a program is walked: the lower bound of everything that is done per instruction.
#include "matmul_trace.hpp"
#include "trnsim/program/cursor.hpp"

#include <benchmark/benchmark.h>

namespace {

using trnsim::program::Cursor;

void walk(benchmark::State& state, Cursor::Direction direction) {
    const trnsim::program::Program program = trnsim::bench::matmul_program(state.range(0));
    for (auto _ : state) {
        Cursor cursor(program, direction);
        while (const auto* step = cursor.next()) {
            benchmark::DoNotOptimize(step->at.data());
        }
    }
    state.SetItemsProcessed(state.iterations() * program.instruction_count);
}

void walk_forward(benchmark::State& state) {
    walk(state, Cursor::Direction::Forward);
}
void walk_backward(benchmark::State& state) {
    walk(state, Cursor::Direction::Backward);
}
BENCHMARK(walk_forward)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(walk_backward)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
