// SPDX-License-Identifier: Apache-2.0
// Short ways to write the instructions and measured laws that timing tests are about.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::test {

inline constexpr auto kF32 = Dtype::Float32;
inline constexpr auto kBf16 = Dtype::Bfloat16;
inline constexpr auto kSbuf = Space::Sbuf;
inline constexpr auto kPsum = Space::Psum;
inline constexpr auto kHbm = Space::Hbm;

/// The chip as the configuration in the source tree describes it.
inline const ChipSpec& chip(const std::string& name) {
    static std::map<std::string, ChipSpec> loaded;
    const auto known = loaded.find(name);
    if (known != loaded.end()) {
        return known->second;
    }
    const std::string file = name == "inf2"   ? "inferentia2"
                             : name == "trn1" ? "trainium1"
                             : name == "trn2" ? "trainium2"
                                              : "trainium3";
    const std::string path = TRNSIM_SOURCE_DIR "/configs/chips/" + file + ".json";
    return loaded.emplace(name, spec::load_chip(path).spec).first->second;
}

/// An operand of `free` elements in each partition, `stride` elements apart.
inline Operand tile(Role role,
                    Space space,
                    Dtype dtype,
                    std::int64_t free,
                    std::int32_t partitions = 128,
                    std::int64_t stride = 1) {
    Operand operand;
    operand.role = role;
    operand.access = role == Role::Dst ? Access::Write : Access::Read;
    operand.space = space;
    operand.dtype = dtype;
    operand.partitions = space == Space::Hbm ? 1 : partitions;
    operand.pattern.push_back({stride, free});
    return operand;
}

/// One value per partition.
inline Operand vector_of(Role role) {
    return tile(role, Space::Sbuf, Dtype::Float32, 1);
}

inline InstructionTemplate make(Opcode op,
                                std::vector<Operand> operands,
                                Attributes attributes = {}) {
    InstructionTemplate instruction;
    instruction.op = op;
    instruction.operands = std::move(operands);
    instruction.attributes = std::move(attributes);
    return instruction;
}

/// dst and data of `free` elements.
inline InstructionTemplate unary(Opcode op,
                                 Space from,
                                 Dtype source,
                                 Space to,
                                 Dtype result,
                                 std::int64_t free,
                                 Attributes attributes = {}) {
    return make(op,
                {tile(Role::Dst, to, result, free), tile(Role::Data, from, source, free)},
                std::move(attributes));
}

/// stationary [rows, columns] times moving [rows, moving] into PSUM.
inline InstructionTemplate matmul(Dtype dtype,
                                  std::int64_t moving,
                                  std::int64_t columns = 128,
                                  std::int32_t rows = 128) {
    return make(
        Opcode::NcMatmul,
        {tile(Role::Dst, Space::Psum, Dtype::Float32, moving, static_cast<std::int32_t>(columns)),
         tile(Role::Stationary, Space::Sbuf, dtype, columns, rows),
         tile(Role::Moving, Space::Sbuf, dtype, moving, rows)});
}

/// data [partitions, free] to PSUM [free, partitions].
inline InstructionTemplate transpose(Dtype dtype,
                                     std::int64_t free,
                                     std::int32_t partitions = 128) {
    return make(Opcode::NcTranspose,
                {tile(Role::Dst, Space::Psum, dtype, partitions, static_cast<std::int32_t>(free)),
                 tile(Role::Data, Space::Sbuf, dtype, free, partitions)});
}

/// A measured time, and how far the model may be from it.
inline void expect_near_measured(Picoseconds simulated, double measured_ns, double percent = 5.0) {
    EXPECT_LE(std::abs(simulated.nanoseconds() - measured_ns), measured_ns * percent / 100.0)
        << "simulated " << simulated.nanoseconds() << " ns, measured " << measured_ns << " ns";
}

/// Completion = base + slope x N, measured on Trn2. [M-VOYAGER]
struct Law {
    std::string name;
    double base_ns;
    double slope_ns;
    std::vector<std::int64_t> sizes;
    std::function<InstructionTemplate(std::int64_t)> instruction;

    friend std::ostream& operator<<(std::ostream& os, const Law& law) { return os << law.name; }
};

inline std::string name_of_law(const testing::TestParamInfo<Law>& tested) {
    return tested.param.name;
}

/// `cost` of the law's instructions is near what was measured.
inline void expect_law(
    const Law& law,
    const std::function<neuron_core::InstructionCost(const InstructionTemplate&)>& cost) {
    for (const std::int64_t n : law.sizes) {
        SCOPED_TRACE(n);
        expect_near_measured(cost(law.instruction(n)).done,
                             law.base_ns + law.slope_ns * static_cast<double>(n));
    }
}

}  // namespace trnsim::test
