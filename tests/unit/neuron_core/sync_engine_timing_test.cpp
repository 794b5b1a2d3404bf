// SPDX-License-Identifier: Apache-2.0
// Control instructions against what was measured of them.
#include "trnsim/neuron_core/sync_engine_timing.hpp"

#include "instructions.hpp"

namespace trnsim::neuron_core {
namespace {

InstructionCost control_on_trn2(Opcode op) {
    return sync_engine_cost(test::chip("trn2").neuron_core.sync_engine, test::make(op, {}));
}

TEST(SyncEngineLaw, RegisterMoveTakes68ns) {  // [M-VOYAGER]
    test::expect_near_measured(control_on_trn2(Opcode::RegisterMove).done, 68);
}

TEST(SyncEngineTrace, RegisterLoadTakes682ns) {  // TENSOR_LOAD on GpSimd [TRACES-TRN2]
    test::expect_near_measured(control_on_trn2(Opcode::RegisterLoad).done, 682);
}

TEST(SyncEngineCost, HoldsTheSequencerUntilTheResult) {
    for (const Opcode op :
         {Opcode::RegisterMove, Opcode::RegisterLoad, Opcode::RegisterStore, Opcode::CoreBarrier}) {
        EXPECT_EQ(control_on_trn2(op).interval, control_on_trn2(op).done);
        EXPECT_GT(control_on_trn2(op).done, Picoseconds{0});
    }
}

TEST(SyncEngineCost, ALoopBarrierHoldsSyncForTheChipsTime) {
    SyncEngineSpec spec;
    spec.loop_barrier_ns = Picoseconds{2'500'000};
    const InstructionCost barrier = loop_barrier_cost(spec);
    EXPECT_EQ(barrier.interval, Picoseconds{2'500'000});
    EXPECT_EQ(barrier.read, barrier.interval);
    EXPECT_EQ(barrier.done, barrier.interval);
}

}  // namespace
}  // namespace trnsim::neuron_core
