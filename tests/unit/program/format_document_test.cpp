// SPDX-License-Identifier: Apache-2.0
// docs/trace-format.md and configs/schema/trace.schema.json say of each operation what the reader
// checks.
#include "program/operation_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace trnsim::program {
namespace {

using Texts = std::vector<std::string>;
using Dom = simdjson::dom::element;

/// The second to fourth cell of an operation's row in section 5.
struct Row {
    std::string engines;
    std::string operands;
    std::string attributes;
};

/// `text` without what stands in parentheses, and without spaces at its ends.
std::string bare(std::string_view text) {
    std::string kept;
    int depth = 0;
    for (const char character : text) {
        depth += character == '(' ? 1 : 0;
        if (depth == 0) {
            kept += character;
        }
        depth -= character == ')' ? 1 : 0;
    }
    const std::size_t first = kept.find_first_not_of(' ');
    return first == std::string::npos ? ""
                                      : kept.substr(first, kept.find_last_not_of(' ') - first + 1);
}

Texts split(std::string_view text, char separator) {
    Texts parts;
    std::istringstream stream{std::string(text)};
    std::string part;
    while (std::getline(stream, part, separator)) {
        parts.push_back(bare(part));
    }
    return parts;
}

std::map<std::string, Row> rows_of_the_document() {
    constexpr std::size_t kCells = 5;  // The first, before the first bar, is empty.
    std::ifstream file(TRNSIM_SOURCE_DIR "/docs/trace-format.md");
    std::map<std::string, Row> rows;
    std::string line;
    while (std::getline(file, line) && line != "## 6. Data types") {
        const Texts cells = split(bare(line), '|');
        if (!line.starts_with("| `") || cells.size() != kCells) {
            continue;
        }
        for (const std::string& op : split(cells[1], ',')) {
            rows[op.substr(1, op.size() - 2)] = {cells[2], cells[3], cells[4]};
        }
    }
    return rows;
}

std::string engines_of(const OperationRule& rule) {
    constexpr std::string_view kLetters = "TVSGYD";
    Texts letters;
    for (const Engine engine : rule.engines.span()) {
        letters.emplace_back(1, kLetters[static_cast<std::size_t>(engine)]);
    }
    return fmt::format("{}", fmt::join(letters, " "));
}

std::string operands_of(const OperationRule& rule) {
    Texts roles;
    for (const OperandRule& each : rule.operands.span()) {
        roles.push_back(fmt::format("{}{}{}{}",
                                    name(each.role),
                                    each.arity == Arity::OneOrMore ? "+" : "",
                                    each.is_vector ? " v" : "",
                                    each.arity == Arity::Optional ? "?" : ""));
    }
    return fmt::format("{}", fmt::join(roles, ", "));
}

/// "function reduce_op?": names, optional ones marked.
std::string attributes_of(const OperationRule& rule) {
    Texts names;
    for (const AttributeRule& each : rule.attributes.span()) {
        names.push_back(fmt::format("{}{}", name(each.attribute), each.required ? "" : "?"));
    }
    return fmt::format("{}", fmt::join(names, " "));
}

/// The same of a cell such as "`function`, `reduce_op` [none], `trigger`?".
std::string attributes_in(const std::string& cell) {
    Texts names;
    for (const std::string& each : split(cell, ',')) {
        const std::size_t end = each.find('`', 1);
        names.push_back(each.substr(1, end - 1) + (end + 1 < each.size() ? "?" : ""));
    }
    return fmt::format("{}", fmt::join(names, " "));
}

/// All role sequences that an operation's rule admits; one repetition of a repeatable role. What
/// follows one and is an index is left out, as all indices at the end are in sequence_in().
std::set<Texts> sequences_of(const OperationRule& rule) {
    std::set<Texts> sequences{{}};
    bool is_repeated = false;
    for (const OperandRule& each : rule.operands.span()) {
        if (is_repeated && each.role == Role::Index) {
            continue;
        }
        is_repeated = each.arity == Arity::OneOrMore;
        std::set<Texts> longer;
        for (Texts sequence : sequences) {
            if (each.arity == Arity::Optional) {
                longer.insert(sequence);
            }
            sequence.emplace_back(name(each.role));
            longer.insert(sequence);
        }
        sequences = std::move(longer);
    }
    return sequences;
}

/// "#dst" as "dst"; of several allowed roles the last one.
std::string role_in(Dom reference) {
    Dom alternatives;
    if (reference["anyOf"].get(alternatives) == simdjson::SUCCESS) {
        const auto list = alternatives.get_array();
        return role_in(list.at(list.size() - 1));
    }
    return std::string(std::string_view(reference["$ref"]).substr(1));
}

Texts sequence_in(Dom alternative) {
    Texts roles;
    Dom items;
    if (alternative["prefixItems"].get(items) == simdjson::SUCCESS) {
        for (const Dom item : items.get_array()) {
            roles.push_back(role_in(item));
        }
    }
    // Every operation may end with the indices of another operand.
    if (alternative["items"].get(items) == simdjson::SUCCESS && role_in(items) != "index") {
        roles.push_back(role_in(items));
    }
    return roles;
}

std::set<Texts> sequences_in(Dom operands) {
    Dom alternatives;
    if (operands["anyOf"].get(alternatives) != simdjson::SUCCESS) {
        return {sequence_in(operands)};
    }
    std::set<Texts> sequences;
    for (const Dom alternative : alternatives.get_array()) {
        sequences.insert(sequence_in(alternative));
    }
    return sequences;
}

/// "function reduce_op?" of a schema of attributes.
std::string attributes_in(Dom schema) {
    std::set<std::string> required;
    Dom list;
    if (schema["required"].get(list) == simdjson::SUCCESS) {
        for (const Dom name : list.get_array()) {
            required.emplace(std::string_view(name));
        }
    }
    Texts names;
    for (const auto [key, ignored] : simdjson::dom::object(schema["properties"])) {
        const std::string name(key);
        names.push_back(name + (required.contains(name) ? "" : "?"));
    }
    return fmt::format("{}", fmt::join(names, " "));
}

class SchemaTest : public testing::Test {
protected:
    SchemaTest() : schema_(parser_.load(TRNSIM_SOURCE_DIR "/configs/schema/trace.schema.json")) {}

