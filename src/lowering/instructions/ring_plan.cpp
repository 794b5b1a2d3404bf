// SPDX-License-Identifier: Apache-2.0
// Rings dealt out in the order in which the program comes to its transfers.
#include "trnsim/lowering/instructions/ring_plan.hpp"

#include "trailing_stores.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace trnsim::lowering {

namespace {

/// The last ring is for exchanges between cores, and for others only if there are fewer than 16.
constexpr int kRingsForOthers = neuron_core::kDmaRings - 1;

/// Who has a ring of its own for a transfer; Dma: nobody.
Engine owner_of(const InstructionTemplate& instruction,
                const DgeSpec& spec,
                DgePolicy policy,
                const std::vector<bool>& is_scratch) {
    if (instruction.attributes.trigger) {
        return *instruction.attributes.trigger;
    }
    const bool is_described = dma::resolve_dge(spec, instruction) == DgeMode::Software;
    if (is_described && policy == DgePolicy::Auto) {  // Others may all be described by GpSimd.
        return Engine::Gpsimd;
    }
    if (touches(instruction, is_scratch)) {
        return instruction.at(Role::Dst).space == Space::Hbm ? Engine::Scalar : Engine::Sync;
    }
    return Engine::Dma;
}

/// What a ring is asked for.
enum class Purpose : std::uint8_t { Load, PlannedLoad, Store, LastStore };

/// `dst`: of the transfer; `planned`: see plan_rings().
Purpose purpose_of(const Operand& dst, bool is_last_store, const std::vector<bool>& planned) {
    if (dst.space == Space::Hbm) {
        return is_last_store ? Purpose::LastStore : Purpose::Store;
    }
    return !planned.empty() && planned[dst.buffer] ? Purpose::PlannedLoad : Purpose::Load;
}

/// Rings that are dealt out in turn.
class Rings {
public:
    Rings(const DmaSpec& dma, const Policies& policies, bool has_plan)
        : is_single_(policies.ring_assignment == RingAssignment::Single),
          shared_(is_single_ ? 1 : std::min(policies.dma_rings, dma.rings)),
          planned_(has_plan && shared_ > 1 ? 1 : 0),
          stores_(shared_ == 1 || has_plan ? 0 : std::max<std::int64_t>(1, shared_ / 4)),
          end_(std::min<std::int64_t>(dma.rings, kRingsForOthers)) {}

    int next(Purpose use) {
        if (planned_ > 0 && (use == Purpose::PlannedLoad || use == Purpose::Store)) {
            return 0;
        }
        const std::int64_t loads = shared_ - planned_ - stores_;
        return static_cast<int>(use == Purpose::Store && stores_ > 0
                                    ? loads + stored_++ % stores_
                                    : planned_ + loaded_++ % loads);
    }

    int of(Engine owner, Purpose use) {
        if (owner == Engine::Dma || is_single_) {
            return next(use);
        }
        const auto [found, is_new] = owned_.try_emplace(owner);
        if (is_new) {
            const std::int64_t ring = shared_ + std::ssize(owned_) - 1;
            found->second = ring < end_ ? static_cast<int>(ring) : next(use);
        }
        return found->second;
    }

private:
    bool is_single_;
    std::int64_t shared_;
    std::int64_t planned_;  ///< Of those, the first one for what is planned,
    std::int64_t stores_;   ///< and the last ones for stores.
    std::int64_t end_;
    std::int64_t loaded_ = 0;
    std::int64_t stored_ = 0;
    std::map<Engine, int> owned_{};
};

/// The templates that run, in the order of their first runs: what numbers they have is the writer's
/// affair.
std::vector<std::uint32_t> by_first_run(const program::Program& program) {
    std::vector<std::uint32_t> order;
    std::vector<bool> is_known(program.templates.size());
    for (const program::Node& node : program.nodes) {
        if (node.kind != program::Node::Kind::Run) {
            continue;
        }
        const std::uint32_t instruction = program.runs[node.index].instruction;
        if (!is_known[instruction]) {
            is_known[instruction] = true;
            order.push_back(instruction);
        }
    }
    return order;
}

void add_purpose(std::string& purposes, const std::string& one) {
    purposes += (purposes.empty() ? "" : ", ") + one;
}

}  // namespace

RingPlan plan_rings(const program::Program& program,
                    const ChipSpec& chip,
                    const Policies& policies,
                    const std::vector<bool>& planned) {
    RingPlan plan{.ring = std::vector<int>(program.templates.size()),
                  .purposes = std::vector<std::string>(neuron_core::kDmaRings)};
    const std::vector<bool> is_scratch = scratch_buffers(program);
    Rings rings(chip.dma, policies, !planned.empty());
    const std::vector<bool> is_last =
        planned.empty() ? std::vector<bool>(program.templates.size()) : trailing_stores(program);
    std::map<std::tuple<std::uint32_t, Engine, Purpose>, int> rings_of;  // By site and owner.
    bool has_exchange = false;
    for (const std::uint32_t index : by_first_run(program)) {
        const InstructionTemplate& instruction = program.templates[index];
        if (!is_dma(instruction.op)) {
            continue;
        }
        if (is_exchange(instruction.op)) {
            const auto last = static_cast<std::size_t>(chip.dma.rings - 1);
            plan.ring[index] = static_cast<int>(last);
            if (!has_exchange) {
                add_purpose(plan.purposes[last], "exchange");
                has_exchange = true;
            }
            continue;
        }
        const Operand& dst = instruction.at(Role::Dst);
        const bool is_store = dst.space == Space::Hbm;
        const Purpose use = purpose_of(dst, is_last[index], planned);
        const Engine owner = owner_of(instruction, chip.neuron_core.dge, policies.dge, is_scratch);
        const auto [found, is_new] = rings_of.try_emplace({dst.buffer, owner, use});
        if (is_new) {
            found->second = rings.of(owner, use);
            add_purpose(
                plan.purposes[static_cast<std::size_t>(found->second)],
                fmt::format(
                    "{} {}", is_store ? "store" : "load", program.buffers[dst.buffer].name));
        }
        plan.ring[index] = found->second;
    }
    return plan;
}

}  // namespace trnsim::lowering
