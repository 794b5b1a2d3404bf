// SPDX-License-Identifier: Apache-2.0
// Loads just in time: when they begin, where they go, and that nothing else changes.
#include "trnsim/lowering/loads/load_plan.hpp"

#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "support/random_program.hpp"
#include "trnsim/program/cursor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

using test::affine;
using test::at;
using test::ProgramBuilder;
using testing::ElementsAre;

/// An executed step: instruction, and the instances of its operands.
using Executed = std::pair<std::uint32_t, std::vector<std::int64_t>>;
using SiteInstance = std::pair<std::uint32_t, std::int64_t>;

/// A plan of a program with all that it refers to.
class Planned {
public:
    explicit Planned(program::Program program, const Policies& policies = {})
        : program_(std::move(program)),
          chip_(test::chip_named("trainium2")),
          table_(program_, chip_),
          rings_(plan_rings(program_, chip_, {})),
          plans_(plan_instructions(program_, chip_, table_, rings_, {})),
          liveness_(analyse_liveness(program_)),
          plan(LoadPlan::make(
              program_, liveness_, plans_, table_, chip_, RuntimeIterations(program_, policies))) {}

    /// The slots of the tiles that a step uses, by site and instance.
    std::map<SiteInstance, std::int64_t> slots_of(const program::Step& step) {
        std::map<SiteInstance, std::int64_t> slots;
        const auto& operands = program_.templates[program_.runs[step.run].instruction].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const std::uint32_t site = operands[i].buffer;
            if (operands[i].space == Space::Sbuf && plan->has(site)) {
                const auto slot = plan->slot(site, step.at[i].instance);
                EXPECT_TRUE(slot.has_value());
                slots[{site, step.at[i].instance}] = slot.value_or(-1);
            }
        }
        return slots;
    }

    /// "load x 0 in 1", "reciprocal x 0 in 1": what is done with planned tiles, and their slots.
    std::vector<std::string> uses() {
        std::vector<std::string> result;
        while (const program::Step* step = plan->next()) {
            if (step->is_alloc) {
                continue;
            }
            const InstructionTemplate& what =
                program_.templates[program_.runs[step->run].instruction];
            for (const auto& [tile, slot] : slots_of(*step)) {
                result.push_back(std::string(what.op == Opcode::DmaCopy ? "load" : name(what.op)) +
                                 " " + program_.buffers[tile.first].name + " " +
                                 std::to_string(tile.second) + " in " + std::to_string(slot));
            }
        }
        return result;
    }

    /// "dma_copy 0, reciprocal 0": all instructions, and the instances of what they load or read.
    std::string order() {
        std::vector<std::string> result;
        while (const program::Step* step = plan->next()) {
            if (!step->is_alloc) {
                const auto& what = program_.templates[program_.runs[step->run].instruction];
                const std::size_t tile = what.op == Opcode::DmaCopy || step->at.size() == 1 ? 0 : 1;
                result.push_back(
                    step->at.empty()
                        ? std::string(name(what.op))
                        : fmt::format("{} {}", name(what.op), step->at[tile].instance));
            }
        }
        return fmt::format("{}", fmt::join(result, ", "));
    }

    [[nodiscard]] Executed executed(const program::Step& step) const {
        Executed result{program_.runs[step.run].instruction, {}};
        for (const program::Step::At& place : step.at) {
            result.second.push_back(place.instance);
            result.second.push_back(place.offset);
        }
        return result;
    }
    [[nodiscard]] const program::Program& program() const { return program_; }

private:
    const program::Program program_;
    const ChipSpec chip_;
    const IssueTable table_;
    const RingPlan rings_;
    const std::vector<InstructionPlan> plans_;
    const std::vector<SiteLiveness> liveness_;

public:
    std::optional<LoadPlan> plan;
};

