// SPDX-License-Identifier: Apache-2.0
// What the profiler calls what nki.isa and the lowering call otherwise.
#include "opcode_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace trnsim::report {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords{{
    {"LoadStationary", "LDWEIGHTS"},
    {"nc_matmul", "MATMUL"},
    {"nc_matmul_mx", "MATMUL"},
    {"nc_matmul_sparse", "MATMUL"},
    {"activation", "ACTIVATE"},
    {"activation_reduce", "ACTIVATE"},
    {"activate2", "ACTIVATE"},
    {"exponential", "ACTIVATE"},
    {"tensor_copy", "COPY"},
    {"nc_stream_shuffle", "STREAM_SHUFFLE"},
}};

constexpr std::array<std::string_view, 5> kControls{
    "EVENT_SEMAPHORE", "NOP", "DRAIN", "NOTIFY", "WRITE"};

}  // namespace

std::string profiler_word(std::string_view opcode, Engine engine, bool is_transpose) {
    if (engine == Engine::Tensor && is_transpose) {
        return "MATMUL transpose";
    }
    const auto* const known =
        std::ranges::find(kWords, opcode, [](const auto& w) { return w.first; });
    std::string word(known == kWords.end() ? opcode : known->second);
    std::ranges::transform(word, word.begin(), [](unsigned char letter) {
        return static_cast<char>(std::toupper(letter));
    });
    return word;
}

bool waits_or_triggers(std::string_view word) {
    return std::ranges::find(kControls, word) != kControls.end() || word.starts_with("DMA_") ||
           word.starts_with("PSEUDO_DMA");
}

}  // namespace trnsim::report
