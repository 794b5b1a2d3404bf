// SPDX-License-Identifier: Apache-2.0
// Chip files of the source tree as text, and how to break them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace trnsim::test {

inline std::string source_file(const std::string& path) {
    std::ifstream file(std::string(TRNSIM_SOURCE_DIR "/") + path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::string chip_text(const std::string& name = "trainium2") {
    return source_file("configs/chips/" + name + ".json");
}

/// `text` with the first `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace trnsim::test