/// Tiles that are loaded all at once, or each where it is used, and then used one by one.
struct Loads {
    std::int64_t columns;  ///< FP32: 2,048 reciprocals take longer than a load of as many.
    ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {128, columns});
    std::uint32_t x = builder.tile("x", Space::Sbuf, Dtype::Float32, {128, columns});
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {128, columns});
    std::uint32_t load = builder.copy(x, in);
    std::uint32_t copy = builder.unary(Opcode::Reciprocal, Engine::Vector, y, x);

    explicit Loads(std::int64_t width) : columns(width) { builder.alloc(y); }

    /// y = x + other
    std::uint32_t sum_with(std::uint32_t other) {
        return builder.add(Opcode::TensorTensor,
                           {Engine::Vector},
                           {builder.whole(Role::Dst, y),
                            builder.whole(Role::Data1, x),
                            builder.whole(Role::Data2, other)},
                           {.op0 = "add"});
    }

    /// One loop of loads, then one of copies.
    program::Program apart(std::int64_t tiles) {
        builder.loop(tiles).alloc(x).run(load, {at(affine(0, {1}))}).end();
        builder.loop(tiles).run(copy, {at(), at(affine(0, {1}))}).end();
        return builder.build();
    }
    program::Program together(std::int64_t tiles, bool is_in_order = false) {
        builder.loop(tiles, is_in_order)
            .alloc(x)
            .run(load, {at(affine(0, {1}))})
            .run(copy, {at(), at(affine(0, {1}))})
            .end();
        return builder.build();
    }
};

TEST(LoadPlanTest, LoadsBeginWhenTheirReadersNeedThem) {
    EXPECT_THAT(Planned(Loads(2048).apart(4)).uses(),
                ElementsAre("load x 0 in 0",
                            "reciprocal x 0 in 0",
                            "load x 1 in 1",
                            "reciprocal x 1 in 1",
                            "load x 2 in 0",
                            "reciprocal x 2 in 0",
                            "load x 3 in 1",
                            "reciprocal x 3 in 1"));
}

TEST(LoadPlanTest, WhereTheProgramLoadsDoesNotMatter) {
    EXPECT_EQ(Planned(Loads(2048).apart(6)).uses(), Planned(Loads(2048).together(6)).uses());
}

TEST(LoadPlanTest, AtTheStartLoadsComeInTheOrderInWhichTheyAreNeeded) {
    // The program loads all of x, a megabyte each, before z; sums of both need them one by one.
    Loads loads(2048);
    ProgramBuilder& builder = loads.builder;
    const auto z = builder.tile("z", Space::Sbuf, Dtype::Float32, {128, 2048});
    const auto sum = loads.sum_with(z);
    const auto load_z = builder.copy(z, loads.in);
    builder.loop(8).alloc(loads.x).run(loads.load, {at(affine(0, {1}))}).end();
    builder.loop(8).alloc(z).run(load_z, {at(affine(0, {1}))}).end();
    builder.loop(8).run(sum, {at(), at(affine(0, {1})), at(affine(0, {1}))}).end();
    const std::vector<std::string> uses = Planned(builder.build()).uses();
    const auto place = [&](const std::string& what) {
        return std::ranges::find_if(uses,
                                    [&](const std::string& use) { return use.starts_with(what); }) -
               uses.begin();
    };
    for (int tile = 0; tile < 6; ++tile) {
        EXPECT_LT(place(fmt::format("load z {} ", tile)),
                  place(fmt::format("load x {} ", tile + 2)))
            << tile;
    }
}

TEST(LoadPlanTest, ATileReadTwiceByOneInstructionIsLoadedOnce) {
    // Sums of 1,024 columns take less than their loads: the DMA engines set the pace.
    const auto wanted = [](bool is_twice) {
        Loads loads(1024);
        ProgramBuilder& builder = loads.builder;
        const auto other = builder.tile("other", Space::Sbuf, Dtype::Float32, {128, 1024});
        const auto sum = loads.sum_with(is_twice ? loads.x : other);
        builder.alloc(other).run(builder.unary(Opcode::Reciprocal, Engine::Vector, other, other));
        builder.loop(64).alloc(loads.x).run(loads.load, {at(affine(0, {1}))});
        builder.run(sum, {at(), at(affine(0, {1})), is_twice ? at(affine(0, {1})) : at()}).end();
        return Planned(builder.build()).plan->needs()[loads.x].wanted;
    };
    EXPECT_EQ(wanted(true), wanted(false));
}

TEST(LoadPlanTest, ASiteHasTheSlotsThatThePlanNeeds) {
    const auto need = [](program::Program program) {
        const Planned planned(std::move(program));
        return planned.plan->needs()[Loads(1).x];
    };
    const LoadPlan::Need few = need(Loads(2048).together(64));
    EXPECT_EQ(few.least, 1);
    EXPECT_EQ(few.wanted, 2);
    EXPECT_EQ(need(Loads(2048).together(1)).wanted, 1) << "no more than there are tiles";
    EXPECT_GT(need(Loads(64).together(64)).wanted, few.wanted) << "small ones wait for longer";
}

