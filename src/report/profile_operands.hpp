// SPDX-License-Identifier: Apache-2.0
// The `operands` text of a profiled instruction.
#pragma once

#include "trnsim/isa/engine.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace trnsim::report {

/// Elements per partition of the largest operand: of "src=fp32@0x4800[1,1,1,1][1,4,1,1] …" the
/// product of the second brackets, 4; 0 if there is no operand.
[[nodiscard]] std::int64_t largest_operand(std::string_view operands);

/// What the instruction waited for: of "S[5] (Tensor)>=4 …" Tensor, of a queue DMA.
[[nodiscard]] std::optional<Engine> waited_for(std::string_view operands);

/// The engine behind one of the profiler's labels: "TensorMatrix", "GpSimd".
[[nodiscard]] std::optional<Engine> engine_of_label(std::string_view label);

/// How much a DMA moves.
struct ProfiledTransfer {
    std::int64_t bytes = 0;
    std::int64_t elements = 0;  ///< Of the side with the shorter ones.
};

/// Of "src_elem_size=512 … src_pattern=[512,1][128,1] dst_pattern=…"; nothing if it does not say.
[[nodiscard]] std::optional<ProfiledTransfer> transfer_of(std::string_view operands);

}  // namespace trnsim::report
