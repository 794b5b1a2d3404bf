// SPDX-License-Identifier: Apache-2.0
// Compares a file that is written with the committed one.
#include "golden.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace trnsim::report {

std::string moved_line(const std::string& name, const std::string& actual) {
    const std::string path = std::string{TRNSIM_SOURCE_DIR} + "/tests/unit/report/" + name;
    if (std::getenv("TRNSIM_REBASELINE") != nullptr) {
        std::ofstream(path, std::ios::binary) << actual;
    }
    std::ifstream file(path, std::ios::binary);
    const std::string golden{std::istreambuf_iterator<char>(file), {}};
    if (golden == actual) {
        return {};
    }
    std::istringstream was(golden);
    std::istringstream is(actual);
    std::string before;
    std::string now;
    int number = 1;
    while (std::getline(was, before) && std::getline(is, now) && before == now) {
        ++number;
    }
    return fmt::format("{}: {} -> {}", number, before, now);
}

}  // namespace trnsim::report
