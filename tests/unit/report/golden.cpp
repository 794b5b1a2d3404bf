// SPDX-License-Identifier: Apache-2.0
// Compares a file that is written with the committed one.
#include "golden.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace trnsim::report {

std::string golden(const std::string& name, const std::string& actual) {
    const std::string path = std::string{TRNSIM_SOURCE_DIR} + "/tests/unit/report/" + name;
    if (std::getenv("TRNSIM_REBASELINE") != nullptr) {
        std::ofstream(path, std::ios::binary) << actual;
    }
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace trnsim::report