TEST(LoadPlanTest, ALoadBeginsItsLeadAheadOfItsReader) {
    // 1.33 us to the first byte and 0.05 to wake up, eight descriptors of each DMA engine: 1.76 us
    // for 265 columns, whose reciprocals take 1.72. Of 280 it is 1.78 and 1.82.
    const auto slots_in_turn = [](std::int64_t columns) {
        std::vector<std::string> uses = Planned(Loads(columns).together(64)).uses();
        std::set<std::string> slots;
        for (auto use = uses.end() - 16; use != uses.end(); ++use) {
            slots.insert(use->substr(use->rfind(' ')));
        }
        return slots.size();
    };
    EXPECT_EQ(slots_in_turn(265), 3U);
    EXPECT_EQ(slots_in_turn(280), 2U);
}

TEST(LoadPlanTest, SlotsAreTakenInTurnAndTheirNumberGrowsWhereLoadsCrowd) {
    // In the middle a megabyte is loaded too, which begins loads of small tiles earlier.
    Loads loads(280);
    ProgramBuilder& builder = loads.builder;
    const auto z = builder.tile("z", Space::Sbuf, Dtype::Float32, {128, 2048});
    const auto use =
        builder.add(Opcode::Reciprocal,
                    {Engine::Vector},
                    {builder.part(Role::Dst, loads.y, 64), builder.part(Role::Data, z, 64)});
    const auto part = [&](std::int64_t first) {
        builder.loop(12).alloc(loads.x).run(loads.load, {at(affine(first, {1}))});
        builder.run(loads.copy, {at(), at(affine(first, {1}))}).end();
    };
    part(0);
    builder.alloc(z).run(builder.copy(z, builder.input("more", Dtype::Float32, {128, 2048})));
    builder.run(use);
    part(12);
    std::vector<std::string> uses = Planned(builder.build()).uses();
    std::erase_if(uses, [](const std::string& one) { return !one.starts_with("reciprocal x"); });
    ASSERT_EQ(uses.size(), 24U);
    for (std::int64_t tile = 0; tile < 8; ++tile) {
        EXPECT_EQ(uses[static_cast<std::size_t>(tile)],
                  fmt::format("reciprocal x {} in {}", tile, tile % 2));
    }
    for (std::int64_t tile = 18; tile < 24; ++tile) {
        const std::string& before = uses[static_cast<std::size_t>(tile - 3)];
        EXPECT_EQ(uses[static_cast<std::size_t>(tile)],
                  fmt::format("reciprocal x {}{}", tile, before.substr(before.find(" in"))))
            << "three in turn";
    }
}

TEST(LoadPlanTest, TilesEndWithTheirLastUse) {
    Planned planned(Loads(2048).together(4));
    (void)planned.uses();
    for (const std::int64_t tile : {0, 1, 2, 3}) {
        EXPECT_EQ(planned.plan->slot(Loads(1).x, tile), std::nullopt);
    }
}

TEST(LoadPlanTest, LoadsWaitForOneOfTheSlotsThatTheyHave) {
    Planned planned(Loads(2048).apart(4));
    planned.plan->limit(Loads(1).x, 1);
    EXPECT_THAT(planned.uses(),
                ElementsAre("load x 0 in 0",
                            "reciprocal x 0 in 0",
                            "load x 1 in 0",
                            "reciprocal x 1 in 0",
                            "load x 2 in 0",
                            "reciprocal x 2 in 0",
                            "load x 3 in 0",
                            "reciprocal x 3 in 0"));
}

TEST(LoadPlanTest, WhatOneInstructionReadsHasToBeThereAtOnce) {
    Loads loads(64);
    const auto add = loads.sum_with(loads.x);
    loads.builder.alloc(loads.x).run(loads.load).alloc(loads.x).run(loads.load, {at(affine(1))});
    loads.builder.run(add, {at(), at(affine(1)), at()}).run(loads.copy);
    EXPECT_EQ(Planned(loads.builder.build()).plan->needs()[loads.x].least, 2);
}

