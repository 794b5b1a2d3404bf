// SPDX-License-Identifier: Apache-2.0
// The template record: operands, roles, attributes, engines and spaces.
#include "trace_text.hpp"
#include "trnsim/program/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace trnsim::program {
namespace {

const std::string kCopy = dst('s', 128, 8) + "," + operand("data", 's', 128, 8);

TEST(TemplateRecordTest, KeepsAllKeys) {
    const Program program = read_text(sample());
    InstructionTemplate copy;
    copy.op = Opcode::DmaCopy;
    copy.engines = {Engine::Dma};
    copy.operands = {{.role = Role::Dst,
                      .access = Access::Write,
                      .space = Space::Sbuf,
                      .dtype = Dtype::Bfloat16,
                      .buffer = 1,
                      .partitions = 128,
                      .pattern = {{1, 512}}},
                     {.role = Role::Src,
                      .access = Access::Read,
                      .space = Space::Hbm,
                      .dtype = Dtype::Bfloat16,
                      .buffer = 0,
                      .pattern = {{512, 128}, {1, 512}}}};
    copy.source = {{0, 42}};
    EXPECT_EQ(program.templates[0], copy);
    EXPECT_EQ(program.templates[1].attributes.function, "exp");
    EXPECT_EQ(program.templates[1].attributes.reduce_op, "add");
    EXPECT_EQ(program.templates[1].at(Role::ReduceResult).pattern, AccessPattern{});
}

TEST(TemplateRecordTest, TakesTheDtypeOfTheBufferUnlessItIsViewed) {
    const std::string view =
        edited(sample(), "\"pattern\":[[2,256]]", R"("pattern":[[1,256]],"dtype":"float32")");
    const Program program = read_text(edited(view, "\"offset\":1}", "\"offset\":0}"));
    EXPECT_EQ(program.templates[1].at(Role::Data).dtype, Dtype::Float32);
    EXPECT_EQ(program.templates[0].at(Role::Dst).dtype, Dtype::Bfloat16);
}

TEST(TemplateRecordTest, AcceptsEveryOperation) {
    const Program program =
        read_file(TRNSIM_SOURCE_DIR "/tests/fuzz/corpus/program_reader/all_operations.nkt");
    std::set<Opcode> seen;
    for (const InstructionTemplate& each : program.templates) {
        seen.insert(each.op);
    }
    EXPECT_EQ(seen.size(), all_opcodes().size());
}

TEST(TemplateRecordTest, RejectsUnknownOperationsAndNamesTheNearest) {
    EXPECT_EQ(error_of(around_template("nc_matmult", "\"tensor\"", "")),
              "t.nkt:5: template 0: \"op\" is \"nc_matmult\", an unknown name; did you mean "
              "\"nc_matmul\"?");
}

TEST(TemplateRecordTest, RefersToDeclaredBuffers) {
    EXPECT_EQ(
        error_of(edited(sample(),
                        "\"role\":\"src\",\"access\":\"read\",\"buffer\":0",
                        "\"role\":\"src\",\"access\":\"read\",\"buffer\":3")),
        "t.nkt:7: template 0 (dma_copy), operand 1 (src): \"buffer\" is 3, past the 3 declared "
        "so far; declare it before");
}

TEST(TemplateRecordTest, PartitionsAreForOnChipOperands) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"buffer\":0,", "\"buffer\":0,\"partitions\":1,")),
        "t.nkt:7: template 0 (dma_copy), operand 1 (src): \"partitions\" is for sbuf and psum; "
        "leave it out of an hbm operand");
    EXPECT_EQ(error_of(edited(
                  sample(), "\"partitions\":128,\"pattern\":[[1,512]]", "\"pattern\":[[1,512]]")),
              "t.nkt:7: template 0 (dma_copy), operand 0 (dst): key \"partitions\" is missing; an "
              "operand in sbuf needs it");
    EXPECT_EQ(fault_of(around_template("memset", "\"vector\"", dst('s', 129, 8), "\"value\":0")),
              "(memset), operand 0 (dst): \"partitions\" is 129, allowed is 1 to 128");
}

