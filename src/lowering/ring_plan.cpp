// SPDX-License-Identifier: Apache-2.0
// Rings dealt out in the order of the program's templates.
#include "trnsim/lowering/ring_plan.hpp"

#include "trnsim/neuron_core/queued_instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace trnsim::lowering {

namespace {

constexpr int kExchangeRing = neuron_core::kDmaRings - 1;

}  // namespace

RingPlan plan_rings(const program::Program& program, const DmaSpec& dma, const Policies& policies) {
    const bool single = policies.ring_assignment == RingAssignment::Single;
    const std::int64_t rings = single ? 1 : std::min(policies.dma_rings, dma.rings);
    const std::int64_t store_rings = rings == 1 ? 0 : std::max<std::int64_t>(1, rings / 4);
    const std::int64_t load_rings = rings - store_rings;
    RingPlan plan{.ring = std::vector<int>(program.templates.size()),
                  .purposes = std::vector<std::string>(neuron_core::kDmaRings)};
    std::map<std::pair<std::uint32_t, Engine>, int> rings_of;  // By site and engine.
    std::int64_t loads = 0;
    std::int64_t stores = 0;
    for (std::size_t index = 0; index < program.templates.size(); ++index) {
        const InstructionTemplate& instruction = program.templates[index];
        if (!is_dma(instruction.op)) {
            continue;
        }
        if (is_exchange(instruction.op)) {
            plan.ring[index] = kExchangeRing;
            plan.purposes[kExchangeRing] = "exchange";
            continue;
        }
        const Operand& dst = instruction.at(Role::Dst);
        const bool is_store = dst.space == Space::Hbm;
        const Engine engine = instruction.attributes.trigger.value_or(Engine::Dma);
        const auto [found, is_new] = rings_of.try_emplace({dst.buffer, engine});
        int& ring = found->second;
        if (is_new) {
            ring =
                static_cast<int>(is_store && store_rings > 0 ? load_rings + stores++ % store_rings
                                                             : loads++ % load_rings);
            std::string& purpose = plan.purposes[static_cast<std::size_t>(ring)];
            purpose += fmt::format("{}{} {}",
                                   purpose.empty() ? "" : ", ",
                                   is_store ? "store" : "load",
                                   program.buffers[dst.buffer].name);
        }
        plan.ring[index] = ring;
    }
    return plan;
}

}  // namespace trnsim::lowering
