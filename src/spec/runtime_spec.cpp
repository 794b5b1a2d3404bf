// SPDX-License-Identifier: Apache-2.0
// Names of the ways to measure a kernel.
#include "trnsim/spec/runtime_spec.hpp"

#include <array>

namespace trnsim {
namespace {

constexpr std::array kMethods{Method::Profiler, Method::Benchmark};

}  // namespace

std::string_view name(Method method) {
    return method == Method::Profiler ? "profiler" : "benchmark";
}

std::optional<Method> method_from_name(std::string_view name) {
    for (const Method method : kMethods) {
        if (trnsim::name(method) == name) {
            return method;
        }
    }
    return std::nullopt;
}

}  // namespace trnsim
