// SPDX-License-Identifier: Apache-2.0
// Tables that the simulator wrote and profiles become the same kind of table, or an error that
// names the place.
#include "trnsim/report/instruction_table.hpp"

#include "../../../src/report/opcode_words.hpp"
#include "../../../src/report/profile_operands.hpp"
#include "../../../src/report/profile_packets.hpp"
#include "golden.hpp"
#include "sample_tables.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace trnsim::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

std::string error_of_table(const std::string& text) {
    try {
        static_cast<void>(read_instructions("a.json", text));
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

std::string error_of_table(const Json& json) {
    return error_of_table(json.dump());
}

std::vector<std::string> titles(const InstructionTable& table, Engine engine) {
    std::vector<std::string> result;
    for (const auto& instruction : table.engines[static_cast<std::size_t>(engine)]) {
        result.push_back(table.kind_of(instruction).title());
    }
    return result;
}

const InstructionTable::Instruction& nth(const InstructionTable& table,
                                         Engine engine,
                                         std::size_t place) {
    return table.engines[static_cast<std::size_t>(engine)].at(place);
}

TEST(InstructionTableTest, IsTheSameByteForByte) {
    EXPECT_EQ(moved_line("sample_instructions.json", simulated_table()), "");
}

TEST(InstructionTableTest, FilesAreToldApartByTheirContents) {
    EXPECT_EQ(file_kind(simulated_table()), FileKind::Instructions);
    EXPECT_EQ(file_kind(profiled().dump()), FileKind::Profile);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "chip": "trainium2"})"), FileKind::Result);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "calls": []})"), FileKind::Calls);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "chips": []})"), FileKind::Comparison);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "changes": []})"), FileKind::Difference);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "families": []})"), FileKind::Validation);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "fields": []})"), FileKind::Description);
    EXPECT_EQ(file_kind(R"({"kind": "instruction_difference"})"), FileKind::Difference);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "neuron_core_version": {}})"), FileKind::Chip);
    EXPECT_EQ(file_kind(R"({"schema_version": 1, "short_name": "mine"})"), FileKind::Chip);
    EXPECT_EQ(file_kind(R"({"instruction": 3})"), FileKind::OtherJson);
    EXPECT_EQ(file_kind("[]"), FileKind::OtherJson);
    EXPECT_EQ(file_kind("{"), FileKind::NoJson);
    EXPECT_EQ(file_kind(""), FileKind::NoJson);
}

TEST(InstructionTableTest, ASimulatedTableKeepsOrderWaitsAndTransfers) {
    const InstructionTable table = read_instructions("a.json", simulated_table());
    EXPECT_EQ(table.origin, InstructionTable::Origin::Simulation);
    EXPECT_EQ(table.title, "small on trainium2, simulated");
    EXPECT_EQ(table.total, ns(7900));
    EXPECT_EQ(table.kernel_start, ns(1000));
    EXPECT_THAT(titles(table, Engine::Tensor), ElementsAre("LDWEIGHTS 128", "MATMUL 128"));
    EXPECT_THAT(titles(table, Engine::Vector),
                ElementsAre("COPY 128", "TENSOR_REDUCE 1", "TENSOR_REDUCE 1"));
    EXPECT_THAT(
        titles(table, Engine::Dma),
        ElementsAre("load 64.00 KiB", "load 64.00 KiB", "store 64.00 KiB", "store 64.00 KiB"));
    EXPECT_EQ(nth(table, Engine::Tensor, 0).waited, ns(2100.5));
    EXPECT_EQ(nth(table, Engine::Tensor, 0).waited_for, Engine::Dma);
    EXPECT_EQ(nth(table, Engine::Tensor, 1).waited_for, std::nullopt);
    EXPECT_EQ(table.others[static_cast<std::size_t>(Engine::Vector)].at("EVENT_SEMAPHORE"), 1);
}

TEST(InstructionTableTest, AWaitOfItsOwnIsTheNextInstructions) {
    const InstructionTable table = read_instructions("a.json", simulated_table());
    EXPECT_EQ(nth(table, Engine::Vector, 0).waited, ns(2700 + 50));
    EXPECT_EQ(nth(table, Engine::Vector, 1).waited, ns(0));
}

