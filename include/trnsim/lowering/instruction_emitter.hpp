// SPDX-License-Identifier: Apache-2.0
// Instructions for the queues, from steps whose order is decided.
#pragma once

#include "trnsim/lowering/instructions/instruction_plan.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/lowering/instructions/stationary.hpp"
#include "trnsim/lowering/lowering_counts.hpp"
#include "trnsim/lowering/lowering_observer.hpp"
#include "trnsim/lowering/order/planned_step.hpp"
#include "trnsim/lowering/order/tile_memory.hpp"
#include "trnsim/lowering/order/time_estimate.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/lowering/queue_writer.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace trnsim::lowering {

/// Puts steps on their queues, with what they need before them, and remembers what they access.
///
///     step --> table load, LoadStationary --> semaphore waits --> instruction queue
///
/// Moves tiles between a full memory and HBM by transfers on the first ring.
class InstructionEmitter : public TileMemory::Mover {
public:
    /// `estimate`: the schedule on paper to keep up. All but the policies must outlive it.
    InstructionEmitter(const program::Program& program,
                       const ChipSpec& chip,
                       const Policies& policies,
                       const std::vector<InstructionPlan>& plans,
                       IssueTable& table,
                       TimeEstimate& estimate);

    /// Where instructions go from now on. Compilers load identity matrices and the first table
    /// before all else. [TRACES-TRN2]
    void emit_to(neuron_core::InstructionSink& sink);

    /// What the instructions of a queue have waited for so far.
    [[nodiscard]] const KnownWaits& known(neuron_core::QueueId queue) const {
        return writer_.known(queue);
    }

    /// The number of the instruction that was last put on a queue.
    [[nodiscard]] std::uint64_t last_number(neuron_core::QueueId queue) const {
        return writer_.next_number(queue) - 1;
    }

    /// \pre emit_to() was called; what the step waits for is known
    /// \throws ProgramError for the result of a matmul across PSUM banks
    void emit(const PlannedStep& step);

    /// Lets an iteration of a loop of the run time end after all that is on the queues, with an
    /// instruction of that template as its last one; the queue of the barrier.
    neuron_core::QueueId end_iteration(std::uint32_t instruction);

    void save(Tile& tile) override;
    void reload(Tile& tile) override;

    /// How save() and reload() begin.
    [[nodiscard]] const DmaTrigger& spill_trigger() const { return spill_; }

    /// Identity matrices, one for each type that the Tensor Engine transposes: the first transfers
    /// on the first ring, which begin like spills.
    [[nodiscard]] const std::vector<Dtype>& identities() const { return identities_; }

    [[nodiscard]] std::int64_t table_loads() const { return table_loads_; }
    /// LoadStationary and spills; the rest is not counted here.
    [[nodiscard]] const LoweringCounts& counts() const { return counts_; }
    /// Tells an observer from now on; it must outlive the emitter.
    void tell(LoweringObserver& observer) { observer_ = &observer; }

private:
    void load_identities();
    void load_first_table();
    /// Puts the load of an activation table ahead of an instruction that needs another one.
    void load_table(std::uint32_t instruction);
    void emit_compute(const PlannedStep& step);
    void read_accumulator(const PlannedStep& step);
    void load_stationary(const PlannedStep& step);
    /// An instruction of a matmul is what reads the stationary tile.
    static void record_stationary(const PlannedStep& step, std::uint64_t number);
    void emit_matmul(const PlannedStep& step);
    void emit_transfer(const PlannedStep& step);
    /// On its ring, behind its trigger if an engine's queue has one.
    void push_transfer(neuron_core::QueueId ring,
                       const neuron_core::IssueTemplate& what,
                       const PlannedStep::Condition& when);
    void push(neuron_core::QueueId queue,
              const neuron_core::IssueTemplate& what,
              const PlannedStep::Condition& when,
              std::uint64_t psum_banks = 0);
    /// Of the operands that the instruction itself accesses, or the readout of its accumulator.
    void record(const PlannedStep& step, std::uint64_t number, bool of_readout = false);
    [[nodiscard]] std::uint64_t psum_banks(const PlannedStep& step, bool of_readout = false) const;
    void check_bank(const PlannedStep& step, const ResolvedOperand& dst) const;
    [[nodiscard]] RegionAccess spill_access(const Tile& tile, Access access);
    void move(Tile& tile, const RegionAccess& access, bool is_save);

    const program::Program& program_;
    const PsumSpec& psum_;
    const DmaTrigger spill_;
    const std::vector<Dtype> identities_;
    const bool reuses_stationary_;
    bool keeps_stationary_;  ///< Until the matmul as a whole is over: plans know no parts of it.
    const bool keeps_estimate_;  ///< Which matters only where steps are reordered.
    const std::vector<InstructionPlan>& plans_;
    IssueTable& table_;
    TimeEstimate& estimate_;
    QueueWriter writer_;
    neuron_core::InstructionSink* sink_ = nullptr;
    StationaryReuse stationary_;
    std::string_view table_in_place_;
    std::vector<std::unique_ptr<RegionShape>> tile_shapes_;  ///< By buffer: a whole spilled tile.
    // Large, and so not made anew each time:
    PlannedStep::Condition readout_;  ///< Of an accumulator, which waits for nothing itself,
    PlannedStep::Condition moved_;    ///< of a tile that leaves memory or comes back,
    PlannedStep::Condition ended_;    ///< and of the end of an iteration.
    StationaryReuse::Load loaded_;    ///< What a matmul would load.
    std::int64_t table_loads_ = 0;
    LoweringCounts counts_;
    LoweringObserver* observer_ = nullptr;
};

}  // namespace trnsim::lowering
