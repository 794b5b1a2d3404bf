// SPDX-License-Identifier: Apache-2.0
// How fast a program becomes queues of instructions, without anything that runs them.
#include "matmul_trace.hpp"
#include "trnsim/lowering/lowering.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

using namespace trnsim;  // NOLINT(google-build-using-namespace): reads as in the library

/// Takes instructions and keeps none.
class CountingSink : public neuron_core::InstructionSink {
public:
    neuron_core::QueuedInstruction& append(neuron_core::QueueId /*queue*/) override {
        benchmark::DoNotOptimize(&instruction_);
        ++count_;
        return instruction_ = {};
    }
    [[nodiscard]] std::int64_t count() const { return count_; }

private:
    std::int64_t count_ = 0;
    neuron_core::QueuedInstruction instruction_;
};

void lower(benchmark::State& state) {
    const program::Program program = bench::matmul_program(state.range(0));
    const ChipSpec chip = spec::load_chip("trn2").spec;
    const lowering::Policies policies = lowering::default_policies("nki");
    CountingSink sink;
    for (auto _ : state) {
        lowering::Lowering lowering(program, chip, policies);
        while (lowering.produce(sink)) {
        }
    }
    state.SetItemsProcessed(state.iterations() * program.instruction_count);
    state.counters["queued per nisa call"] = static_cast<double>(sink.count()) /
                                             static_cast<double>(state.iterations()) /
                                             static_cast<double>(program.instruction_count);
}
BENCHMARK(lower)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
