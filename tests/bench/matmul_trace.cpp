// SPDX-License-Identifier: Apache-2.0
// Writes the trace of a tiled matrix product and reads it, as a user's file would be read.
#include "matmul_trace.hpp"

#include "trnsim/program/reader.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>

namespace trnsim::bench {
namespace {

constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kTileColumns = 512;

std::string hbm(int id, const char* name, const char* kind, std::int64_t size) {
    return fmt::format(
        R"({{"record":"buffer","id":{},"name":"{}","space":"hbm","kind":"{}","dtype":"bfloat16",)"
        R"("shape":[{},{}]}})"
        "\n",
        id,
        name,
        kind,
        size,
        size);
}

std::string on_chip(
    int id, const char* name, const char* space, const char* dtype, std::int64_t columns) {
    return fmt::format(
        R"({{"record":"buffer","id":{},"name":"{}","space":"{}","dtype":"{}","shape":[128,{}]}})"
        "\n",
        id,
        name,
        space,
        dtype,
        columns);
}

std::string operand(const char* role, const char* access, int buffer, std::int64_t columns) {
    return fmt::format(
        R"({{"role":"{}","access":"{}","buffer":{},"partitions":128,"pattern":[[1,{}]]}})",
        role,
        access,
        buffer,
        columns);
}

std::string window(
    const char* role, const char* access, int buffer, std::int64_t size, std::int64_t columns) {
    return fmt::format(R"({{"role":"{}","access":"{}","buffer":{},"pattern":[[{},128],[1,{}]]}})",
                       role,
                       access,
                       buffer,
                       size,
                       columns);
}

std::string instruction(
    int id, const char* op, const char* engine, const std::string& operands, const char* rest) {
    return fmt::format(
        R"({{"record":"template","id":{},"op":"{}","engines":["{}"],"operands":[{}]{}}})"
        "\n",
        id,
        op,
        engine,
        operands,
        rest);
}

std::string declarations(std::int64_t size) {
    return hbm(0, "lhs_t", "input", size) + hbm(1, "rhs", "input", size) +
           hbm(2, "out", "output", size) + on_chip(3, "stationary", "sbuf", "bfloat16", kTileRows) +
           on_chip(4, "moving", "sbuf", "bfloat16", kTileColumns) +
           on_chip(5, "sum", "psum", "float32", kTileColumns) +
           on_chip(6, "result", "sbuf", "bfloat16", kTileColumns) +
           instruction(0,
                       "dma_copy",
                       "dma",
                       operand("dst", "write", 3, kTileRows) + "," +
                           window("src", "read", 0, size, kTileRows),
                       "") +
           instruction(1,
                       "dma_copy",
                       "dma",
                       operand("dst", "write", 4, kTileColumns) + "," +
                           window("src", "read", 1, size, kTileColumns),
                       "") +
           instruction(2,
                       "nc_matmul",
                       "tensor",
                       operand("dst", "accumulate", 5, kTileColumns) + "," +
                           operand("stationary", "read", 3, kTileRows) + "," +
                           operand("moving", "read", 4, kTileColumns),
                       R"(,"attributes":{"start":false})") +
           instruction(3,
                       "nc_matmul",
                       "tensor",
                       operand("dst", "write", 5, kTileColumns) + "," +
                           operand("stationary", "read", 3, kTileRows) + "," +
                           operand("moving", "read", 4, kTileColumns),
                       "") +
           instruction(4,
                       "tensor_copy",
                       "vector",
                       operand("dst", "write", 6, kTileColumns) + "," +
                           operand("data", "read", 5, kTileColumns),
                       "") +
           instruction(5,
                       "dma_copy",
                       "dma",
                       window("dst", "write", 2, size, kTileColumns) + "," +
                           operand("src", "read", 6, kTileColumns),
                       "");
}

/// One product; `first` is the number of the instance of its tiles, as coefficients of the loops
/// around it.
std::string product(int matmul,
                    const std::string& tiles,
                    const std::string& k_offset,
                    std::int64_t size) {
    return fmt::format(
        "{{\"record\":\"alloc\",\"buffer\":3}}\n{{\"record\":\"alloc\",\"buffer\":4}}\n"
        R"({{"record":"run","template":0,"at":[{{"instance":{0}}},{{"offset":{{"m":128{1}}}}}]}})"
        "\n"
        R"({{"record":"run","template":1,"at":[{{"instance":{0}}},{{"offset":{{"n":512{1}}}}}]}})"
        "\n"
        R"({{"record":"run","template":{2},"at":[{{"instance":{{"m":{3},"n":1}}}},{{"instance":{0}}},{{"instance":{0}}}]}})"
        "\n",
        tiles,
        k_offset,
        matmul,
        size / kTileColumns);
}

}  // namespace

program::Program matmul_program(std::int64_t size) {
    const std::int64_t m = size / kTileRows;
    const std::int64_t n = size / kTileColumns;
    const std::int64_t k = size / kTileRows;
    const std::string first = fmt::format(R"({{"m":{},"n":{}}})", n * k, k);
    const std::string later = fmt::format(R"({{"base":1,"m":{},"n":{},"k":1}})", n * k, k);
    const std::string later_offset = fmt::format(R"(,"base":{0},"k":{0})", size * kTileRows);
    const std::string result = fmt::format(R"({{"instance":{{"m":{},"n":1}}}})", n);
    std::string text =
        R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"matmul","api":"nki"})"
        "\n";
    text += declarations(size);
    text += fmt::format(
        "{{\"record\":\"loop\",\"index\":\"m\",\"count\":{},\"kind\":\"affine\"}}\n", m);
    text += fmt::format(
        "{{\"record\":\"loop\",\"index\":\"n\",\"count\":{},\"kind\":\"affine\"}}\n", n);
    text += "{\"record\":\"alloc\",\"buffer\":5}\n";
    text += product(3, first, "", size);
    text += fmt::format(
        "{{\"record\":\"loop\",\"index\":\"k\",\"count\":{},\"kind\":\"affine\"}}\n", k - 1);
    text += product(2, later, later_offset, size);
    text += "{\"record\":\"end\"}\n{\"record\":\"alloc\",\"buffer\":6}\n";
    text += fmt::format("{{\"record\":\"run\",\"template\":4,\"at\":[{0},{0}]}}\n", result);
    text += fmt::format(
        "{{\"record\":\"run\",\"template\":5,\"at\":[{{\"offset\":{{\"m\":{},\"n\":512}}}},{}]}}\n",
        size * 128,
        result);
    text += "{\"record\":\"end\"}\n{\"record\":\"end\"}\n";
    text += fmt::format("{{\"record\":\"summary\",\"instructions\":{}}}\n", m * n * (3 * k + 2));
    std::istringstream input(text);
    return program::read(input, "matmul");
}

}  // namespace trnsim::bench
