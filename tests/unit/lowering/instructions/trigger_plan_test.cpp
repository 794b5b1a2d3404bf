// SPDX-License-Identifier: Apache-2.0
// A transfer begins as the program says, else as the policies say, else as the chip does it.
#include "trnsim/lowering/instructions/trigger_plan.hpp"

#include "support/program_builder.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace trnsim::lowering {
namespace {

const DgeSpec& dge_of(const std::string& chip) {
    static const ChipSpec trn1 =
        spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/trainium1.json").spec;
    static const ChipSpec trn2 =
        spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/trainium2.json").spec;
    return chip == "trn1" ? trn1.neuron_core.dge : trn2.neuron_core.dge;
}

/// A load or a store of one type, or a load that casts.
struct Copies {
    test::ProgramBuilder builder;
    std::uint32_t memory = builder.input("memory", Dtype::Float32, {128, 64});
    std::uint32_t narrow = builder.input("narrow", Dtype::Bfloat16, {128, 64});
    std::uint32_t result = builder.output("result", Dtype::Float32, {128, 64});
    std::uint32_t tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    std::uint32_t load = builder.copy(tile, memory);
    std::uint32_t store = builder.copy(result, tile);
    std::uint32_t cast = builder.copy(tile, narrow);
    program::Program program = builder.build();

