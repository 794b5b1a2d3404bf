// SPDX-License-Identifier: Apache-2.0
// The documents that repeat numbers and tags say the same as the files and the code.
#include "chip_file.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

namespace trnsim::spec {
namespace {

namespace fs = std::filesystem;
using test::chip_text;

/// The files of the parts that hold numbers from outside.
std::vector<fs::path> source_files() {
    std::vector<fs::path> files;
    for (const char* part : {"base", "dma", "isa", "memory", "neuron_core", "spec"}) {
        for (const char* root : {"include/trnsim", "src"}) {
            for (const auto& entry :
                 fs::directory_iterator(fs::path(TRNSIM_SOURCE_DIR) / root / part)) {
                files.push_back(fs::path(root) / part / entry.path().filename());
            }
        }
    }
    return files;
}

/// Tags in brackets: capitals with a hyphen, or one of the short ones; a section may follow.
std::vector<std::string> tags_in(const std::string& text) {
    static const std::regex tag(R"(\[((?:[A-Z][A-Z0-9]*(?:-[A-Z0-9.]+)+|ASSUMED|EXTRAPOLATED|)"
                                R"(KDA|DRIVER|LNC|SEMIANALYSIS))(?:, [^\]]*)?\])");
    std::vector<std::string> tags;
    for (std::sregex_iterator match(text.begin(), text.end(), tag), end; match != end; ++match) {
        tags.push_back((*match)[1].str());
    }
    return tags;
}

TEST(Sources, ResolveEveryTagInTheCode) {
    const std::string sources = test::source_file("docs/sources.md");
    std::size_t found = 0;
    for (const fs::path& file : source_files()) {
        for (const std::string& tag : tags_in(test::source_file(file.string()))) {
            EXPECT_THAT(sources, testing::HasSubstr("| `" + tag + "` |")) << file;
            ++found;
        }
    }
    EXPECT_GT(found, 50U);
}

using Row = std::vector<std::string>;
constexpr std::size_t kUnit = 2;
constexpr std::size_t kSource = 6;

/// The cells of a table's line, without the spaces around them; the first is empty.
Row cells_of(const std::string& line) {
    Row cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, '|');) {
        cells.push_back(cell.size() > 2 ? cell.substr(1, cell.size() - 2) : "");
    }
    return cells;
}

/// What stands between the first pair of backquotes.
std::string in_backquotes(const std::string& cell) {
    const std::size_t start = cell.find('`') + 1;
    return cell.substr(start, cell.find('`', start) - start);
}

/// The rows of the tables of numbers in docs/components, by path of the field.
std::map<std::string, Row> documented_numbers() {
    std::map<std::string, Row> rows;
    for (const auto& entry : fs::directory_iterator(TRNSIM_SOURCE_DIR "/docs/components")) {
        std::ifstream file(entry.path());
        std::string group;
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("| Field of `")) {
                group = in_backquotes(line) + ".";
            } else if (!line.starts_with("|")) {
                group.clear();
            } else if (!group.empty() && line.starts_with("| `")) {
                rows[group + in_backquotes(line)] = cells_of(line);
            }
        }
    }
    return rows;
}

class ComponentTables : public testing::TestWithParam<std::pair<std::string, std::size_t>> {};

TEST_P(ComponentTables, SayWhatTheChipFileSays) {
    const auto& [name, column] = GetParam();
    const std::map<std::string, Row> rows = documented_numbers();
    for (const ChipConfig::Leaf& leaf : parse_chip(chip_text(name), name).leaves) {
        if (leaf.path.starts_with("neuron_core_version") || leaf.path == "neuron_cores") {
            continue;
        }
        SCOPED_TRACE(leaf.path);
        ASSERT_EQ(rows.count(leaf.path), 1U) << "in no table";
        Row row = rows.at(leaf.path);
        if (const std::size_t comma = row.at(column).find(", "); comma != std::string::npos) {
            // trn1 and inf2 share a column, and differ here.
            row[column] =
                name == "trainium1" ? row[column].substr(0, comma) : row[column].substr(comma + 2);
        }
        std::string value = leaf.value;
        std::erase(value, '"');
        EXPECT_EQ(row.at(column), value);
        EXPECT_EQ(row.at(kUnit), leaf.unit);
        EXPECT_TRUE(name != "trainium2" || row.at(kSource) == leaf.source);
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         ComponentTables,
                         testing::Values(std::pair<std::string, std::size_t>{"trainium1", 3},
                                         std::pair<std::string, std::size_t>{"inferentia2", 3},
                                         std::pair<std::string, std::size_t>{"trainium2", 4},
                                         std::pair<std::string, std::size_t>{"trainium3", 5}),
                         [](const auto& tested) { return tested.param.first; });

}  // namespace
}  // namespace trnsim::spec