TEST(TemplateRecordTest, PatternsAreShortListsOfPairs) {
    const auto with = [](const std::string& pattern) {
        return fault_of(
            edited(around_template("memset", "\"vector\"", dst('s', 1, 8), "\"value\":0"),
                   "[[1,8]]",
                   pattern));
    };
    EXPECT_EQ(with("[[1]]"),
              "(memset), operand 0 (dst): \"pattern\", entry 0, is an array of 1; write [stride, "
              "count]");
    EXPECT_EQ(with("[1,8]"),
              "(memset), operand 0 (dst): \"pattern\", entry 0, is an integer; write an array");
    EXPECT_EQ(
        with("[[1,2],[1,0]]"),
        "(memset), operand 0 (dst): \"pattern\", entry 1, is 0, allowed is 1 to 281474976710656");
    EXPECT_EQ(
        with("[[1,1],[1,1],[1,1],[1,1],[1,1]]"),
        "(memset), operand 0 (dst): \"pattern\" is longer than 4 pairs, the limit in sbuf; merge "
        "or split it");
}

TEST(TemplateRecordTest, HbmPatternsHaveUpToSixPairs) {
    const std::string six = "[[1,1],[1,1],[1,1],[1,1],[1,1],[1,512]]";
    const std::string text = around_template(
        "dma_copy", "\"dma\"", dst('s', 1, 512) + "," + operand("src", 'h', 1, 512));
    const auto with = [&text](const std::string& pattern) {
        return fault_of(edited(
            text, R"("buffer":0,"pattern":[[1,512]])", R"("buffer":0,"pattern":)" + pattern));
    };
    EXPECT_EQ(with(six), "no error");
    EXPECT_EQ(
        with("[[1,1]," + six.substr(1)),
        "(dma_copy), operand 1 (src): \"pattern\" is longer than 6 pairs, the limit in hbm; merge "
        "or split it");
}

TEST(TemplateRecordTest, RejectsPatternsThatOverflow) {
    const auto with = [](const std::string& pattern) {
        return fault_of(
            edited(around_template("memset", "\"vector\"", dst('s', 1, 8), "\"value\":0"),
                   "[[1,8]]",
                   pattern));
    };
    EXPECT_EQ(
        with("[[0,16777216],[0,33554432]]"),
        "(memset), operand 0 (dst): \"pattern\" is more than 281474976710656 elements in all; "
        "split it");
    EXPECT_EQ(
        with("[[281474976710656,1000]]"),
        "(memset), operand 0 (dst): \"pattern\" is reaching beyond 2^56 elements; correct the "
        "strides");
    EXPECT_EQ(with("[[-1000000000000000,2]]"),
              "(memset), operand 0 (dst): \"pattern\", entry 0, is -1000000000000000, allowed is "
              "-281474976710656 to 281474976710656");
}

TEST(TemplateRecordTest, RolesAreThoseOfTheOperationInOrder) {
    EXPECT_EQ(
        fault_of(around_template("nc_matmul",
                                 "\"tensor\"",
                                 dst('p', 128, 512) + "," + operand("moving", 's', 128, 512) + "," +
                                     operand("stationary", 's', 128, 128))),
        "(nc_matmul): operand 1 should be \"stationary\"; nc_matmul takes dst, stationary, moving "
        "in this order");
    EXPECT_EQ(
        fault_of(around_template("tensor_copy", "\"vector\"", dst('s', 128, 8))),
        "(tensor_copy): operand 1 should be \"data\"; tensor_copy takes dst, data in this order");
    EXPECT_EQ(
        fault_of(around_template(
            "tensor_copy", "\"vector\"", kCopy + "," + operand("bias", 's', 128, 1))),
        "(tensor_copy): operand 2 (\"bias\") has no place; tensor_copy takes dst, data in this "
        "order");
    EXPECT_EQ(
        fault_of(around_template("register_move", "\"sync\"", dst('s', 1, 1))),
        "(register_move): operand 0 (\"dst\") has no place; register_move takes no operands in "
        "this order");
    EXPECT_EQ(
        fault_of(around_template(
            "tensor_copy", "\"vector\"", dst('s', 128, 8) + "," + operand("dat", 's', 128, 8))),
        "(tensor_copy), operand 1: \"role\" is \"dat\", an unknown name; did you mean \"data\"?");
}

TEST(TemplateRecordTest, OptionalRolesMayBeAbsent) {
    const std::string scale = operand("scale", 's', 128, 1);
    const std::string bias = operand("bias", 's', 128, 1);
    const std::string result = operand("reduce_result", 's', 128, 1, "write");
    const auto with = [](const std::string& operands) {
        return fault_of(
            around_template("activation", "\"scalar\"", operands, R"("function":"exp")"));
    };
    EXPECT_EQ(with(kCopy), "no error");
    EXPECT_EQ(with(kCopy + "," + bias), "no error");
    EXPECT_EQ(with(kCopy + "," + scale), "no error");
    EXPECT_EQ(with(kCopy + "," + bias + "," + scale + "," + result), "no error");
    EXPECT_EQ(with(kCopy + "," + scale + "," + bias),
              "(activation): operand 3 (\"bias\") has no place; activation takes dst, data, bias?, "
              "scale?, reduce_result? in this order");
}