    [[nodiscard]] InstructionTemplate with(std::uint32_t index,
                                           DgeMode dge,
                                           std::optional<Engine> engine = {}) const {
        InstructionTemplate instruction = program.templates[index];
        instruction.attributes.dge = dge;
        instruction.attributes.trigger = engine;
        return instruction;
    }
};

void expect(const DmaTrigger& trigger,
            DgeMode dge,
            Engine engine,
            const std::string& because = {}) {
    EXPECT_EQ(trigger.dge, dge) << because;
    EXPECT_EQ(trigger.engine, engine) << because;
}

TEST(TriggerPlan, TheModeIsTheProgramsThenThePolicysThenTheChips) {
    const Copies copies;
    const auto mode = [&](const std::string& chip, DgeMode own, DgePolicy policy) {
        return plan_trigger(dge_of(chip), {.dge = policy}, copies.with(copies.load, own), false)
            .dge;
    };
    EXPECT_EQ(mode("trn2", DgeMode::None, DgePolicy::Software), DgeMode::None);
    EXPECT_EQ(mode("trn2", DgeMode::Auto, DgePolicy::Software), DgeMode::Software);
    EXPECT_EQ(mode("trn2", DgeMode::Auto, DgePolicy::Auto), DgeMode::Hardware);
    EXPECT_EQ(mode("trn1", DgeMode::Auto, DgePolicy::Hardware), DgeMode::None)
        << "a policy that the chip cannot follow falls back to what it has";
}

TEST(TriggerPlan, DynamicIsSoftwareWhereTheChipHasADgeAndStaticElsewhere) {
    const Copies copies;
    const InstructionTemplate& load = copies.program.templates[copies.load];
    const Policies policies{.dge = DgePolicy::Dynamic};
    expect(plan_trigger(dge_of("trn2"), policies, load, false), DgeMode::Software, Engine::Gpsimd);
    expect(plan_trigger(dge_of("trn1"), policies, load, false), DgeMode::None, Engine::Dma);
}

TEST(TriggerPlan, TheEngineThatTheProgramNamesTriggers) {
    const Copies copies;
    for (const Engine engine : {Engine::Sync, Engine::Scalar, Engine::Vector, Engine::Tensor}) {
        expect(plan_trigger(
                   dge_of("trn2"), {}, copies.with(copies.load, DgeMode::None, engine), false),
               DgeMode::None,
               engine);
    }
    expect(plan_trigger(dge_of("trn2"),
                        {.scratch_dge = DgePolicy::Hardware},
                        copies.with(copies.store, DgeMode::Auto, Engine::Sync),
                        true),
           DgeMode::Hardware,
           Engine::Sync);
}

TEST(TriggerPlan, APolicyDoesNotMakeAnEngineTriggerWhatItCannot) {
    const Copies copies;
    const auto of = [&](Engine engine, DgePolicy policy) {
        return plan_trigger(dge_of("trn2"),
                            {.dge = policy},
                            copies.with(copies.load, DgeMode::Auto, engine),
                            false);
    };
    expect(of(Engine::Vector, DgePolicy::Hardware), DgeMode::None, Engine::Vector);
    expect(of(Engine::Vector, DgePolicy::Software), DgeMode::None, Engine::Vector);
    expect(of(Engine::Scalar, DgePolicy::Software), DgeMode::Hardware, Engine::Scalar);
    expect(of(Engine::Gpsimd, DgePolicy::Hardware), DgeMode::Software, Engine::Gpsimd);
    expect(of(Engine::Gpsimd, DgePolicy::None), DgeMode::None, Engine::Gpsimd);
}

TEST(TriggerPlan, GpsimdTriggersWhatItDescribes) {
    const Copies copies;
    expect(plan_trigger(dge_of("trn2"), {}, copies.with(copies.load, DgeMode::Software), false),
           DgeMode::Software,
           Engine::Gpsimd);
    expect(plan_trigger(dge_of("trn2"), {}, copies.with(copies.cast, DgeMode::Auto), false),
           DgeMode::Software,
           Engine::Gpsimd);
}

TEST(TriggerPlan, NobodyIsHeldUpWhereDescriptorsAreThereAndNobodyIsNamed) {
    const Copies copies;
    expect(plan_trigger(dge_of("trn2"), {}, copies.with(copies.load, DgeMode::None), false),
           DgeMode::None,
           Engine::Dma);
    expect(plan_trigger(dge_of("trn2"), {}, copies.with(copies.load, DgeMode::Hardware), false),
           DgeMode::Hardware,
           Engine::Dma,
           "Sync or Scalar, nothing published says which");
}

TEST(TriggerPlan, ScratchIsLoadedBySyncAndStoredByScalar) {  // [TRACES-TRN2]
    const Copies copies;
    const Policies policies{.dge = DgePolicy::None, .scratch_dge = DgePolicy::Hardware};
    const InstructionTemplate& load = copies.program.templates[copies.load];
    const InstructionTemplate& store = copies.program.templates[copies.store];
    expect(plan_trigger(dge_of("trn2"), policies, load, true), DgeMode::Hardware, Engine::Sync);
    expect(plan_trigger(dge_of("trn2"), policies, store, true), DgeMode::Hardware, Engine::Scalar);
    expect(plan_trigger(dge_of("trn2"), policies, store, false),
           DgeMode::None,
           Engine::Dma,
           "no scratch");
    expect(plan_trigger(dge_of("trn1"), policies, store, true),
           DgeMode::None,
           Engine::Dma,
           "no hardware");
}

TEST(TriggerPlan, WithoutADgeSyncLoadsAndGpsimdStores) {  // [ENGINES-TRN1]
    const Copies copies;
    const Policies policies{.dge = DgePolicy::None, .trigger_in_queues = true};
    const InstructionTemplate& load = copies.program.templates[copies.load];
    const InstructionTemplate& store = copies.program.templates[copies.store];
    expect(plan_trigger(dge_of("trn1"), policies, load, false), DgeMode::None, Engine::Sync);
    expect(plan_trigger(dge_of("trn1"), policies, store, false), DgeMode::None, Engine::Gpsimd);
    expect(plan_trigger(dge_of("trn1"), policies, store, true), DgeMode::None, Engine::Gpsimd);
    expect(plan_trigger(dge_of("trn1"),
                        policies,
                        copies.with(copies.store, DgeMode::Auto, Engine::Scalar),
                        false),
           DgeMode::None,
           Engine::Scalar,
           "the program names it");
    expect(plan_trigger(dge_of("trn2"), policies, store, false), DgeMode::None, Engine::Dma);
    InstructionTemplate exchange = store;
    exchange.op = Opcode::AllReduce;
    expect(plan_trigger(dge_of("trn1"), policies, exchange, false),
           DgeMode::None,
           Engine::Dma,
           "an exchange takes time of no engine");
}

TEST(TriggerPlan, ScratchThatHardwareCannotDescribeGoesAsAllElse) {
    const Copies copies;
    const InstructionTemplate& cast = copies.program.templates[copies.cast];
    expect(plan_trigger(dge_of("trn2"), {.scratch_dge = DgePolicy::Hardware}, cast, true),
           DgeMode::Software,
           Engine::Gpsimd);
    expect(plan_trigger(dge_of("trn2"),
                        {.dge = DgePolicy::None, .scratch_dge = DgePolicy::Hardware},
                        cast,
                        true),
           DgeMode::None,
           Engine::Dma);
}

}  // namespace
}  // namespace trnsim::lowering