TEST(LoadPlanTest, WhatNobodyReadsIsLoadedToo) {
    Loads loads(64);
    loads.builder.loop(40'000).alloc(loads.x).run(loads.load, {at(affine(0, {1}))}).end();
    EXPECT_EQ(Planned(loads.builder.build()).uses().size(), 40'000U);
}

TEST(LoadPlanTest, OnlyTilesThatLoadsAloneWriteArePlanned) {
    Loads loads(64);
    ProgramBuilder& builder = loads.builder;
    const auto z = builder.tile("z", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto scratch = builder.output("scratch", Dtype::Float32, {128, 64});
    const auto w = builder.tile("w", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(loads.x).alloc(z).alloc(w).run(loads.load);
    builder.run(builder.copy(z, loads.in));
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Vector, z, loads.x));
    builder.run(builder.copy(scratch, z)).run(builder.copy(w, scratch));
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Vector, loads.y, w));
    const auto turned = builder.tile("turned", Space::Sbuf, Dtype::Float32, {64, 128});
    builder.alloc(turned).run(
        builder.add(Opcode::DmaTranspose,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, turned), builder.whole(Role::Src, loads.in)}));
    builder.run(builder.add(
        Opcode::TensorCopy,
        {Engine::Vector},
        {builder.part(Role::Dst, loads.y, 64, 64), builder.part(Role::Data, turned, 64)}));
    const Planned planned(builder.build());
    EXPECT_TRUE(planned.plan->has(loads.x));
    EXPECT_TRUE(planned.plan->has(turned));
    EXPECT_FALSE(planned.plan->has(z)) << "a copy writes it";
    EXPECT_FALSE(planned.plan->has(w)) << "the kernel itself wrote what is loaded";
    EXPECT_FALSE(planned.plan->has(loads.y));
}

/// Two iterations of the run time, each of two tiles that are loaded and used one by one.
program::Program twice_two(Loads& loads) {
    const auto tile = at(affine(0, {2, 1}));
    loads.builder.loop(2).loop(2).alloc(loads.x).run(loads.load, {tile});
    loads.builder.run(loads.copy, {at(), tile}).end().end();
    program::Program program = loads.builder.build();
    program.loops.front().kind = program::LoopKind::Runtime;
    return program;
}

TEST(LoadPlanTest, LoadsDoNotLeaveTheirIterationOfTheRunTime) {
    Loads loads(64);
    Planned planned(twice_two(loads));
    EXPECT_THAT(planned.uses(),
                ElementsAre("load x 0 in 0",
                            "load x 1 in 1",
                            "reciprocal x 0 in 0",
                            "reciprocal x 1 in 1",
                            "load x 2 in 0",
                            "load x 3 in 1",
                            "reciprocal x 2 in 0",
                            "reciprocal x 3 in 1"));
    EXPECT_EQ(planned.plan->needs()[loads.x].wanted, 2);
}

TEST(LoadPlanTest, IterationsOfTheRunTimeArePlannedAlike) {
    // 4 MiB, of which little is used: the DMA engines set the pace.
    Loads loads(8192);
    ProgramBuilder& builder = loads.builder;
    const auto use =
        builder.add(Opcode::Reciprocal,
                    {Engine::Vector},
                    {builder.part(Role::Dst, loads.y, 64), builder.part(Role::Data, loads.x, 64)});
    const auto tile = at(affine(0, {4, 1}));
    const auto work = builder.unary(Opcode::Reciprocal, Engine::Vector, loads.y, loads.y);
    builder.loop(3).loop(4).alloc(loads.x).run(loads.load, {tile}).run(use, {at(), tile}).end();
    program::Program program = builder.loop(10).run(work).end().end().build();
    program.loops.front().kind = program::LoopKind::Runtime;
    Planned planned(std::move(program));
    EXPECT_EQ(planned.plan->needs()[loads.x].wanted, 2);
    std::vector<std::string> iterations(3);
    for (const std::string& one : planned.uses()) {
        const std::size_t number = one.find_first_of("0123456789");
        const int instance = std::stoi(one.substr(number));
        iterations.at(static_cast<std::size_t>(instance / 4)) += fmt::format(
            "{}{}{}; ", one.substr(0, number), instance % 4, one.substr(one.find(" in")));
    }
    EXPECT_EQ(iterations[1], iterations[0]);
    EXPECT_EQ(iterations[2], iterations[0]);
}

