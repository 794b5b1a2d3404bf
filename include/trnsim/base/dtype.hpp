// SPDX-License-Identifier: Apache-2.0
// Data types of Neuron tensors, as nki.language names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trnsim {

/// Element types of SBUF, PSUM and HBM tensors. `_x4` packs four values in one element (NKI MX
/// types).
enum class Dtype : std::uint8_t {
    Float32,
    Tfloat32,
    Bfloat16,
    Float16,
    Float8E4m3,
    Float8E4m3fn,
    Float8E5m2,
    Float8E5m2X4,
    Float8E4m3fnX4,
    Float4E2m1fnX4,
    Float8E8m0,
    Int64,
    Int32,
    Uint32,
    Int16,
    Uint16,
    Int8,
    Uint8,
    Bool,
};

/// Bytes of one element in memory.
[[nodiscard]] int size_bytes(Dtype dtype);

/// The name in traces and messages: "bfloat16".
[[nodiscard]] std::string_view name(Dtype dtype);

/// The type of that name, or nothing.
[[nodiscard]] std::optional<Dtype> dtype_from_name(std::string_view name);

/// BF16 or FP16: the types with the Vector Engine's fast modes on NeuronCore-v3. [NKI-ARCH-V3]
[[nodiscard]] bool is_16bit_float(Dtype dtype);

/// An 8-bit floating-point type, packed ones excluded.
[[nodiscard]] bool is_fp8(Dtype dtype);

/// An MX type: four packed values in one element.
[[nodiscard]] bool is_packed_x4(Dtype dtype);

/// FP32 or TF32 storage: the types that may only be multiplied with each other. [NKI-ISA]
[[nodiscard]] bool is_32bit_float(Dtype dtype);

}  // namespace trnsim
