// SPDX-License-Identifier: Apache-2.0
// Who waits for whom, and meetings to which nobody could come.
#include "trnsim/lowering/dependencies/meeting.hpp"

#include "support/program_builder.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace trnsim::lowering {
namespace {

using testing::HasSubstr;

InstructionTemplate barrier(std::vector<std::int32_t> cores) {
    return {.op = Opcode::CoreBarrier, .attributes = {.cores = std::move(cores)}};
}

InstructionTemplate exchange(std::int64_t send_to, std::int64_t recv_from, std::int64_t pipe = 0) {
    return {.op = Opcode::Sendrecv,
            .attributes = {.send_to = send_to, .recv_from = recv_from, .pipe = pipe}};
}

/// What check_meetings() says of an instruction of core 1 of three; empty: nothing.
std::string complaint(const InstructionTemplate& instruction) {
    program::Program program;
    program.header.cores = 3;
    program.templates.push_back(instruction);
    program.runs.push_back({.instruction = 0});
    program.nodes.push_back({.kind = program::Node::Kind::Run, .index = 0});
    try {
        check_meetings(program, 1);
        return {};
    } catch (const ProgramError& error) {
        return error.what();
    }
}

TEST(MeetingTest, ABarrierIsMetByItsCoresOrAll) {
    EXPECT_EQ(plan_meeting(barrier({}), 3).cores, 0b111U);
    EXPECT_EQ(plan_meeting(barrier({0, 2}), 3).cores, 0b101U);
    EXPECT_EQ(plan_meeting(barrier({}), 3).channel, 0U);
}

TEST(MeetingTest, AnExchangeIsMetByThePartnerOnThePipe) {
    EXPECT_EQ(plan_meeting(exchange(2, 2), 4).cores, 0b100U);
    EXPECT_NE(plan_meeting(exchange(2, 2, 0), 4).channel,
              plan_meeting(exchange(2, 2, 1), 4).channel);
    EXPECT_NE(plan_meeting(exchange(2, 2), 4).channel, plan_meeting(barrier({}), 4).channel);
    EXPECT_EQ(plan_meeting(exchange(0, 0), 1).cores, 0U) << "there is nobody else";
}

TEST(MeetingTest, OtherInstructionsWaitForNobody) {
    EXPECT_EQ(plan_meeting({.op = Opcode::DmaCopy}, 2).cores, 0U);
    EXPECT_EQ(complaint({.op = Opcode::DmaCopy}), "");
}

TEST(MeetingTest, CoresOfABarrierAreThoseThatComeToIt) {
    EXPECT_EQ(complaint(barrier({})), "");
    EXPECT_EQ(complaint(barrier({2, 1})), "");
    EXPECT_THAT(complaint(barrier({0, 2})),
                HasSubstr("core_barrier: core 1 comes to it and is not"));
    EXPECT_THAT(complaint(barrier({1, 1})), HasSubstr("names a core twice; name each once"));
    EXPECT_THAT(complaint(barrier({1, 3})),
                HasSubstr("waits for core 3, but the program has 3 cores"));
}

TEST(MeetingTest, TwoCoresExchangeWithEachOther) {
    EXPECT_EQ(complaint(exchange(0, 0)), "");
    EXPECT_THAT(complaint(exchange(0, 2)),
                HasSubstr("sendrecv: core 1 sends to core 0 and receives from core 2, but two "
                          "cores exchange with each other"));
    EXPECT_THAT(complaint(exchange(1, 1)), HasSubstr("core 1 exchanges with itself"));
    EXPECT_THAT(complaint(exchange(3, 3)),
                HasSubstr("core 1 exchanges with core 3, but the program has 3 cores"));
}

}  // namespace
}  // namespace trnsim::lowering