TEST(TemplateRecordTest, DmaComputeTakesOneOrMoreSources) {
    const std::string source = operand("src", 'h', 1, 1024);
    const auto with = [](const std::string& operands) {
        return fault_of(around_template("dma_compute", "\"dma\"", operands, R"("op":"add")"));
    };
    EXPECT_EQ(with(dst('s', 128, 8) + "," + source), "no error");
    EXPECT_EQ(with(dst('s', 128, 8) + "," + source + "," + source + "," + source), "no error");
    EXPECT_EQ(
        with(dst('s', 128, 8)),
        "(dma_compute): operand 1 should be \"src\"; dma_compute takes dst, src+ in this order");
}

TEST(TemplateRecordTest, ResultsAreWrittenAndInputsRead) {
    EXPECT_EQ(
        fault_of(around_template("tensor_copy",
                                 "\"vector\"",
                                 dst('s', 128, 8) + "," + operand("data", 's', 128, 8, "update"))),
        "(tensor_copy), operand 1 (data): \"access\" is \"update\", allowed is \"read\": "
        "tensor_copy does not change this operand");
    EXPECT_EQ(
        fault_of(around_template("tensor_copy",
                                 "\"vector\"",
                                 operand("dst", 's', 128, 8) + "," + operand("data", 's', 128, 8))),
        "(tensor_copy), operand 0 (dst): \"access\" is \"read\", allowed is \"write\" or "
        "\"update\"");
}

TEST(TemplateRecordTest, MatmulAccumulatesUnlessItStarts) {
    const auto with = [](const std::string& access, const std::string& attributes) {
        return fault_of(around_template("nc_matmul",
                                        "\"tensor\"",
                                        operand("dst", 'p', 128, 512, access) + "," +
                                            operand("stationary", 's', 128, 128) + "," +
                                            operand("moving", 's', 128, 512),
                                        attributes));
    };
    EXPECT_EQ(with("write", ""), "no error");
    EXPECT_EQ(with("write", "\"start\":true"), "no error");
    EXPECT_EQ(with("accumulate", "\"start\":false"), "no error");
    EXPECT_EQ(
        with("accumulate", ""),
        "(nc_matmul), operand 0 (dst): \"access\" is \"accumulate\", but with \"start\" true it is "
        "\"write\"");
    EXPECT_EQ(
        with("write", "\"start\":false"),
        "(nc_matmul), operand 0 (dst): \"access\" is \"write\", but with \"start\" false it is "
        "\"accumulate\"");
}

TEST(TemplateRecordTest, EnginesAreThoseOfTheOperation) {
    EXPECT_EQ(fault_of(around_template("tensor_copy", "\"vector\",\"scalar\",\"gpsimd\"", kCopy)),
              "no error");
    EXPECT_EQ(
        fault_of(around_template("tensor_copy", "\"tensor\"", kCopy)),
        "(tensor_copy): \"engines\", entry 0, is \"tensor\", but tensor_copy runs on: vector, "
        "scalar, gpsimd");
    EXPECT_EQ(fault_of(around_template("tensor_copy", "\"vectr\"", kCopy)),
              "(tensor_copy): \"engines\", entry 0, is \"vectr\", an unknown name; did you mean "
              "\"vector\"?");
    EXPECT_EQ(fault_of(around_template("tensor_copy", "\"vector\",\"vector\"", kCopy)),
              "(tensor_copy): \"engines\", entry 1, is \"vector\" again; name each engine once");
    EXPECT_EQ(fault_of(around_template("tensor_copy", "", kCopy)),
              "(tensor_copy): \"engines\" is empty; name at least one engine, best first");
}

TEST(TemplateRecordTest, DmaDoesNotReachPsum) {
    EXPECT_EQ(fault_of(around_template(
                  "dma_copy", "\"dma\"", dst('h', 1, 1024) + "," + operand("src", 'p', 128, 8))),
              "(dma_copy): \"src\" is in psum, which the dma engine does not reach as an input in "
              "dma_copy; copy it with tensor_copy");
}

TEST(TemplateRecordTest, ComputeEnginesDoNotReachHbm) {
    EXPECT_EQ(
        fault_of(around_template(
            "tensor_copy", "\"vector\"", dst('s', 1, 1024) + "," + operand("data", 'h', 1, 1024))),
        "(tensor_copy): \"data\" is in hbm, which the vector engine does not reach as an input in "
        "tensor_copy; move it with dma_copy");
}

