// SPDX-License-Identifier: Apache-2.0
// Element counts of a template's operands.
#include "trace_text.hpp"

#include <gtest/gtest.h>

namespace trnsim::program {
namespace {

std::string shape_fault(std::string_view op,
                        std::string_view engine,
                        const std::vector<std::string>& operands,
                        std::string_view attributes = "") {
    std::string list;
    for (const std::string& each : operands) {
        list += (list.empty() ? "" : ",") + each;
    }
    const std::string message =
        error_of(around_template(op, "\"" + std::string(engine) + "\"", list, attributes));
    const std::string place = "t.nkt:5: template 0 (" + std::string(op) + "): ";
    return message.starts_with(place) ? message.substr(place.size()) : message;
}

TEST(TemplateShapeTest, ElementwiseOperandsHaveTheCountsOfDst) {
    EXPECT_EQ(
        shape_fault("tensor_copy", "vector", {dst('s', 128, 8), operand("data", 's', 128, 9)}),
        "\"data\" has 9 elements per partition, \"dst\" has 8 elements per partition; tensor_copy "
        "needs as many");
    EXPECT_EQ(shape_fault("tensor_copy", "vector", {dst('s', 128, 8), operand("data", 's', 64, 8)}),
              "\"data\" has 64 partitions, \"dst\" has 128 partitions; tensor_copy needs as many");
    EXPECT_EQ(shape_fault(
                  "tensor_tensor",
                  "vector",
                  {dst('s', 128, 8), operand("data1", 's', 128, 8), operand("data2", 's', 128, 4)},
                  "\"op\":\"add\""),
              "\"data2\" has 4 elements per partition, \"dst\" has 8 elements per partition; "
              "tensor_tensor needs as many");
}

TEST(TemplateShapeTest, ABroadcastWithStrideZeroCounts) {
    EXPECT_EQ(
        error_of(edited(
            around_template(
                "tensor_copy", "\"vector\"", dst('s', 128, 8) + "," + operand("data", 's', 128, 7)),
            "[[1,7]]",
            "[[0,8]]")),
        "no error");
}

TEST(TemplateShapeTest, VectorOperandsHaveOneValuePerPartition) {
    EXPECT_EQ(
        shape_fault("tensor_scalar",
                    "vector",
                    {dst('s', 64, 8), operand("data", 's', 64, 8), operand("operand0", 's', 64, 8)},
                    "\"op0\":\"add\""),
        "\"operand0\" has 8 elements per partition, allowed is 1: it holds one value per "
        "partition");
    EXPECT_EQ(
        shape_fault("tensor_scalar",
                    "vector",
                    {dst('s', 64, 8), operand("data", 's', 64, 8), operand("operand0", 's', 32, 1)},
                    "\"op0\":\"add\""),
        "\"operand0\" has 32 partitions, \"dst\" has 64 partitions; tensor_scalar needs as many");
}

TEST(TemplateShapeTest, OnFalseIsATileOrAVector) {
    const auto with = [](int elements) {
        return shape_fault("select_reduce",
                           "vector",
                           {dst('s', 64, 8),
                            operand("predicate", 's', 64, 8),
                            operand("on_true", 's', 64, 8),
                            operand("on_false", 's', 64, elements)});
    };
    EXPECT_EQ(with(8), "no error");
    EXPECT_EQ(with(1), "no error");
    EXPECT_EQ(with(2),
              "\"on_false\" has 2 elements per partition, \"dst\" has 8 elements per partition; "
              "select_reduce needs as many");
}

TEST(TemplateShapeTest, ReductionsDivideTheirInput) {
    const auto with = [](int to, int from) {
        return shape_fault("tensor_reduce",
                           "vector",
                           {dst('s', 64, to), operand("data", 's', 64, from)},
                           R"("op":"add")");
    };
    EXPECT_EQ(with(1, 512), "no error");
    EXPECT_EQ(with(8, 512), "no error");
    EXPECT_EQ(
        with(7, 512),
        "\"data\" has 512 elements per partition, allowed is a multiple of 7: each element of dst "
        "is reduced of as many");
}

TEST(TemplateShapeTest, ReductionsWithinPartitionsLeaveThemAsTheyAre) {
    EXPECT_EQ(shape_fault("tensor_reduce",
                          "vector",
                          {dst('s', 32, 1), operand("data", 's', 64, 512)},
                          R"("op":"add")"),
              "\"dst\" has 32 partitions, \"data\" has 64 partitions; tensor_reduce needs as many");
}

TEST(TemplateShapeTest, MatmulContractsPartitionsAndCrossesColumns) {
    const auto with = [](std::pair<int, int> to,
                         std::pair<int, int> stationary,
                         std::pair<int, int> moving,
                         std::string_view attributes = "") {
        return shape_fault("nc_matmul",
                           "tensor",
                           {dst('p', to.first, to.second),
                            operand("stationary", 's', stationary.first, stationary.second),
                            operand("moving", 's', moving.first, moving.second)},
                           attributes);
    };
    EXPECT_EQ(with({64, 512}, {128, 64}, {128, 512}), "no error");
    EXPECT_EQ(
        with({64, 512}, {128, 64}, {96, 512}),
        "\"moving\" has 96 partitions, \"stationary\" has 128 partitions; nc_matmul needs as many");
    EXPECT_EQ(with({64, 512}, {128, 128}, {128, 512}),
              "\"dst\" has 64 partitions, allowed is 128: one partition for each column of the "
              "stationary tile");
    EXPECT_EQ(
        with({64, 512}, {128, 64}, {128, 256}),
        "\"dst\" has 512 elements per partition, allowed is 256: one element for each column of "
        "the moving tile");
    EXPECT_EQ(with({64, 512}, {128, 128}, {128, 1024}, "\"perf_mode\":\"double_row\""), "no error");
    EXPECT_EQ(
        with({64, 512}, {128, 127}, {128, 1024}, "\"perf_mode\":\"double_row\""),
        "\"stationary\" has 127 elements per partition, allowed is a multiple of 2: double_row "
        "takes two rows per partition");
}

TEST(TemplateShapeTest, SparseMatmulMeetsSeveralRowsWithOneAndATagForEachElement) {
    const auto with = [](std::pair<int, int> to, int stationary, int moving, int tags) {
        return shape_fault("nc_matmul_sparse",
                           "tensor",
                           {dst('p', to.first, to.second),
                            operand("stationary", 's', 128, stationary),
                            operand("moving", 's', 128, moving),
                            operand("tags", 's', 128, tags)},
                           R"("compress_ratio":3)");
    };
    EXPECT_EQ(with({64, 256}, 64, 768, 16), "no error");
    EXPECT_EQ(
        with({63, 256}, 63, 768, 16),
        "\"stationary\" has 63 elements per partition, allowed is a multiple of 4: an element "
        "of tags packs four of them");
    EXPECT_EQ(with({64, 256}, 64, 769, 16),
              "\"moving\" has 769 elements per partition, allowed is a multiple of 3: "
              "compress_ratio rows meet one of the stationary tile");
    EXPECT_EQ(with({64, 256}, 64, 768, 32),
              "\"tags\" has 32 elements per partition, allowed is 16: one for every four elements "
              "of the stationary tile");
    EXPECT_EQ(with({32, 256}, 64, 768, 16),
              "\"dst\" has 32 partitions, allowed is 64: one partition for each column of the "
              "stationary tile");
    EXPECT_EQ(with({64, 128}, 64, 768, 16),
              "\"dst\" has 128 elements per partition, allowed is 256: one element for each column "
              "of the moving tile");
}

TEST(TemplateShapeTest, TransposeSwapsPartitionsAndElements) {
    EXPECT_EQ(
        shape_fault("nc_transpose", "tensor", {dst('p', 64, 128), operand("data", 's', 128, 64)}),
        "no error");
    EXPECT_EQ(
        shape_fault("nc_transpose", "tensor", {dst('p', 128, 64), operand("data", 's', 128, 64)}),
        "\"dst\" has 64 elements per partition, \"data\" has 128 partitions; nc_transpose needs as "
        "many");
}

TEST(TemplateShapeTest, BatchStatisticsHaveFixedCounts) {
    EXPECT_EQ(shape_fault("bn_stats", "vector", {dst('s', 64, 6), operand("data", 's', 64, 512)}),
              "no error");
    EXPECT_EQ(
        shape_fault("bn_stats", "vector", {dst('s', 64, 5), operand("data", 's', 64, 512)}),
        "\"dst\" has 5 elements per partition, allowed is 6: count, mean and variance of even and "
        "of odd elements");
    EXPECT_EQ(shape_fault("bn_aggr", "vector", {dst('s', 64, 2), operand("data", 's', 64, 12)}),
              "no error");
    EXPECT_EQ(shape_fault("bn_aggr", "vector", {dst('s', 64, 2), operand("data", 's', 64, 13)}),
              "\"data\" has 13 elements per partition, allowed is a multiple of 3: count, mean and "
              "variance");
}

TEST(TemplateShapeTest, TheEightsWorkOnEightValues) {
    EXPECT_EQ(shape_fault("max8", "vector", {dst('s', 64, 8), operand("data", 's', 64, 16384)}),
              "no error");
    EXPECT_EQ(shape_fault("max8", "vector", {dst('s', 64, 8), operand("data", 's', 64, 16385)}),
              "\"data\" has 16385 elements per partition, max8 takes 8 to 16384");
    EXPECT_EQ(shape_fault("max8", "vector", {dst('s', 64, 8), operand("data", 's', 64, 7)}),
              "\"data\" has 7 elements per partition, max8 takes 8 to 16384");
    EXPECT_EQ(shape_fault("max8", "vector", {dst('s', 64, 9), operand("data", 's', 64, 64)}),
              "\"dst\" has 9 elements per partition, allowed is 8: eight values are found");
    EXPECT_EQ(
        shape_fault("nc_find_index8",
                    "vector",
                    {dst('s', 64, 8), operand("data", 's', 64, 64), operand("values", 's', 64, 4)}),
        "\"values\" has 4 elements per partition, allowed is 8: eight values are searched");
    EXPECT_EQ(
        shape_fault("nc_match_replace8",
                    "vector",
                    {dst('s', 64, 8), operand("data", 's', 64, 64), operand("values", 's', 64, 8)}),
        "\"dst\" has 8 elements per partition, \"data\" has 64 elements per partition; "
        "nc_match_replace8 needs as many");
}

TEST(TemplateShapeTest, QuantizationPacksFourValuesInOneElement) {
    const std::string scale = operand("dst_scale", 's', 32, 4, "write");
    EXPECT_EQ(
        shape_fault(
            "quantize_mx", "vector", {dst('s', 128, 64), scale, operand("data", 's', 128, 256)}),
        "no error");
    EXPECT_EQ(
        shape_fault(
            "quantize_mx", "vector", {dst('s', 128, 128), scale, operand("data", 's', 128, 256)}),
        "\"dst\" has 128 elements per partition, allowed is 64: four values make one packed "
        "element");
}

TEST(TemplateShapeTest, GathersTakeIndicesOfTheirPartitions) {
    const std::string_view indices = "\"indices\":16";
    const auto with =
        [&](std::string_view op, int partitions, int index_partitions, int index_elements) {
            return shape_fault(op,
                               "gpsimd",
                               {dst('s', partitions, 64),
                                operand("data", 's', partitions, 512),
                                operand("index", 's', index_partitions, index_elements)},
                               indices);
        };
    EXPECT_EQ(with("nc_n_gather", 128, 128, 64), "no error");
    EXPECT_EQ(with("nc_n_gather", 128, 128, 32),
              "\"index\" has 32 elements per partition, \"dst\" has 64 elements per partition; "
              "nc_n_gather needs as many");
    EXPECT_EQ(with("local_gather", 128, 128, 4), "no error");
    EXPECT_EQ(
        with("local_gather", 24, 24, 4),
        "\"data\" has 24 partitions, allowed is a multiple of 16: a GpSimd core has 16 partitions");
    EXPECT_EQ(
        with("local_gather", 128, 64, 4),
        "\"index\" has 64 partitions, \"data\" has 128 partitions; local_gather needs as many");
}

TEST(TemplateShapeTest, GpsimdSpecialsHaveTheirOwnCounts) {
    EXPECT_EQ(shape_fault("tensor_partition_reduce",
                          "gpsimd",
                          {dst('s', 2, 64), operand("data", 's', 128, 64)},
                          "\"op\":\"add\""),
              "\"dst\" has 2 partitions, allowed is 1: the partitions are reduced");
    EXPECT_EQ(
        shape_fault("sequence_bounds", "gpsimd", {dst('s', 1, 64), operand("data", 's', 1, 64)}),
        "\"dst\" has 64 elements per partition, allowed is 128: a start and an end for each "
        "element");
    EXPECT_EQ(
        shape_fault(
            "nonzero_with_count", "gpsimd", {dst('s', 128, 64), operand("data", 's', 128, 64)}),
        "\"dst\" has 64 elements per partition, allowed is 65: an index for each element, and the "
        "count");
    EXPECT_EQ(
        shape_fault("topk", "gpsimd", {dst('s', 16, 8), operand("data", 's', 16, 64)}, "\"k\":4"),
        "\"dst\" has 8 elements per partition, allowed is 4: \"k\" values are kept");
}

TEST(TemplateShapeTest, DmaMovesAsManyElementsAsItReads) {
    EXPECT_EQ(shape_fault("dma_copy", "dma", {dst('s', 128, 8), operand("src", 'h', 1, 1024)}),
              "no error");
    EXPECT_EQ(
        shape_fault("dma_copy", "dma", {dst('s', 128, 8), operand("src", 'h', 1, 1023)}),
        "\"src\" has 1023 elements in all, \"dst\" has 1024 elements in all; dma_copy needs as "
        "many");
}

TEST(TemplateShapeTest, RegistersHoldOneValue) {
    EXPECT_EQ(shape_fault("register_load", "sync", {operand("data", 'h', 1, 1)}), "no error");
    EXPECT_EQ(shape_fault("register_store", "scalar", {dst('s', 2, 1)}),
              "\"dst\" has 2 elements in all, allowed is 1: the operation moves one value");
}

}  // namespace
}  // namespace trnsim::program
