// SPDX-License-Identifier: Apache-2.0
// The main of a fuzz target without libFuzzer: replays every file below the given folders, whole
// and cut short at several places, so that each build runs the target over its corpus.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

// The name and the signature are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  // NOLINT

namespace {

constexpr std::size_t kCuts = 16;  ///< Prefixes replayed of each file.

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void replay(const std::vector<std::uint8_t>& bytes) {
    for (std::size_t cut = 1; cut <= kCuts; ++cut) {
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size() * cut / kCuts);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t files = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
            if (entry.is_regular_file()) {
                replay(read_file(entry.path()));
                ++files;
            }
        }
    }
    std::printf("%zu files replayed\n", files);
    return files > 0 ? 0 : 1;
}