TEST(LoadPlanTest, ALongLoadDoesNotHoldUpAShortOneOfTheIterationBefore) {
    Loads loads(64);
    ProgramBuilder& builder = loads.builder;
    const auto z = builder.tile("z", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto long_in = builder.input("long", Dtype::Float32, {128, 8192});
    const auto use =
        builder.add(Opcode::Reciprocal,
                    {Engine::Vector},
                    {builder.whole(Role::Dst, loads.y), builder.part(Role::Data, z, 64)});
    const auto busy = builder.tile("busy", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto work = builder.unary(Opcode::Reciprocal, Engine::Vector, busy, busy);
    builder.alloc(busy).loop(1).run(work).alloc(loads.x).run(loads.load).run(loads.copy).end();
    builder.alloc(z).run(builder.copy(z, long_in)).run(use);
    program::Program program = builder.build();
    program.loops.front().kind = program::LoopKind::Runtime;
    EXPECT_THAT(
        Planned(std::move(program)).uses(),
        ElementsAre(
            "load x 0 in 0", "reciprocal x 0 in 0", "load z 0 in 0", "reciprocal z 0 in 0"));
}

TEST(LoadPlanTest, SaysHowManyIterationsOfTheRunTimeHaveEnded) {
    Loads loads(64);
    Planned planned(twice_two(loads));
    std::vector<std::int64_t> ended;
    while (const program::Step* step = planned.plan->next()) {
        if (!step->is_alloc) {
            ended.push_back(planned.plan->ended_iterations());
        }
    }
    EXPECT_THAT(ended, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(LoadPlanTest, NothingIsPlannedWhereIterationsOfTheRunTimeOverlap) {
    Loads loads(64);
    EXPECT_FALSE(Planned(twice_two(loads), {.drain_iterations = false}).plan);
}

TEST(LoadPlanTest, LoadsOfWhatIsOnlyReadInALoopOfTheRunTimeAreBeforeIt) {
    Loads loads(64);
    ProgramBuilder& builder = loads.builder;
    builder.alloc(loads.x)
        .run(loads.load)
        .run(loads.builder.unary(Opcode::Reciprocal, Engine::Vector, loads.y, loads.y));
    builder.loop(2).run(loads.copy).end();
    program::Program program = builder.build();
    program.loops.front().kind = program::LoopKind::Runtime;
    EXPECT_THAT(Planned(std::move(program)).uses(),
                ElementsAre("load x 0 in 0", "reciprocal x 0 in 0", "reciprocal x 0 in 0"));
}

/// The order of loads and uses of four tiles around an instruction, which is called "between".
std::string order_around(Loads& loads, std::uint32_t between) {
    ProgramBuilder& builder = loads.builder;
    const auto load = [&](std::int64_t tile) {
        builder.alloc(loads.x).run(loads.load, {at(affine(tile))});
    };
    const auto use = [&](std::int64_t tile) { builder.run(loads.copy, {at(), at(affine(tile))}); };
    load(0);
    load(1);
    use(0);
    builder.run(between);
    load(2);
    use(1);
    load(3);
    use(2);
    use(3);
    program::Program program = builder.build();
    const std::string known{name(program.templates[between].op)};
    std::string order = Planned(std::move(program)).order();
    const std::size_t begin = order.find(known);
    return order.replace(begin, order.find(',', begin) - begin, "between");
}

TEST(LoadPlanTest, LoadsDoNotPassInstructionsWithRegistersNorWhereCoresMeet) {
    Loads moved(64);
    Loads waited(64);
    const char* const expected =
        "dma_copy 0, dma_copy 1, reciprocal 0, between, "
        "dma_copy 2, reciprocal 1, dma_copy 3, reciprocal 2, reciprocal 3";
    EXPECT_EQ(order_around(moved, moved.builder.add(Opcode::RegisterMove, {Engine::Sync}, {})),
              expected);
    const auto shared = waited.builder.output("shared", Dtype::Float32, {128, 64});
    const auto barrier = waited.builder.add(
        Opcode::CoreBarrier, {Engine::Gpsimd}, {waited.builder.whole(Role::Dst, shared)});
    EXPECT_EQ(order_around(waited, barrier), expected);
}

TEST(LoadPlanTest, LoadsDoNotPassAnExchangeOfCores) {
    Loads loads(64);
    ProgramBuilder& builder = loads.builder;
    const auto mine = builder.tile("mine", Space::Sbuf, Dtype::Float32, {128, 64});
    const auto theirs = builder.tile("theirs", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(mine).alloc(theirs);
    const auto exchange =
        builder.add(Opcode::Sendrecv,
                    {Engine::Dma},
                    {builder.whole(Role::Dst, theirs), builder.whole(Role::Src, mine)});
    EXPECT_EQ(order_around(loads, exchange),
              "dma_copy 0, dma_copy 1, reciprocal 0, between, "
              "dma_copy 2, reciprocal 1, dma_copy 3, reciprocal 2, reciprocal 3");
}

TEST(LoadPlanTest, ALoadBeforeThemIsNotThereBeforeItsBytes) {
    // 4 MiB; what reads a small tile behind its reader can begin no earlier.
    Loads loads(64);
    ProgramBuilder& builder = loads.builder;
    const auto z = builder.tile("z", Space::Sbuf, Dtype::Float32, {128, 8192});
    const auto load = builder.copy(z, builder.input("long", Dtype::Float32, {128, 8192}));
    const auto use =
        builder.add(Opcode::Reciprocal,
                    {Engine::Vector},
                    {builder.whole(Role::Dst, loads.y), builder.part(Role::Data, z, 64)});
    const auto work = builder.tile("work", Space::Sbuf, Dtype::Float32, {128, 64});
    builder.alloc(work).alloc(z).run(load);
    builder.run(builder.add(Opcode::RegisterMove, {Engine::Sync}, {}));
    builder.run(builder.unary(Opcode::TensorCopy, Engine::Scalar, work, work));
    builder.run(use).alloc(loads.x).run(loads.load).run(loads.copy);
    EXPECT_EQ(Planned(builder.build()).order(),
              "dma_copy 0, register_move, tensor_copy 0, dma_copy 0, reciprocal 0, reciprocal 0");
}

TEST(LoadPlanTest, WhatHasToStayInOrderIsNotPlanned) {
    EXPECT_TRUE(Planned(Loads(64).together(4)).plan);
    EXPECT_FALSE(Planned(Loads(64).together(4, true)).plan) << "a loop in order";

    Loads again(64);
    again.builder.alloc(again.x).run(again.load).run(again.copy).run(again.load).run(again.copy);
    EXPECT_FALSE(Planned(again.builder.build()).plan) << "a tile that is loaded again";

    Loads before(64);
    before.builder.alloc(before.x).run(before.copy).run(before.load);
    EXPECT_FALSE(Planned(before.builder.build()).plan) << "a tile that is read before its load";

    Loads unallocated(64);
    unallocated.builder.run(unallocated.load).alloc(unallocated.x).run(unallocated.copy);
    EXPECT_FALSE(Planned(unallocated.builder.build()).plan) << "a tile that is not there yet";

    ProgramBuilder nothing;
    const auto x = nothing.tile("x", Space::Sbuf, Dtype::Float32, {128, 64});
    nothing.alloc(x).run(nothing.add(
        Opcode::Memset, {Engine::Vector}, {nothing.whole(Role::Dst, x)}, {.value = 1.0}));
    EXPECT_FALSE(Planned(nothing.build()).plan) << "a program without loads";
}

/// What random programs are like, and the slots that they have.
struct RandomCase {
    friend std::ostream& operator<<(std::ostream& os, const RandomCase& one) {
        return os << (one.has_few_slots ? "AsFewAsPossible" : "AsWanted")
                  << (one.has_parts ? "InParts" : "");
    }

    bool has_few_slots = false;
    bool has_parts = false;

    [[nodiscard]] Planned planned(unsigned seed) const {
        return Planned(test::random_program(
            seed, {.sbuf_sites = 2, .items = 24, .loaded_sites = 3, .has_parts = has_parts}));
    }
};

class LoadPlanOfRandomPrograms : public testing::TestWithParam<RandomCase> {};

TEST_P(LoadPlanOfRandomPrograms, ChangesNothingButWhenLoadsBegin) {
    int plans = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        Planned planned = GetParam().planned(seed);
        if (!planned.plan) {
            continue;
        }
        ++plans;
        std::vector<std::int64_t> slots(planned.program().buffers.size());
        for (std::uint32_t site = 0; site < slots.size(); ++site) {
            const LoadPlan::Need need = planned.plan->needs()[site];
            ASSERT_LE(need.least, need.wanted);
            slots[site] = GetParam().has_few_slots ? need.least : need.wanted;
            if (planned.plan->has(site)) {
                planned.plan->limit(site, slots[site]);
            }
        }
        std::vector<Executed> loads;
        std::vector<Executed> others;
        const auto sort_out = [&](const program::Step& step) {
            if (step.is_alloc) {
                return;
            }
            const Executed executed = planned.executed(step);
            const auto& operands = planned.program().templates[executed.first].operands;
            const bool is_load = !operands.empty() && operands.front().space == Space::Sbuf &&
                                 planned.plan->has(operands.front().buffer);
            (is_load ? loads : others).push_back(executed);
        };
        program::Cursor cursor(planned.program());
        while (const program::Step* step = cursor.next()) {
            sort_out(*step);
        }
        const auto expected_loads = std::exchange(loads, {});
        const auto expected_others = std::exchange(others, {});
        std::map<SiteInstance, std::int64_t> last_use;
        std::vector<std::map<SiteInstance, std::int64_t>> uses;
        while (const program::Step* step = planned.plan->next()) {
            sort_out(*step);
            if (!step->is_alloc) {
                uses.push_back(planned.slots_of(*step));
                for (const auto& [tile, slot] : uses.back()) {
                    last_use[tile] = std::ssize(uses) - 1;
                }
            }
        }
        EXPECT_EQ(others, expected_others) << "program of seed " << seed;
        EXPECT_THAT(loads, testing::UnorderedElementsAreArray(expected_loads));

        std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> in_slot;
        for (std::int64_t now = 0; now < std::ssize(uses); ++now) {
            for (const auto& [tile, slot] : uses[static_cast<std::size_t>(now)]) {
                EXPECT_LT(slot, slots[tile.first]);
                const auto [place, is_new] = in_slot.try_emplace({tile.first, slot}, tile.second);
                EXPECT_EQ(place->second, tile.second)
                    << "two tiles in a slot of site " << tile.first << ", seed " << seed;
                if (last_use[tile] == now) {
                    in_slot.erase(place);
                }
            }
        }
    }
    EXPECT_GT(plans, 100);
}

TEST_P(LoadPlanOfRandomPrograms, LoadsAllOfATileBeforeItsFirstReader) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Planned planned = GetParam().planned(seed);
        std::set<SiteInstance> read;
        while (const program::Step* step = planned.plan ? planned.plan->next() : nullptr) {
            if (step->is_alloc) {
                continue;
            }
            const auto& operands =
                planned.program().templates[planned.program().runs[step->run].instruction].operands;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                const SiteInstance tile{operands[i].buffer, step->at[i].instance};
                if (operands[i].space != Space::Sbuf || !planned.plan->has(tile.first)) {
                    continue;
                }
                if (operands[i].reads()) {
                    read.insert(tile);
                } else {
                    EXPECT_FALSE(read.contains(tile)) << "program of seed " << seed;
                }
            }
        }
    }
}

TEST_P(LoadPlanOfRandomPrograms, KeepsInstructionsInTheirParts) {
    for (unsigned seed = 0; GetParam().has_parts && seed < 100; ++seed) {
        Planned planned = GetParam().planned(seed);
        if (!planned.plan) {
            continue;
        }
        std::map<Executed, std::vector<std::int64_t>> expected;
        std::map<Executed, std::vector<std::int64_t>> found;
        const auto number =
            [&, part = std::int64_t{0}, iteration = std::int64_t{0}](
                auto& numbers, const program::Step& step, std::int64_t ended) mutable {
                const Executed executed = planned.executed(step);
                part += ended != iteration ? 1 : 0;
                iteration = ended;
                numbers[executed].push_back(part);
                const InstructionTemplate& what = planned.program().templates[executed.first];
                part += what.op == Opcode::RegisterMove ? 1 : 0;
            };
        RuntimeIterations iterations(planned.program(), {});
        program::Cursor cursor(planned.program());
        auto number_expected = number;
        while (const program::Step* step = cursor.next()) {
            if (!step->is_alloc) {
                number_expected(expected, *step, iterations.ended_before(*step));
            }
        }
        auto number_found = number;
        while (const program::Step* step = planned.plan->next()) {
            if (!step->is_alloc) {
                number_found(found, *step, planned.plan->ended_iterations());
            }
        }
        EXPECT_EQ(found, expected) << "program of seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Slots,
                         LoadPlanOfRandomPrograms,
                         testing::Values(RandomCase{},
                                         RandomCase{.has_few_slots = true},
                                         RandomCase{.has_parts = true},
                                         RandomCase{.has_few_slots = true, .has_parts = true}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace trnsim::lowering
