// SPDX-License-Identifier: Apache-2.0
// What the compiler would have made of a program: instructions for every queue.
#pragma once

#include "trnsim/lowering/analysis/runtime_iterations.hpp"
#include "trnsim/lowering/instruction_emitter.hpp"
#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/lowering/instructions/ring_plan.hpp"
#include "trnsim/lowering/loads/load_plan.hpp"
#include "trnsim/lowering/lowering_counts.hpp"
#include "trnsim/lowering/lowering_observer.hpp"
#include "trnsim/lowering/operand_places.hpp"
#include "trnsim/lowering/order/reorder_window.hpp"
#include "trnsim/lowering/order/tile_memory.hpp"
#include "trnsim/lowering/order/time_estimate.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/lowering/queue_demand.hpp"
#include "trnsim/lowering/tiles/allocation.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"
#include "trnsim/program/cursor.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::lowering {

/// Lowers a program step by step.
///
///     program steps --> load plan --> slots --> engine, ring --> window --> InstructionEmitter
///
/// Decides by policy: when loads begin, engine, slots and spills, DMA ring, order within a window.
/// A tile has bytes from its first user to its last. Does not model: fusion, removal of loads
/// (D-12).
class Lowering : public neuron_core::InstructionSource {
public:
    /// The program and the chip must outlive it.
    /// \throws ProgramError if the chip does not take the program, ConfigError if it has too few
    /// semaphores
    Lowering(const program::Program& program, const ChipSpec& chip, const Policies& policies);
    /// The same with what analyse_liveness() says of the program.
    Lowering(const program::Program& program,
             const ChipSpec& chip,
             const Policies& policies,
             std::vector<SiteLiveness> liveness);

    bool produce(neuron_core::InstructionSink& sink) override;
    [[nodiscard]] bool uses(neuron_core::QueueId queue) const override {
        return demand_.uses(queue);
    }

    [[nodiscard]] const neuron_core::TemplateNames& names() const { return table_; }
    [[nodiscard]] const TileMemory& tiles() const { return tiles_; }
    /// The plan of loads, if there is one.
    [[nodiscard]] const std::optional<LoadPlan>& loads() const { return loads_; }
    [[nodiscard]] std::int64_t table_loads() const { return emitter_.table_loads(); }
    [[nodiscard]] std::int64_t executed() const { return executed_; }
    /// What came of the policies so far.
    [[nodiscard]] LoweringCounts counts() const;
    /// Tells an observer from now on; it must outlive the lowering.
    void tell(LoweringObserver& observer) { emitter_.tell(observer); }
    /// What is on a ring, for the report: "load lhsT_tile".
    [[nodiscard]] const std::string& ring_purpose(int ring) const {
        return rings_.purposes[static_cast<std::size_t>(ring)];
    }

private:
    [[nodiscard]] std::optional<LoadPlan> plan_loads(const ChipSpec& chip) const;
    /// Holds the plan to what its sites got.
    void limit_loads();
    /// Lets the estimate believe in the plan, and puts its loads and all stores on one ring.
    void follow_plan(const ChipSpec& chip);
    bool read_step();
    /// Whatever comes later waits for the last instruction of that queue.
    void wait_from_now_on(neuron_core::QueueId queue);
    /// What a step waits for besides its operands.
    [[nodiscard]] const WaitSet& waits_of(const InstructionPlan& plan,
                                          const PlannedStep& planned) const;
    void plan(const program::Step& step);
    /// Edges of the schedule. \throws ProgramError for a producer that no earlier run is
    void add_edges(const program::Step& step, PlannedStep& planned);
    [[nodiscard]] Engine choose_engine(std::uint32_t instruction, const InstructionPlan& plan);
    void lower_next();
    void drain();
    void give_bytes(const PlannedStep& step);
    void count_uses(const PlannedStep& step);

    const program::Program& program_;
    const Policies policies_;
    IssueTable table_;
    RingPlan rings_;
    std::vector<InstructionPlan> plans_;  ///< By template.
    TimeEstimate estimate_;
    InstructionEmitter emitter_;
    const std::vector<SiteLiveness> liveness_;
    std::optional<LoadPlan> loads_;  ///< If the policy asks for it, and the program lets it.
    TileMemory tiles_;
    program::Cursor cursor_;
    OperandPlaces places_;
    std::vector<bool> is_in_order_;  ///< By run of the program.
    ProducerTable producers_;
    RuntimeIterations runtime_iterations_;
    QueueDemand demand_;
    std::int64_t ended_iterations_ = 0;                           ///< Before the last step read,
    std::uint32_t last_instruction_ = 0;                          ///< and its template.
    std::array<Picoseconds, neuron_core::kEngineQueues> work_{};  ///< Given to each engine so far.
    ReorderWindow window_;
    WaitSet control_;  ///< The latest that set a register, and what ended the latest iteration of
                       ///< a loop of the run time: whatever comes later waits for it.
    WaitSet transposes_;  ///< And for identity matrices, if the Tensor Engine transposes.
    WaitSet barriers_;    ///< And the latest core_barrier: the next one waits for both.
    std::uint64_t stamp_ = 0;
    std::int64_t executed_ = 0;  ///< Steps read,
    std::int64_t lowered_ = 0;   ///< and steps on their queues.
    std::int64_t choices_ = 0;   ///< See LoweringCounts.
    std::int64_t moved_ = 0;
};

}  // namespace trnsim::lowering