TEST(InstructionTableTest, OnlyTheCoreThatEndedLastIsKept) {
    Json json = Json::parse(simulated_table());
    json["queues"].push_back({{"core", "device.neuron_core_1"}, {"name", "vector_engine"}});
    Json late = json["instructions"][5];
    late["queue"] = 4;
    late["start_ns"] = 9000;
    json["instructions"].push_back(late);
    const InstructionTable table = read_instructions("a.json", json.dump());
    EXPECT_THAT(titles(table, Engine::Tensor), IsEmpty());
    EXPECT_THAT(titles(table, Engine::Vector), ElementsAre("COPY 128"));
    EXPECT_THAT(table.notes, ElementsAre(HasSubstr("only device.neuron_core_1")));
}

TEST(InstructionTableTest, WrongFieldsOfATableAreNamedWithTheirPointer) {
    const Json json = Json::parse(simulated_table());
    const auto changed = [&json](const std::string& pointer, const Json& value) {
        Json copy = json;
        copy[Json::json_pointer(pointer)] = value;
        return error_of_table(copy);
    };
    const auto without = [&json](const std::string& list, const std::string& key) {
        Json copy = json;
        copy[Json::json_pointer(list)].erase(key);
        return error_of_table(copy);
    };
    EXPECT_THAT(changed("/schema_version", 2), StartsWith("a.json: /schema_version: 2, but"));
    EXPECT_THAT(changed("/instructions/3/start_ns", "soon"),
                StartsWith("a.json: /instructions/3/start_ns: is no number; give a file that"));
    EXPECT_THAT(changed("/instructions/3/duration_ns", -1), HasSubstr("/duration_ns: is -1, but"));
    EXPECT_THAT(changed("/instructions/2/template", 99),
                HasSubstr("/instructions/2/template: is 99, but there are 7"));
    EXPECT_THAT(changed("/instructions/2/queue", -1),
                HasSubstr("/instructions/2/queue: is no whole"));
    EXPECT_THAT(changed("/instructions/2/waited_for", Json{{"queue", 17}}),
                HasSubstr("/instructions/2/waited_for: names no queue"));
    EXPECT_THAT(changed("/templates/1/engine", "warp"),
                HasSubstr("/templates/1/engine: is no engine"));
    EXPECT_THAT(changed("/instructions", Json::array()), HasSubstr("nothing to compare"));
    EXPECT_THAT(without("/instructions/0", "order"),
                HasSubstr("/instructions/0/order: is missing"));
    EXPECT_THAT(without("", "queues"), StartsWith("a.json: /queues: is missing"));
    EXPECT_THAT(error_of_table(simulated_table().substr(0, 300)), HasSubstr("give the whole file"));
}

TEST(ProfileTest, KeepsTheKernelsInstructionsInTheProfilersWords) {
    const InstructionTable table = read_instructions("p.json", profiled().dump());
    EXPECT_EQ(table.origin, InstructionTable::Origin::Profile);
    EXPECT_EQ(table.total, ns(8500));
    EXPECT_EQ(table.kernel_start, ns(900));
    EXPECT_THAT(titles(table, Engine::Tensor), ElementsAre("LDWEIGHTS 128", "MATMUL 128"));
    EXPECT_THAT(titles(table, Engine::Vector), ElementsAre("COPY 128", "TENSOR_REDUCE 2"));
    EXPECT_THAT(titles(table, Engine::Scalar), ElementsAre("ACT_TABLE_LOAD"));
    EXPECT_THAT(titles(table, Engine::Dma),
                ElementsAre("load 64.00 KiB", "load 64.00 KiB", "store 128.0 KiB"));
    EXPECT_EQ(table.others[static_cast<std::size_t>(Engine::Sync)].at("DMA_DIRECT2D"), 2);
    EXPECT_EQ(table.kind_of(nth(table, Engine::Vector, 1)).source, "I-6");
    EXPECT_THAT(table.notes, IsEmpty());
}

