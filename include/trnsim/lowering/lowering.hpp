// SPDX-License-Identifier: Apache-2.0
// What the compiler would have made of a program: instructions for every queue.
#pragma once

#include "trnsim/lowering/allocation.hpp"
#include "trnsim/lowering/issue_table.hpp"
#include "trnsim/lowering/lowering_counts.hpp"
#include "trnsim/lowering/lowering_observer.hpp"
#include "trnsim/lowering/memory_history.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/lowering/queue_writer.hpp"
#include "trnsim/lowering/reorder_window.hpp"
#include "trnsim/lowering/stationary.hpp"
#include "trnsim/lowering/tile_memory.hpp"
#include "trnsim/lowering/time_estimate.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"
#include "trnsim/program/cursor.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::lowering {

/// Lowers a program step by step.
///
///     program steps --> slots --> engine, ring --> reordering window --> dependencies -->
///     semaphores --> instruction queues
///
/// Decides by policy: engine, slots and spills, DMA ring and DGE mode, order within a window; adds
/// LoadStationary, table loads and spill transfers. A tile has bytes from
/// its first user to its last. Does not model: fusion, removal of loads (D-12).
class Lowering : public neuron_core::InstructionSource, private TileMemory::Mover {
public:
    /// The program and the chip must outlive it.
    /// \throws ProgramError if the chip does not take the program, ConfigError if it has too few
    /// semaphores
    Lowering(const program::Program& program, const ChipSpec& chip, const Policies& policies);

    bool produce(neuron_core::InstructionSink& sink) override;
    [[nodiscard]] bool uses(neuron_core::QueueId queue) const override { return uses_[queue]; }

    [[nodiscard]] const neuron_core::TemplateNames& names() const { return table_; }
    [[nodiscard]] const TileMemory& tiles() const { return tiles_; }
    [[nodiscard]] std::int64_t table_loads() const { return table_loads_; }
    [[nodiscard]] std::int64_t executed() const { return executed_; }
    /// What came of the policies so far.
    [[nodiscard]] LoweringCounts counts() const;
    /// Tells an observer from now on; it must outlive the lowering.
    void tell(LoweringObserver& observer) { observer_ = &observer; }
    /// What is on a ring, for the report: "load lhsT_tile".
    [[nodiscard]] std::string ring_purpose(int ring) const;

private:
    /// What is known of a template before it runs.
    struct Plan {
        std::vector<RegionShape> shapes;  ///< By operand.
        std::vector<Picoseconds> costs;   ///< By engine of IssueTable::engines().
        std::string_view table;           ///< Activation table it needs.
        int ring = 0;                     ///< DMA.
        bool is_fence = false;            ///< Nothing passes it.
        bool is_transfer = false;         ///< DMA.
        bool loads_copy = false;          ///< What it writes is in HBM too, and stays there.
        bool uses_array = false;          ///< Of the Tensor Engine, if it runs there.
    };

    void make_plans();
    [[nodiscard]] bool loads_copy(const InstructionTemplate& instruction) const;
    void assign_rings();
    void find_used_queues();
    [[nodiscard]] ReorderWindow make_window() const;
    bool read_step();
    void plan(const program::Step& step);
    void resolve(const program::Step& step, const Plan& plan, PlannedStep& planned);
    [[nodiscard]] Tile& find_tile(const InstructionTemplate& instruction,
                                  const Operand& operand,
                                  std::int64_t instance);
    [[nodiscard]] MemoryHistory& memory_of(std::uint32_t buffer, std::int64_t instance);
    [[nodiscard]] Engine choose_engine(std::uint32_t instruction, const Plan& plan);
    void lower_next();
    void drain();
    void load_first_table();
    /// Puts the load of an activation table ahead of an instruction that needs another one.
    void load_table(std::uint32_t instruction);
    void give_bytes(const PlannedStep& step);
    void count_uses(const PlannedStep& step);
    void lower_compute(const PlannedStep& step);
    void load_stationary(const PlannedStep& step);
    void lower_matmul(const PlannedStep& step);
    void lower_transfer(const PlannedStep& step);
    void push(neuron_core::QueueId queue,
              const neuron_core::IssueTemplate& what,
              const PlannedStep::Condition& when,
              std::uint64_t psum_banks = 0);
    void record(const PlannedStep& step, std::uint64_t number);
    [[nodiscard]] RegionAccess spill_access(const Tile& tile, Access access) const;
    void move(Tile& tile, const RegionAccess& access, bool is_save);
    void save(Tile& tile) override;
    void reload(Tile& tile) override;
    [[noreturn]] void not_allocated(const InstructionTemplate& instruction,
                                    const Operand& operand,
                                    std::int64_t instance) const;
    [[nodiscard]] Operand whole_buffer(std::uint32_t buffer) const;
    [[nodiscard]] std::uint64_t psum_banks(const PlannedStep& step) const;
    void check_bank(const PlannedStep& step, const ResolvedOperand& dst) const;

    const program::Program& program_;
    const ChipSpec& chip_;
    const Policies policies_;
    IssueTable table_;
    QueueWriter writer_;
    TileMemory tiles_;
    program::Cursor cursor_;
    std::vector<Plan> plans_;
    std::vector<std::unique_ptr<RegionShape>>
        tile_shapes_;  ///< By buffer: a whole tile, for spills.
    std::vector<std::vector<std::unique_ptr<MemoryHistory>>>
        memories_;                        ///< By buffer and instance.
    std::array<MemoryHistory, 2> fixed_;  ///< SBUF and PSUM where the program fixes addresses.
    std::vector<bool> is_written_;        ///< By buffer: HBM tensors the program writes.
    std::vector<bool> is_in_order_;       ///< By run of the program.
    std::array<bool, neuron_core::kQueues> uses_{};
    std::array<Picoseconds, neuron_core::kEngineQueues> work_{};  ///< Given to each engine so far.
    TimeEstimate estimate_;
    ReorderWindow window_;
    neuron_core::InstructionSink* sink_ = nullptr;  ///< Of the step being lowered.
    StationaryReuse stationary_;
    std::string_view table_in_place_;
    std::uint64_t stamp_ = 0;
    std::int64_t table_loads_ = 0;
    std::int64_t executed_ = 0;  ///< Steps read,
    std::int64_t lowered_ = 0;   ///< and steps on their queues.
    LoweringCounts counts_;      ///< Without the order, which the window counts.
    LoweringObserver* observer_ = nullptr;
    std::vector<std::string> ring_purposes_;
};

}  // namespace trnsim::lowering
