// SPDX-License-Identifier: Apache-2.0
// The names of operators and activation functions: tools/python/trnsim/frontend/operators.py.
#pragma once

#include <array>
#include <string_view>

namespace trnsim::program {

/// `function` of activations. [NKI-ISA]
inline constexpr std::array<std::string_view, 33> kFunctionNames{"abs",
                                                                 "arctan",
                                                                 "ceil",
                                                                 "copy",
                                                                 "cos",
                                                                 "erf",
                                                                 "erf_dx",
                                                                 "exp",
                                                                 "floor",
                                                                 "gelu",
                                                                 "gelu_apprx_sigmoid",
                                                                 "gelu_apprx_sigmoid_dx",
                                                                 "gelu_apprx_tanh",
                                                                 "gelu_dx",
                                                                 "identity",
                                                                 "log",
                                                                 "mish",
                                                                 "negative",
                                                                 "prelu",
                                                                 "reciprocal",
                                                                 "relu",
                                                                 "rsqrt",
                                                                 "sigmoid",
                                                                 "sign",
                                                                 "silu",
                                                                 "silu_dx",
                                                                 "sin",
                                                                 "softplus",
                                                                 "sqrt",
                                                                 "square",
                                                                 "tan",
                                                                 "tanh",
                                                                 "trunc"};

/// `op`, `op0`, `op1` and `reduce_op`. [NKI-SHARED]
inline constexpr std::array<std::string_view, 39> kOperatorNames{
    "abs",         "abs_max",       "abs_min",    "add",         "average",  "bitwise_and",
    "bitwise_or",  "bitwise_xor",   "bypass",     "divide",      "equal",    "fmod",
    "greater",     "greater_equal", "invert",     "left_shift",  "less",     "less_equal",
    "logical_and", "logical_not",   "logical_or", "logical_xor", "max",      "maximum",
    "min",         "minimum",       "mod",        "multiply",    "negative", "not_equal",
    "power",       "reciprocal",    "relu",       "right_shift", "rsqrt",    "sign",
    "sqrt",        "square",        "subtract"};

}  // namespace trnsim::program