TEST(ProfileTest, TheHalvesOfAnFp32MatmulAreOneInstruction) {
    const InstructionTable table = read_instructions("p.json", profiled().dump());
    const auto& matmul = nth(table, Engine::Tensor, 1);
    EXPECT_EQ(matmul.pieces, 2);
    EXPECT_EQ(matmul.start, ns(3100));
    EXPECT_EQ(matmul.duration, ns(700));
}

TEST(ProfileTest, TheSameInstructionAgainIsAnotherOne) {
    Json json = profiled();
    for (Json& instruction : json["instruction"]) {
        instruction.erase("pc");  // A loop on the device comes back to the same one.
    }
    EXPECT_THAT(titles(read_instructions("p.json", json.dump()), Engine::Tensor),
                ElementsAre("LDWEIGHTS 128", "MATMUL 128", "LDWEIGHTS 128", "MATMUL 128"));
}

TEST(ProfileTest, AWaitIsNoLongerThanTheEngineWasFree) {
    const InstructionTable table = read_instructions("p.json", profiled().dump());
    EXPECT_EQ(nth(table, Engine::Tensor, 0).waited, ns(2050));  // With its EVENT_SEMAPHORE.
    EXPECT_EQ(nth(table, Engine::Tensor, 0).waited_for, Engine::Dma);
    EXPECT_EQ(nth(table, Engine::Vector, 0).waited, ns(3100));  // Says 3500, but starts at 4000.
    EXPECT_EQ(nth(table, Engine::Vector, 0).waited_for, Engine::Tensor);
    EXPECT_EQ(nth(table, Engine::Vector, 1).waited, ns(10));

    Json json = profiled();
    for (Json& instruction : json["instruction"]) {
        instruction["evt_wait_time"] = instruction["opcode"] == "TENSOR_REDUCE" ? 1000 : 0;
    }
    EXPECT_EQ(nth(read_instructions("p.json", json.dump()), Engine::Vector, 1).waited, ns(50));
}

TEST(ProfileTest, TransfersEndWithTheirLastPacket) {
    const InstructionTable table = read_instructions("p.json", profiled().dump());
    EXPECT_EQ(nth(table, Engine::Dma, 0).duration, ns(2120 - 900));
    EXPECT_EQ(nth(table, Engine::Dma, 1).duration, ns(2640 - 1500));
    EXPECT_EQ(nth(table, Engine::Dma, 2).duration, ns(6000 - 4500));
    EXPECT_EQ(table.kind_of(nth(table, Engine::Dma, 2)).descriptors, 256);
}

TEST(ProfileTest, PacketsThatDoNotAddUpLeaveDurationsUnknown) {
    Json json = profiled();
    json["dma"].erase(json["dma"].begin() + 1);
    const InstructionTable table = read_instructions("p.json", json.dump());
    EXPECT_EQ(nth(table, Engine::Dma, 0).duration, std::nullopt);
    EXPECT_EQ(nth(table, Engine::Dma, 2).duration, ns(1500));
    EXPECT_THAT(table.notes, ElementsAre(HasSubstr("that sync triggered")));
    json.erase("dma");
    EXPECT_EQ(nth(read_instructions("p.json", json.dump()), Engine::Dma, 2).duration, std::nullopt);
}

TEST(ProfileTest, WithoutASummaryTheLastInstructionEndsTheRun) {
    Json json = profiled();
    json.erase("summary");
    EXPECT_EQ(read_instructions("p.json", json.dump()).total, ns(4540));
}

