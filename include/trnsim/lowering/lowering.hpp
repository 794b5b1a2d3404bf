// SPDX-License-Identifier: Apache-2.0
// What the compiler would have made of a program: instructions for every queue, in program order.
#pragma once

#include "trnsim/lowering/allocation.hpp"
#include "trnsim/lowering/hbm_history.hpp"
#include "trnsim/lowering/issue_table.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/lowering/queue_writer.hpp"
#include "trnsim/lowering/stationary.hpp"
#include "trnsim/lowering/tile_memory.hpp"
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
///     program steps --> slots --> engine, ring --> dependencies --> semaphores --> instruction
///     queues
///
/// Decides by policy: engine, slots and spills, DMA ring and DGE mode; adds LoadStationary, table
/// loads and spill transfers. Keeps program order within every queue. Does not model: reordering,
/// fusion, removal of loads (D-12).
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
    /// What is on a ring, for the report: "load lhsT_tile".
    [[nodiscard]] std::string ring_purpose(int ring) const;

private:
    /// One operand of the step being lowered.
    struct Resolved {
        const Operand* operand = nullptr;
        TileMemory::Slot* slot = nullptr;  ///< nullptr in HBM.
        HbmHistory* memory = nullptr;      ///< HBM tensors that the program writes.
        Region region;
    };
    /// What is known of a template before it runs.
    struct Plan {
        std::vector<RegionShape> shapes;  ///< By operand.
        std::vector<Picoseconds> costs;   ///< By engine of IssueTable::engines().
        std::string_view table;           ///< Activation table it needs.
        int ring = 0;                     ///< DMA.
    };

    void make_plans();
    void assign_rings();
    void find_used_queues();
    void lower(const program::Step& step);
    void resolve(const InstructionTemplate& instruction,
                 const Plan& plan,
                 const program::Step& step);
    [[nodiscard]] Engine choose_engine(std::uint32_t instruction, const Plan& plan);
    void lower_compute(const program::Step& step, Engine engine);
    void load_stationary(std::uint32_t instruction);
    void lower_matmul(std::uint32_t instruction);
    void lower_transfer(std::uint32_t instruction);
    void collect(const Resolved& operand, neuron_core::QueueId queue);
    void record(const Resolved& operand, neuron_core::QueueId queue, std::uint64_t number);
    void release();
    void save(TileMemory::Slot& slot) override;
    void reload(TileMemory::Slot& slot) override;
    [[noreturn]] void not_allocated(const InstructionTemplate& instruction,
                                    const Operand& operand,
                                    std::int64_t instance) const;
    [[nodiscard]] Operand whole_buffer(std::uint32_t buffer) const;
    [[nodiscard]] std::uint64_t psum_banks() const;
    void check_bank(std::uint32_t instruction, const Resolved& dst) const;

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
    std::vector<std::vector<std::unique_ptr<HbmHistory>>> memories_;  ///< By buffer and instance.
    std::vector<bool> is_written_;  ///< By buffer: HBM tensors the program writes.
    std::array<bool, neuron_core::kQueues> uses_{};
    std::array<Picoseconds, neuron_core::kEngineQueues> work_{};  ///< Given to each engine so far.
    neuron_core::InstructionSink* sink_ = nullptr;                ///< Of the step being lowered,
    std::vector<Resolved> operands_;                              ///< and its operands.
    WaitSet waits_;
    StationaryReuse stationary_;
    std::string_view table_in_place_;
    std::uint64_t stamp_ = 0;
    std::int64_t table_loads_ = 0;
    std::int64_t executed_ = 0;
    std::vector<std::string> ring_purposes_;
};

}  // namespace trnsim::lowering