    /// What the schema says of templates with that op.
    Dom operation(std::string_view op) {
        for (const Dom each : schema_["$defs"]["operations"]["allOf"].get_array()) {
            for (const Dom name : each["if"]["properties"]["op"]["enum"].get_array()) {
                if (std::string_view(name) == op) {
                    return each["then"]["properties"].value();
                }
            }
        }
        ADD_FAILURE() << "not in the schema: " << op;
        return schema_;
    }

    static Texts names(Dom enumeration) {
        Texts list;
        for (const Dom each : enumeration.get_array()) {
            list.emplace_back(std::string_view(each));
        }
        return list;
    }

    simdjson::dom::parser parser_;
    Dom schema_;
};

template <typename Enum>
Texts all_names(Enum last) {
    Texts names;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        names.emplace_back(name(static_cast<Enum>(i)));
    }
    return names;
}

TEST(FormatDocumentTest, ListsEveryOperationAsTheReaderChecksIt) {
    const std::map<std::string, Row> rows = rows_of_the_document();
    EXPECT_EQ(rows.size(), all_opcodes().size());
    for (const Opcode op : all_opcodes()) {
        const auto row = rows.find(std::string(name(op)));
        ASSERT_NE(row, rows.end()) << name(op);
        const OperationRule& rule = rule_of(op);
        EXPECT_EQ(row->second.engines, engines_of(rule)) << name(op);
        EXPECT_EQ(row->second.operands, operands_of(rule)) << name(op);
        EXPECT_EQ(attributes_in(row->second.attributes), attributes_of(rule)) << name(op);
    }
}

TEST_F(SchemaTest, ListsEveryName) {
    const Dom definitions = schema_["$defs"];
    EXPECT_EQ(names(definitions["records"]["template"]["properties"]["op"]["enum"]),
              all_names(all_opcodes().back()));
    EXPECT_EQ(names(definitions["role"]["enum"]), all_names(Role::DstIndex));
    EXPECT_EQ(names(definitions["dtype"]["enum"]), all_names(Dtype::Bool));
    EXPECT_EQ(names(definitions["engine"]["enum"]), all_names(Engine::Dma));
}

TEST_F(SchemaTest, DescribesEveryOperationAsTheReaderChecksIt) {
    for (const Opcode op : all_opcodes()) {
        const OperationRule& rule = rule_of(op);
        const Dom schema = operation(name(op));
        Texts engines;
        for (const Engine engine : rule.engines.span()) {
            engines.emplace_back(name(engine));
        }
        EXPECT_EQ(names(schema["engines"]["items"]["enum"]), engines) << name(op);
        EXPECT_EQ(sequences_in(schema["operands"]), sequences_of(rule)) << name(op);
        EXPECT_EQ(attributes_in(Dom(schema["attributes"])), attributes_of(rule)) << name(op);
    }
}

}  // namespace
}  // namespace trnsim::program