TEST(ProfileTest, WrongFieldsAreNamedWithTheirPointer) {
    const auto changed = [](const std::string& pointer, const Json& value) {
        Json json = profiled();
        json[Json::json_pointer(pointer)] = value;
        return error_of_table(json);
    };
    EXPECT_THAT(changed("/instruction/5/duration", "long"),
                StartsWith("a.json: /instruction/5/duration: is no number"));
    EXPECT_THAT(changed("/instruction/5/timestamp", -4),
                HasSubstr("/instruction/5/timestamp: is -4"));
    EXPECT_THAT(changed("/instruction/2/operands", "src_elem_size=4"),
                HasSubstr("/instruction/2/operands: has no src_elem_size, src_pattern"));
    EXPECT_THAT(changed("/instruction/0", 7), HasSubstr("/instruction/0: is no object"));
    EXPECT_THAT(changed("/instruction", Json::array()), HasSubstr("none is the kernel's"));
    EXPECT_THAT(changed("/dma/3/transfer_size", "x"),
                HasSubstr("/dma/3/transfer_size: is no number"));
    Json json = profiled();
    json["instruction"][4].erase("evt_wait_time");
    EXPECT_THAT(error_of_table(json), HasSubstr("/instruction/4/evt_wait_time: is missing"));
    EXPECT_THAT(error_of_table(profiled().dump().substr(0, 500)), StartsWith("a.json: no JSON"));
}

TEST(ProfileTest, LabelsOfNoEngineAreLeftOutAndNamed) {
    Json json = profiled();
    json["instruction"].back()["label"] = "CcCore";
    EXPECT_THAT(read_instructions("p.json", json.dump()).notes,
                ElementsAre("instructions of \"CcCore\" are left out"));
}

TEST(ProfileOperandsTest, TheLargestOperandIsTheProductOfItsCounts) {
    EXPECT_EQ(largest_operand("src=fp32@0x4800[1,1,1,1][1,4,1,1] dst=fp32@0x1[1,1][2,1]"), 4);
    EXPECT_EQ(largest_operand(" table_sel=0"), 0);
    EXPECT_EQ(largest_operand("src=fp32@0x4800[1,1][1,x]"), 0);
    EXPECT_EQ(largest_operand("src=[1][9999999999999,9999999999999]"), 0);
    EXPECT_EQ(largest_operand("src=[1][12"), 0);
}

TEST(ProfileOperandsTest, WhatWasWaitedForIsTheOneThatIsCompared) {
    EXPECT_EQ(waited_for("S[5] (Tensor)>=4 S[4] (Scalar)++@complete"), Engine::Tensor);
    EXPECT_EQ(waited_for("S[4] (Scalar)++@complete S[26] (qGpSimdDynamic)>=16"), Engine::Dma);
    EXPECT_EQ(waited_for("S[4] (Scalar)++@complete"), std::nullopt);
    EXPECT_EQ(waited_for("S[4"), std::nullopt);
}

TEST(ProfileOperandsTest, ATransferHasItsSourcesBytesAndTheShorterElements) {
    const auto moved = transfer_of(
        "src_elem_size=2048 dst_elem_size=512 src_pattern=[2048,1][128,1] "
        "dst_pattern=[9,9][4,128]");
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->bytes, 262'144);
    EXPECT_EQ(moved->elements, 512);
    EXPECT_FALSE(transfer_of("src_elem_size=2048"));
    EXPECT_FALSE(transfer_of("src_elem_size=x src_pattern=[1][2] dst_pattern=[1][2]"));
}

TEST(OpcodeWordsTest, AreTheProfilersOrTheNameInCapitals) {
    EXPECT_EQ(profiler_word("nc_matmul", Engine::Tensor, false), "MATMUL");
    EXPECT_EQ(profiler_word("nc_transpose", Engine::Tensor, true), "MATMUL transpose");
    EXPECT_EQ(profiler_word("nc_transpose", Engine::Vector, true), "NC_TRANSPOSE");
    EXPECT_EQ(profiler_word("activation_reduce", Engine::Scalar, false), "ACTIVATE");
    EXPECT_EQ(profiler_word("tensor_tensor_scan", Engine::Vector, false), "TENSOR_TENSOR_SCAN");
    EXPECT_TRUE(waits_or_triggers("EVENT_SEMAPHORE"));
    EXPECT_TRUE(waits_or_triggers("DMA_DIRECT2D"));
    EXPECT_FALSE(waits_or_triggers("ACT_TABLE_LOAD"));
}

TEST(PacketQueueTest, WithoutPacketsNoEndIsKnown) {
    EXPECT_THAT(PacketQueue().ends(3), IsEmpty());
}

}  // namespace
}  // namespace trnsim::report
