// SPDX-License-Identifier: Apache-2.0
// Programs of several cores: a part for each, and HBM buffers that they share by name.
#include "trace_text.hpp"
#include "trnsim/program/reader.hpp"
#include "trnsim/program/writer.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace trnsim::program {
namespace {

/// Two cores that copy a shared tensor to themselves.
std::string two_cores() {
    const auto part = [](int core) {
        const std::string k = std::to_string(core);
        const std::string first = std::to_string(2 * core);
        const std::string second = std::to_string(2 * core + 1);
        return R"({"record":"core","core":)" + k + "}\n" + R"({"record":"buffer","id":)" + first +
               R"(,"name":"x","space":"hbm","kind":"input","dtype":"float32","shape":[128,64],"shared":"x"})" +
               "\n" + R"({"record":"buffer","id":)" + second +
               R"(,"name":"t","space":"sbuf","dtype":"float32","shape":[128,64]})" + "\n" +
               R"({"record":"template","id":)" + k +
               R"(,"op":"dma_copy","engines":["dma"],"operands":[{"role":"dst","access":"write","buffer":)" +
               second +
               R"(,"partitions":128,"pattern":[[1,64]]},{"role":"src","access":"read","buffer":)" +
               first + R"(,"pattern":[[1,8192]]}]})" + "\n" + R"({"record":"alloc","buffer":)" +
               second + "}\n" + R"({"record":"run","template":)" + k + R"(,"at":[{},{}]})" + "\n";
    };
    return R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"k","api":"nki","cores":2})"
           "\n" +
           part(0) + part(1) + R"({"record":"summary","instructions":2})" + "\n";
}

Program parsed(const std::string& text) {
    std::istringstream stream(text);
    return read(stream, "t.nkt");
}

TEST(CoreRecordTest, EachCoreHasNodesOfItsOwn) {
    const Program program = parsed(two_cores());
    EXPECT_EQ(program.header.cores, 2);
    ASSERT_EQ(program.other_cores.size(), 1U);
    EXPECT_EQ(program.nodes.size(), 2U);
    EXPECT_EQ(program.other_cores[0].nodes.size(), 2U);
    EXPECT_EQ(program.buffers[0].shared, "x");
}

TEST(CoreRecordTest, WhatIsWrittenIsReadBack) {
    const Program program = parsed(two_cores());
    std::ostringstream text;
    write(program, text);
    EXPECT_EQ(parsed(text.str()), program);
}

TEST(CoreRecordTest, RejectsCoresOutOfOrderAndMissingOnes) {
    EXPECT_EQ(error_of(edited(two_cores(), R"("core":0)", R"("core":1)")),
              "t.nkt:2: core: \"core\" is 1, the next one is 0; count from 0 in order");
    EXPECT_EQ(error_of(edited(two_cores(), R"("cores":2)", R"("cores":3)")),
              "t.nkt:14: summary: the header says 3 cores, but 2 have a program; add \"core\"");
}

TEST(CoreRecordTest, RejectsACoreThatTheHeaderDoesNotAnnounce) {
    EXPECT_EQ(error_of(edited(two_cores(), R"(,"cores":2)", "")),
              "t.nkt:2: core: the header has no \"cores\"; write it there, or remove the record");
}

TEST(CoreRecordTest, SharedBuffersAreEqualOnAllCores) {
    const std::string text = two_cores();
    const std::size_t second = text.rfind(R"("shape":[128,64],"shared")");
    std::string other = text;
    other.replace(second, std::string(R"("shape":[128,64])").size(), R"("shape":[64,128])");
    EXPECT_NE(error_of(other).find("whose type or shape differs"), std::string::npos)
        << error_of(other);
}

TEST(CoreRecordTest, DeclarationsBelongToTheirCore) {
    const std::string wrong =
        edited(two_cores(), R"("buffer":2,"pattern")", R"("buffer":0,"pattern")");
    EXPECT_NE(error_of(wrong).find("0, which belongs to another core; a buffer that cores share"),
              std::string::npos)
        << error_of(wrong);
}

TEST(CoreRecordTest, NothingStandsBeforeTheFirstCore) {
    EXPECT_NE(error_of(edited(two_cores(), "{\"record\":\"core\",\"core\":0}\n", ""))
                  .find("several cores, but none has begun"),
              std::string::npos);
}

TEST(CoreRecordTest, ACollectiveNamesItsRanks) {
    const std::string operands = dst('h', 0, 64) + "," + operand("src", 'h', 0, 32);
    const auto gather = [&](std::string_view attributes) {
        return around_template("all_gather", R"("dma")", operands, attributes);
    };
    const Program program = read_text(gather(R"("groups":[[0,1],[2,3]],"bytes":128)"));
    EXPECT_EQ(program.templates[0].attributes.groups.size(), 2U);
    EXPECT_NE(error_of(gather(R"("groups":[],"bytes":128)")).find("write an array of arrays"),
              std::string::npos);
    EXPECT_NE(error_of(gather(R"("bytes":128)")).find("\"groups\""), std::string::npos);
}

