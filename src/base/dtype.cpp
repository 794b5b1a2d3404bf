// SPDX-License-Identifier: Apache-2.0
// Names and sizes of the data types.
#include "trnsim/base/dtype.hpp"

#include <array>

namespace trnsim {
namespace {

struct DtypeRow {
    Dtype dtype;
    std::string_view name;
    int bytes;
};

constexpr std::array kRows{
    DtypeRow{Dtype::Float32, "float32", 4},
    DtypeRow{Dtype::Tfloat32, "tfloat32", 4},
    DtypeRow{Dtype::Bfloat16, "bfloat16", 2},
    DtypeRow{Dtype::Float16, "float16", 2},
    DtypeRow{Dtype::Float8E4m3, "float8_e4m3", 1},
    DtypeRow{Dtype::Float8E4m3fn, "float8_e4m3fn", 1},
    DtypeRow{Dtype::Float8E5m2, "float8_e5m2", 1},
    DtypeRow{Dtype::Float8E5m2X4, "float8_e5m2_x4", 4},
    DtypeRow{Dtype::Float8E4m3fnX4, "float8_e4m3fn_x4", 4},
    DtypeRow{Dtype::Float4E2m1fnX4, "float4_e2m1fn_x4", 2},
    DtypeRow{Dtype::Float8E8m0, "float8_e8m0", 1},
    DtypeRow{Dtype::Int64, "int64", 8},
    DtypeRow{Dtype::Int32, "int32", 4},
    DtypeRow{Dtype::Uint32, "uint32", 4},
    DtypeRow{Dtype::Int16, "int16", 2},
    DtypeRow{Dtype::Uint16, "uint16", 2},
    DtypeRow{Dtype::Int8, "int8", 1},
    DtypeRow{Dtype::Uint8, "uint8", 1},
    DtypeRow{Dtype::Bool, "bool", 1},
};

constexpr const DtypeRow& row(Dtype dtype) {
    return kRows[static_cast<std::size_t>(dtype)];
}

}  // namespace

int size_bytes(Dtype dtype) {
    return row(dtype).bytes;
}

std::string_view name(Dtype dtype) {
    return row(dtype).name;
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
    for (const DtypeRow& candidate : kRows) {
        if (candidate.name == name) {
            return candidate.dtype;
        }
    }
    return std::nullopt;
}

bool is_16bit_float(Dtype dtype) {
    return dtype == Dtype::Bfloat16 || dtype == Dtype::Float16;
}

bool is_fp8(Dtype dtype) {
    return dtype == Dtype::Float8E4m3 || dtype == Dtype::Float8E4m3fn || dtype == Dtype::Float8E5m2;
}

bool is_packed_x4(Dtype dtype) {
    return dtype == Dtype::Float8E5m2X4 || dtype == Dtype::Float8E4m3fnX4 ||
           dtype == Dtype::Float4E2m1fnX4;
}

bool is_32bit_float(Dtype dtype) {
    return dtype == Dtype::Float32 || dtype == Dtype::Tfloat32;
}

}  // namespace trnsim
