// SPDX-License-Identifier: Apache-2.0
// "indirect": which operand holds the indices of another one.
#include "program/index_reference.hpp"

#include "trace_text.hpp"
#include "trnsim/program/writer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace trnsim::program {
namespace {

const std::string kNameAnother = "; name another operand, one that is read and holds the indices";

/// An operand of eight elements in SBUF that says `indirect`, if that is not empty.
std::string going_by(std::string_view indirect,
                     std::string_view role,
                     std::string_view access = "read") {
    std::string text = operand(role, 's', 128, 8, access);
    if (!indirect.empty()) {
        text.insert(text.rfind('}'), fmt::format(R"(,"indirect":{})", indirect));
    }
    return text;
}

/// A copy from `data` to `dst`, which say that, and as many indices.
std::string copy(std::string_view dst, std::string_view data, int indices) {
    std::string operands = going_by(dst, "dst", "write") + "," + going_by(data, "data");
    for (int i = 0; i < indices; ++i) {
        operands += "," + operand("index", 's', 128, 1);
    }
    return around_template("tensor_copy", "\"vector\"", operands);
}

/// Which operand each one of the template goes by.
std::vector<std::optional<std::uint32_t>> indirect_of(const std::string& text) {
    const Program program = read_text(text);
    std::vector<std::optional<std::uint32_t>> found;
    for (const Operand& each : program.templates.at(0).operands) {
        found.push_back(each.indirect);
    }
    return found;
}

std::string written(const std::string& text) {
    std::ostringstream output;
    write(read_text(text), output);
    return output.str();
}

using Indirect = std::vector<std::optional<std::uint32_t>>;

TEST(IndexReferenceTest, NamesAnotherOperandThatIsReadByItsRole) {
    const std::string text = around_template("dma_copy",
                                             "\"dma\"",
                                             dst('s', 128, 8) + "," + operand("src", 'h', 1, 1024) +
                                                 "," + operand("index", 's', 128, 1));
    const auto with = [&text](const std::string& role) {
        return fault_of(edited(text, "[[1,1024]]", R"([[1,1024]],"indirect":")" + role + "\""));
    };
    EXPECT_EQ(with("index"), "no error");
    const std::string place = "(dma_copy), operand 1 (src): \"indirect\" is ";
    EXPECT_EQ(with("src"), place + "\"src\"" + kNameAnother);
    EXPECT_EQ(with("dst"), place + "\"dst\"" + kNameAnother);
    EXPECT_EQ(with("values"), place + "\"values\"" + kNameAnother);
    EXPECT_EQ(with("indez"), place + "\"indez\", an unknown name; did you mean \"index\"?");
}

TEST(IndexReferenceTest, NamesItByItsNumber) {
    EXPECT_EQ(indirect_of(copy("2", "3", 2)), (Indirect{2, 3, {}, {}}));
    EXPECT_EQ(indirect_of(copy("3", "2", 2)), (Indirect{3, 2, {}, {}}));
    EXPECT_EQ(indirect_of(copy("2", "2", 1)), (Indirect{2, 2, {}}));
    const std::string place = "(tensor_copy), operand 1 (data): \"indirect\" is ";
    EXPECT_EQ(fault_of(copy("2", "1", 1)), place + "1" + kNameAnother);
    EXPECT_EQ(fault_of(copy("2", "0", 1)), place + "0" + kNameAnother);
    EXPECT_EQ(fault_of(copy("2", "3", 1)), place + "3" + kNameAnother);
    EXPECT_EQ(fault_of(copy("2", "-1", 1)), place + "-1, allowed is 0 to 281474976710656");
    EXPECT_EQ(fault_of(copy("2", "true", 1)), place + "a boolean; write an integer");
}

TEST(IndexReferenceTest, OfSeveralOperandsOfARoleTheLastIsMeant) {
    const auto gather = [](std::string_view indirect) {
        return around_template("nc_n_gather",
                               "\"gpsimd\"",
                               dst('s', 128, 8) + "," + going_by(indirect, "data") + "," +
                                   operand("index", 's', 128, 8) + "," +
                                   operand("index", 's', 1, 1),
                               R"("indices":8)");
    };
    EXPECT_EQ(indirect_of(gather("\"index\"")), (Indirect{{}, 3, {}, {}}));
    EXPECT_EQ(written(gather("3")), gather("\"index\""));
    EXPECT_EQ(fault_of(gather("2")),
              "(nc_n_gather): operand 3 (\"index\") has no place; nc_n_gather takes dst, data, "
              "index in this order");
}

TEST(IndexReferenceTest, IndicesAtTheEndArePutToUse) {
    const std::string no_place = "has no place; tensor_copy takes dst, data in this order";
    EXPECT_EQ(fault_of(copy("", "2", 2)), "(tensor_copy): operand 3 (\"index\") " + no_place);
    EXPECT_EQ(fault_of(copy("3", "3", 2)), "(tensor_copy): operand 2 (\"index\") " + no_place);
    EXPECT_EQ(fault_of(copy("\"index\"", "\"index\"", 2)),
              "(tensor_copy): operand 2 (\"index\") " + no_place);
    EXPECT_EQ(fault_of(copy("", "", 1)), "(tensor_copy): operand 2 (\"index\") " + no_place);
}

TEST(IndexReferenceTest, IsWrittenAsARoleWhereAllGoByTheSame) {
    EXPECT_EQ(written(copy("2", "2", 1)), copy("\"index\"", "\"index\"", 1));
    EXPECT_EQ(written(copy("", "2", 1)), copy("", "\"index\"", 1));
    EXPECT_EQ(written(copy("2", "\"index\"", 2)), copy("2", "3", 2));
}

}  // namespace
}  // namespace trnsim::program