TEST(CoreRecordTest, RanksChannelsAndBytesOfACollectiveFitEachOther) {
    const std::string operands = dst('h', 0, 64) + "," + operand("src", 'h', 0, 32);
    const auto error = [&](std::string_view op, std::string_view attributes) {
        return error_of(around_template(op, R"("dma")", operands, attributes));
    };
    EXPECT_EQ(error("all_to_all", R"("groups":[[0,1]],"bytes":128)"), "no error");
    EXPECT_EQ(error("collective_permute", R"("pairs":[[0,1],[1,0]],"bytes":128)"), "no error");
    const auto expect = [&](std::string_view op,
                            std::string_view attributes,
                            std::string_view message) {
        EXPECT_NE(error(op, attributes).find(message), std::string::npos) << error(op, attributes);
    };
    expect("all_to_all", R"("groups":[[0,1],[2,0]],"bytes":128)", "\"groups\" has rank 0 twice;");
    expect("all_to_all",
           R"("groups":[[0,1]],"bytes":127)",
           R"("bytes" is 127, but what "src" holds is 128;)");
    expect("collective_permute",
           R"("pairs":[[0,1],[0,2]],"bytes":128)",
           "\"pairs\" lets rank 0 send twice;");
    expect("collective_permute",
           R"("pairs":[[0,2],[1,2]],"bytes":128)",
           "\"pairs\" lets rank 2 receive twice;");
    expect("collective_permute",
           R"("pairs":[[0,1]],"channels":2,"bytes":128)",
           R"("channels" is 2, but there are 1 of "dst";)");
    expect("collective_permute", R"("pairs":[[0,1]],"channels":5,"bytes":128)", "1 to 4");
    expect("collective_permute",
           R"("pairs":[[0,1,2]],"bytes":128)",
           "\"pairs\", entry 0, is an array of 3; write [from, to]");
    expect("all_to_all", R"("groups":[[]],"bytes":128)", "is an array of 0; write the ranks");
}

TEST(CoreRecordTest, ABarrierNamesItsCores) {
    const std::string data = operand("dst", 'h', 0, 32);
    EXPECT_NE(error_of(around_template("core_barrier", R"("sync")", data, R"("cores":[])"))
                  .find("\"cores\" is empty; name the cores that take part"),
              std::string::npos)
        << error_of(around_template("core_barrier", R"("sync")", data, R"("cores":[])"));
}

TEST(CoreRecordTest, AnExchangeNamesCoresThatAChipHas) {
    const std::string operands = dst('s', 32, 8) + "," + operand("src", 's', 32, 8);
    const auto error = [&](std::string_view attributes) {
        return error_of(around_template("sendrecv", R"("dma")", operands, attributes));
    };
    EXPECT_EQ(error(R"("send_to":7,"recv_from":7,"pipe":2147483647)"), "no error");
    for (const std::string_view wrong : {R"("send_to":8,"recv_from":7)",
                                         R"("send_to":7,"recv_from":8)",
                                         R"("send_to":-1,"recv_from":0)",
                                         R"("send_to":0,"recv_from":0,"pipe":2147483648)"}) {
        EXPECT_NE(error(wrong).find("allowed is 0 to "), std::string::npos) << error(wrong);
    }
}

TEST(CoreRecordTest, CountsOfTheRunTimeEndACollective) {
    const std::string operands =
        dst('h', 0, 64) + "," + operand("src", 'h', 0, 32) + "," + operand("index", 'h', 0, 4);
    for (const std::string_view op : {"all_gather", "all_to_all"}) {
        EXPECT_EQ(
            error_of(around_template(op, R"("dma")", operands, R"("groups":[[0,1]],"bytes":128)")),
            "no error");
    }
}

TEST(CoreRecordTest, EveryOperationMayEndWithAnIndex) {
    std::string moved = operand("data", 's', 32, 8);
    moved.insert(moved.rfind('}'), R"(,"indirect":"index")");
    const std::string index = "," + operand("index", 's', 1, 1);
    const std::string copy = dst('s', 32, 8) + "," + moved + index;
    EXPECT_EQ(error_of(around_template("tensor_copy", R"("vector")", copy)), "no error");
    const std::string plain = dst('s', 32, 8) + "," + operand("data", 's', 32, 8) + index;
    EXPECT_NE(error_of(around_template("tensor_copy", R"("vector")", plain)).find("has no place"),
              std::string::npos);
}

}  // namespace
}  // namespace trnsim::program