TEST(TemplateRecordTest, GpsimdDoesNotReachPsumButAnotherEngineMay) {
    const std::string operands = dst('s', 128, 8) + "," + operand("data", 'p', 128, 8);
    EXPECT_EQ(
        fault_of(around_template("tensor_copy", "\"gpsimd\"", operands)),
        "(tensor_copy): \"data\" is in psum, which the gpsimd engine does not reach as an input in "
        "tensor_copy; copy it with tensor_copy");
    EXPECT_EQ(fault_of(around_template("tensor_copy", "\"gpsimd\",\"vector\"", operands)),
              "no error");
}

TEST(TemplateRecordTest, MatmulReadsSbufAndWritesPsum) {
    const auto with = [](char to, char stationary, char moving) {
        return fault_of(around_template("nc_matmul",
                                        "\"tensor\"",
                                        dst(to, 128, 512) + "," +
                                            operand("stationary", stationary, 128, 128) + "," +
                                            operand("moving", moving, 128, 512)));
    };
    EXPECT_EQ(with('p', 's', 's'), "no error");
    EXPECT_EQ(
        with('s', 's', 's'),
        "(nc_matmul): \"dst\" is in sbuf, which the tensor engine does not reach as a result in "
        "nc_matmul; copy it with tensor_copy");
    EXPECT_EQ(
        with('p', 'p', 's'),
        "(nc_matmul): \"stationary\" is in psum, which the tensor engine does not reach as an "
        "input in nc_matmul; copy it with tensor_copy");
    EXPECT_EQ(
        with('p', 's', 'p'),
        "(nc_matmul): \"moving\" is in psum, which the tensor engine does not reach as an input in "
        "nc_matmul; copy it with tensor_copy");
}

TEST(TemplateRecordTest, TwoTensorInputsAreNotBothInPsum) {
    const auto with = [](char first, char second) {
        return fault_of(around_template("tensor_tensor",
                                        "\"vector\"",
                                        dst('s', 128, 8) + "," + operand("data1", first, 128, 8) +
                                            "," + operand("data2", second, 128, 8),
                                        R"("op":"add")"));
    };
    EXPECT_EQ(with('s', 'p'), "no error");
    EXPECT_EQ(with('p', 's'), "no error");
    EXPECT_EQ(
        with('p', 'p'),
        "(tensor_tensor): \"data1\" and \"data2\" are both in psum, tensor_tensor reads at most "
        "one from it; copy one to sbuf");
}

TEST(TemplateRecordTest, AttributesAreThoseOfTheOperation) {
    const auto with = [](const std::string& attributes) {
        return fault_of(around_template("activation", "\"scalar\"", kCopy, attributes));
    };
    EXPECT_EQ(with("\"function\":\"rsqrt\",\"reduce_op\":\"none\""), "no error");
    EXPECT_EQ(with(""),
              "(activation): key \"attributes\" is missing; activation needs \"function\" in it");
    EXPECT_EQ(with("\"reduce_op\":\"add\""), "(activation): key \"function\" is missing; add it");
    EXPECT_EQ(with("\"function\":\"exp\",\"op0\":\"add\""),
              "(activation): unknown key \"op0\"; allowed: function, reduce_op");
    EXPECT_EQ(with("\"function\":\"Exp\""),
              "(activation): \"function\" is \"Exp\", an unknown activation function; did you mean "
              "\"exp\"?");
    EXPECT_EQ(with("\"function\":\"exp\",\"reduce_op\":\"ad\""),
              "(activation): \"reduce_op\" is \"ad\", an unknown operator; did you mean \"add\"?");
    EXPECT_THAT(with("\"function\":\"gaussian\""),
                testing::StartsWith("(activation): \"function\" is \"gaussian\", an unknown "
                                    "activation function; allowed: abs, arctan, ceil, "));
    EXPECT_EQ(with("\"function\":\"none\""),
              "(activation): \"function\" is \"none\", but the operation needs one; name it");
    EXPECT_EQ(fault_of(around_template("tensor_copy", "\"vector\"", kCopy, "\"op\":\"add\"")),
              "(tensor_copy): unknown key \"op\"; none is allowed");
}

