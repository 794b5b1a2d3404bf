// SPDX-License-Identifier: Apache-2.0
// Limits of memories, single operations, DMA and engines; the PE array's are in matmul_limits.cpp.
#include "limit_check.hpp"

#include "generations.hpp"
#include "streamed_operands.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"

#include <algorithm>
#include <array>

namespace trnsim::neuron_core {
namespace {

constexpr std::int64_t kBnStatsMax = 512;       ///< [NKI-ISA]
constexpr std::int64_t kTop8Min = 8;            ///< [NKI-ISA]
constexpr std::int64_t kTop8Max = 16384;        ///< [NKI-ISA]
constexpr std::int64_t kGpsimdDmaBytes = 1024;  ///< Of 4-byte elements; less of others. [NKI-ISA]
constexpr std::int64_t kGroupPartitions = 16;   ///< Of one GpSimd processor. [NKI-ISA]
constexpr std::array<std::int64_t, 6> kGatherSizes{1, 2, 4, 8, 16, 32};  ///< [NKI-ISA]

std::string text(std::int64_t value) {
    return std::to_string(value);
}

std::string operand_name(const Operand& operand) {
    return "operand " + std::string(name(operand.role));
}

std::int64_t bytes_per_partition(const Operand& operand) {
    return (operand.pattern.highest() - operand.pattern.lowest() + 1) * size_bytes(operand.dtype);
}

}  // namespace

void LimitCheck::fail(const std::string& what) const {
    throw ProgramError(where_ + ": " + what);
}

std::string LimitCheck::not_before(NeuronCoreVersion first, const std::string& feature) const {
    const std::string chips{chips_since(first)};
    const bool is_changed = chips.find(chip_.short_name) != std::string::npos;  // By the user.
    const auto version = static_cast<std::int64_t>(chip_.neuron_core_version);
    return feature + " runs on " + chips + ", not on " + chip_.short_name +
           (is_changed ? " with neuron_core_version=" + text(version) : "") +
           "; choose another chip or leave it out";
}

void LimitCheck::generation() const {
    require_generation(first_generation(instruction_.op),
                       [&] { return std::string(name(instruction_.op)); });
    if (is_dma(instruction_.op)) {
        return;  // Moves elements of any type.
    }
    for (const Operand& operand : instruction_.operands) {
        require_generation(first_generation(operand.dtype), [&] {
            return operand_name(operand) + " of type " + std::string(name(operand.dtype));
        });
    }
}

void LimitCheck::operand_fits(const Operand& operand) const {
    const NeuronCoreSpec& core = chip_.neuron_core;
    const bool in_psum = operand.space == Space::Psum;
    const std::string memory = in_psum ? "PSUM" : "SBUF";
    const std::int64_t partitions = in_psum ? core.psum.partitions : core.sbuf.partitions;
    require(operand.partitions <= partitions, [&] {
        return operand_name(operand) + " spans " + text(operand.partitions) + " partitions, but " +
               memory + " has " + text(partitions) + "; split the tile";
    });
    const std::int64_t capacity =
        in_psum ? core.psum.banks * core.psum.bank_bytes : core.sbuf.partition_kib * 1024;
    require(bytes_per_partition(operand) <= capacity, [&] {
        return operand_name(operand) + " spans " + text(bytes_per_partition(operand)) +
               " bytes of a partition, but a partition of " + memory + " has " + text(capacity) +
               " bytes; split the tile";
    });
}

void LimitCheck::memories() const {
    const bool is_transfer = is_dma(instruction_.op);
    const bool is_register =
        instruction_.op == Opcode::RegisterLoad || instruction_.op == Opcode::RegisterStore;
    for (const Operand& operand : instruction_.operands) {
        if (operand.space == Space::Hbm) {
            require(is_transfer || is_register || instruction_.op == Opcode::CoreBarrier, [&] {
                return operand_name(operand) + " is in HBM, but " +
                       std::string(name(instruction_.op)) +
                       " works on SBUF and PSUM; load it with dma_copy first";
            });
            continue;
        }
        require(!is_transfer || operand.space != Space::Psum, [&] {
            return operand_name(operand) +
                   " is in PSUM, but DMA reaches SBUF and HBM only; move it with tensor_copy first";
        });
        operand_fits(operand);
    }
    const std::array<std::array<Role, 2>, 4> pairs{{{Role::Data1, Role::Data2},
                                                    {Role::Data, Role::Operand1},
                                                    {Role::Data, Role::Predicate},
                                                    {Role::OnTrue, Role::Predicate}}};
    for (const auto& [first, second] : pairs) {
        const bool is_tensor =
            second != Role::Operand1 || instruction_.op == Opcode::ScalarTensorTensor;
        if (is_tensor && is_in(Space::Psum, instruction_.find(first)) &&
            is_in(Space::Psum, instruction_.find(second))) {
            fail("operands " + std::string(name(first)) + " and " + std::string(name(second)) +
                 " are both in PSUM, but " + std::string(name(instruction_.op)) +
                 " reads at most one input from PSUM; copy one to SBUF");
        }
    }
}

void LimitCheck::element_wise() const {
    const Operand* data = instruction_.find(Role::Data);
    if (data == nullptr) {
        return;
    }
    const std::int64_t size = data->elements();
    const std::string has = "data has " + text(size) + " elements per partition, but " +
                            std::string(name(instruction_.op)) + " takes ";
    const std::string spans = "data spans " + text(data->partitions) + " partitions, but " +
                              std::string(name(instruction_.op)) + " takes ";
    switch (instruction_.op) {
        case Opcode::BnStats:
            require(size <= kBnStatsMax,
                    [&] { return has + "up to " + text(kBnStatsMax) + "; split the tile"; });
            break;
        case Opcode::BnAggr:
            require(size % 3 == 0, [&] {
                return has + "a multiple of 3; pass whole (count, mean, variance) groups";
            });
            break;
        case Opcode::Max8:
        case Opcode::NcFindIndex8:
        case Opcode::NcMatchReplace8:
            require(size >= kTop8Min && size <= kTop8Max, [&] {
                return has + text(kTop8Min) + " to " + text(kTop8Max) + "; split or pad the tile";
            });
            break;
        case Opcode::QuantizeMx:
            require(data->partitions % 32 == 0,
                    [&] { return spans + "a multiple of 32; pad the tile"; });
            require(size % 4 == 0, [&] { return has + "a multiple of 4; pad the tile"; });
            break;
        case Opcode::LocalGather: {
            const std::int64_t group = instruction_.attributes.elements_per_index;
            require(
                std::find(kGatherSizes.begin(), kGatherSizes.end(), group) != kGatherSizes.end(),
                [&] {
                    return "elements_per_index is " + text(group) +
                           ", allowed are 1, 2, 4, 8, 16 and 32; gather in such groups";
                });
            [[fallthrough]];
        }
        case Opcode::Topk:
            require(data->partitions % kGroupPartitions == 0, [&] {
                return spans + "a multiple of " + text(kGroupPartitions) + "; pad the tile";
            });
            break;
        case Opcode::SequenceBounds:
            require(data->partitions == 1,
                    [&] { return spans + "1; put the segment ids in one partition"; });
            break;
        default:
            break;
    }
}

void LimitCheck::dma() const {
    const Operand& dst = instruction_.at(Role::Dst);
    const DgeSpec& dge = chip_.neuron_core.dge;
    const DgeMode mode = dma::resolve_dge(dge, instruction_);
    require(dma::dge_mode(dge, mode).available, [&] {
        const bool is_too_old =
            mode == DgeMode::Hardware && chip_.neuron_core_version < NeuronCoreVersion::V3;
        return std::string(name(mode)) + " descriptor generation is not on " +
               (is_too_old ? chip_.short_name + ", only on " +
                                 std::string(chips_since(NeuronCoreVersion::V3))
                           : "this " + chip_.short_name + " (neuron_core.dge." +
                                 std::string(name(mode)) + ".available)") +
               "; choose another dge mode";
    });
    if (const std::optional<Engine> trigger = instruction_.attributes.trigger) {
        require(can_run(chip_, *trigger, instruction_), [&] {
            return std::string(name(*trigger)) + " cannot trigger a DMA with " +
                   std::string(name(mode)) + " descriptor generation; " +
                   (mode == DgeMode::Hardware ? "sync and scalar can" : "gpsimd can");
        });
    }
    for (const Operand& src : instruction_.operands) {
        if (src.role != Role::Src || is_collective(instruction_.op)) {
            continue;
        }
        const std::int64_t from = src.elements() * src.partitions;
        const std::int64_t to = dst.elements() * dst.partitions;
        require(from == to, [&] {
            return "src has " + text(from) + " elements and dst " + text(to) +
                   ", but a transfer writes what it reads; give both the same number";
        });
        require(mode != DgeMode::Hardware || src.dtype == dst.dtype, [&] {
            return "src is " + std::string(name(src.dtype)) + " and dst " +
                   std::string(name(dst.dtype)) +
                   ", but hardware descriptor generation does not cast; use dge software or none";
        });
    }
    if (instruction_.op == Opcode::Sendrecv && instruction_.attributes.gpsimd_dma) {
        const std::int64_t limit = kGpsimdDmaBytes * size_bytes(dst.dtype) / 4;
        require(bytes_per_partition(dst) <= limit, [&] {
            return "dst is " + text(bytes_per_partition(dst)) +
                   " bytes per partition, but the GpSimd engine's DMA moves up to " + text(limit) +
                   " of " + std::string(name(dst.dtype)) +
                   "; split the tile or leave gpsimd_dma out";
        });
    }
    const bool is_indexed = std::ranges::any_of(instruction_.operands, [](const Operand& operand) {
        return operand.role == Role::Index && operand.elements() != 1;
    });
    require(mode != DgeMode::Hardware || !is_indexed || is_collective(instruction_.op), [&] {
        return "an indexed transfer needs software descriptor generation, not hardware; use dge "
               "software";
    });
}

void LimitCheck::engines() const {
    const auto runs = [&](Engine engine) { return can_run(chip_, engine, instruction_); };
    if (std::any_of(instruction_.engines.begin(), instruction_.engines.end(), runs)) {
        return;
    }
    std::string asked;
    for (const Engine engine : instruction_.engines) {
        asked += (asked.empty() ? "" : " or ") + std::string(name(engine));
    }
    std::string able;
    for (const Engine engine : kSequencedEngines) {
        if (!is_dma(instruction_.op) && runs(engine)) {
            able += (able.empty() ? "" : " or ") + std::string(name(engine));
        }
    }
    fail(std::string(name(instruction_.op)) + " with these operands does not run on the " +
         (asked.empty() ? std::string("no") : asked) + " engine of " + chip_.short_name +
         (able.empty() ? "; no engine runs it: change its operators, sizes or memories"
                       : "; use the " + able + " engine"));
}

void check_limits(const ChipSpec& chip,
                  const InstructionTemplate& instruction,
                  const std::string& where) {
    const LimitCheck check(chip, instruction, where);
    check.generation();
    if (is_matmul(instruction.op) || instruction.op == Opcode::NcTranspose) {
        check.matmul();
    }
    check.memories();
    if (is_dma(instruction.op)) {
        check.dma();
    } else {
        check.element_wise();
    }
    check.engines();
}

}  // namespace trnsim::neuron_core
