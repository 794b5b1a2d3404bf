// SPDX-License-Identifier: Apache-2.0
// Who executes an instruction: the five engines of a NeuronCore, and its DMA engines.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trnsim {

/// The in-order instruction streams of a NeuronCore (v2 and later), and DMA.
enum class Engine : std::uint8_t { Tensor, Vector, Scalar, Gpsimd, Sync, Dma };

/// The compute engines and the sync engine: everything with a sequencer of its own.
inline constexpr std::array kSequencedEngines{
    Engine::Tensor, Engine::Vector, Engine::Scalar, Engine::Gpsimd, Engine::Sync};

/// "tensor", "vector", "scalar", "gpsimd", "sync", "dma".
[[nodiscard]] std::string_view name(Engine engine);
[[nodiscard]] std::optional<Engine> engine_from_name(std::string_view name);

/// How the descriptors of a DMA come into being (Descriptor Generation Engine mode). [NKI-DGE]
enum class DgeMode : std::uint8_t {
    Auto,      ///< The lowering chooses.
    None,      ///< Static: written to HBM before the kernel starts.
    Software,  ///< GpSimd writes them while the kernel runs.
    Hardware,  ///< A DGE block writes them on the command of Sync or Scalar; v3 and later.
};

/// "auto", "none", "software", "hardware".
[[nodiscard]] std::string_view name(DgeMode mode);
[[nodiscard]] std::optional<DgeMode> dge_mode_from_name(std::string_view name);

}  // namespace trnsim
