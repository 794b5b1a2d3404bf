// SPDX-License-Identifier: Apache-2.0
// How fast a whole simulation is. A process elaborates SystemC once, so each iteration has a
// process of its own and tells how long simulate() took in it.
#include "matmul_trace.hpp"
#include "trnsim/simulator/simulate.hpp"
#include "trnsim/spec/chip_config.hpp"
#include "trnsim/study/local_executor.hpp"

#include <systemc>

#include <benchmark/benchmark.h>

#include <chrono>
#include <stdexcept>
#include <string>

namespace {

using namespace trnsim;  // NOLINT(google-build-using-namespace): reads as in the library

void simulate_matmul(benchmark::State& state, const char* chip_name) {
    const program::Program program = bench::matmul_program(state.range(0));
    const ChipSpec chip = spec::load_chip(chip_name).spec;
    const RunOptions options{
        .policies = lowering::default_policies("nki"), .timeline = nullptr, .progress = {}};
    const study::Job job = [&] {
        const auto start = std::chrono::steady_clock::now();
        const RunResult result = simulate(program, chip, options);
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
        return std::to_string(wall.count()) + " " + std::to_string(result.total.seconds());
    };
    double simulated = 0.0;
    double wall = 0.0;
    for (auto _ : state) {
        const study::JobOutcome outcome = study::run_in_processes({job}, 1).front();
        if (outcome.exit_status != 0) {
            state.SkipWithError(outcome.error.c_str());
            return;
        }
        std::size_t end = 0;
        const double seconds = std::stod(outcome.output, &end);
        state.SetIterationTime(seconds);
        wall += seconds;
        simulated = std::stod(outcome.output.substr(end));
    }
    state.SetItemsProcessed(state.iterations() * program.instruction_count);
    state.counters["simulated us"] = simulated * 1e6;
    state.counters["wall/simulated"] = wall / static_cast<double>(state.iterations()) / simulated;
}
BENCHMARK_CAPTURE(simulate_matmul, trn1, "trn1")
    ->Arg(2048)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_matmul, trn2, "trn2")
    ->Arg(2048)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_matmul, trn3, "trn3")
    ->Arg(2048)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

// libsystemc refers to sc_main; simulations elaborate from the benchmark instead.
int sc_main(int /*argc*/, char* /*argv*/[]) {
    return 0;
}