TEST(TemplateRecordTest, MemsetValuesMayBeInfinite) {
    const auto value_of = [](const std::string& value) {
        return read_text(
                   around_template("memset", "\"gpsimd\"", dst('s', 1, 1), "\"value\":" + value))
            .templates[0]
            .attributes.value;
    };
    EXPECT_EQ(value_of("-1"), -1.0);
    EXPECT_EQ(value_of("1.5e-3"), 0.0015);
    EXPECT_EQ(value_of("\"inf\""), std::numeric_limits<double>::infinity());
    EXPECT_EQ(value_of("\"-inf\""), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(value_of("\"nan\"").value()));
    EXPECT_EQ(value_of("\"run\""), std::nullopt);
    EXPECT_EQ(
        fault_of(around_template("memset", "\"gpsimd\"", dst('s', 1, 1), "\"value\":\"zero\"")),
        "(memset): \"value\" is \"zero\"; write a number, \"inf\", \"-inf\", \"nan\" or \"run\"");
    EXPECT_EQ(fault_of(around_template("memset", "\"gpsimd\"", dst('s', 1, 1), "\"value\":true")),
              "(memset): \"value\" is a boolean; write a number");
}

TEST(TemplateRecordTest, PeTilesStartAtMultiplesOfTheirSize) {
    const auto with = [](const std::string& attributes) {
        return fault_of(around_template("nc_matmul",
                                        "\"tensor\"",
                                        dst('p', 32, 8) + "," + operand("stationary", 's', 32, 32) +
                                            "," + operand("moving", 's', 32, 8),
                                        attributes));
    };
    EXPECT_EQ(with("\"tile_position\":[96,0],\"tile_size\":[32,128]"), "no error");
    EXPECT_EQ(
        with("\"tile_position\":[96,0]"),
        "(nc_matmul): \"tile_position\" and \"tile_size\" only mean something together; give both");
    EXPECT_EQ(with("\"tile_position\":[0,0],\"tile_size\":[48,128]"),
              "(nc_matmul): \"tile_size\" has 48, allowed is 32, 64 or 128");
    EXPECT_EQ(
        with("\"tile_position\":[32,0],\"tile_size\":[64,128]"),
        "(nc_matmul): \"tile_position\" has 32, allowed is a multiple of the tile size 64 below "
        "128");
    EXPECT_EQ(
        with("\"tile_position\":[128,0],\"tile_size\":[64,128]"),
        "(nc_matmul): \"tile_position\" has 128, allowed is a multiple of the tile size 64 below "
        "128");
    EXPECT_EQ(with("\"tile_position\":[0],\"tile_size\":[64,128]"),
              "(nc_matmul): \"tile_position\" is an array of 1; write [row, column]");
    EXPECT_EQ(
        with("\"onezero\":\"all\""),
        "(nc_matmul): \"onezero\" is \"all\", an unknown name; allowed: none, stationary, moving, "
        "both");
}

TEST(TemplateRecordTest, ShuffleMasksHave32Entries) {
    const auto with = [](const std::string& mask) {
        return fault_of(
            around_template("nc_stream_shuffle", "\"vector\"", kCopy, "\"mask\":[" + mask + "]"));
    };
    std::string entries = "255";
    for (int i = 1; i < 32; ++i) {
        entries += "," + std::to_string(i);
    }
    EXPECT_EQ(with(entries), "no error");
    EXPECT_EQ(with("0,1"), "(nc_stream_shuffle): \"mask\" is an array of 2; write 32 integers");
    EXPECT_EQ(
        with("0,32"),
        "(nc_stream_shuffle): \"mask\", entry 1, is 32, allowed is 0 to 31, or 255 to keep the "
        "value");
}

TEST(TemplateRecordTest, DmaIsTriggeredByASequencer) {
    const auto with = [](const std::string& attributes) {
        return fault_of(around_template("dma_copy",
                                        "\"dma\"",
                                        dst('s', 128, 8) + "," + operand("src", 'h', 1, 1024),
                                        attributes));
    };
    EXPECT_EQ(with("\"dge\":\"hardware\",\"trigger\":\"scalar\""), "no error");
    EXPECT_EQ(
        with("\"trigger\":\"dma\""),
        "(dma_copy): \"trigger\" is \"dma\", which has no instruction stream; name the engine that "
        "starts the DMA");
    EXPECT_EQ(with("\"dge\":\"hwdge\""),
              "(dma_copy): \"dge\" is \"hwdge\", an unknown name; allowed: auto, none, software, "
              "hardware");
}

TEST(TemplateRecordTest, RingsAreForLoweredTraces) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"source\":[0,42]", "\"ring\":0")),
        "t.nkt:7: template 0 (dma_copy): key \"ring\" is for dma operations of a lowered trace "
        "only; leave it out");
}

}  // namespace
}  // namespace trnsim::program
