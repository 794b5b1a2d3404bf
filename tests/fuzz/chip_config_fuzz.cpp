// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a chip file. Either a ConfigError, or a chip that writes what reads
// back the same.
#include "trnsim/base/error.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// The name and the signature are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {  // NOLINT
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    trnsim::spec::ChipConfig config;
    try {
        config = trnsim::spec::parse_chip(text, "fuzz");
    } catch (const trnsim::ConfigError&) {
        return 0;
    }
    const std::string written = trnsim::spec::to_json(config);
    if (trnsim::spec::to_json(trnsim::spec::parse_chip(written, "fuzz")) != written) {
        std::abort();
    }
    return 0;
}
