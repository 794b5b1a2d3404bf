// SPDX-License-Identifier: Apache-2.0
// The issue templates of a run: every instruction template with its cost on the engine that runs
// it.
#pragma once

#include "trnsim/lowering/instructions/trigger_plan.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"
#include "trnsim/neuron_core/template_names.hpp"
#include "trnsim/program/cursor.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace trnsim::lowering {

/// Whether an instruction made of template `from` accesses that operand: a template may be two, as
/// LoadStationary and MultiplyMoving, or an activation and the readout of its accumulator.
[[nodiscard]] bool accesses(const neuron_core::IssueTemplate& what,
                            const InstructionTemplate& from,
                            const Operand& operand);

/// Makes issue templates on demand and keeps them at fixed addresses. Costs come from *_timing,
/// once per template.
class IssueTable : public neuron_core::TemplateNames {
public:
    using IssueTemplate = neuron_core::IssueTemplate;

    /// Checks every template against the chip.
    /// \throws ProgramError for what the chip does not take, with the kernel's line
    IssueTable(const program::Program& program, const ChipSpec& chip);

    /// Engines of this chip that can run a template, in the template's order; never empty.
    [[nodiscard]] const std::vector<Engine>& engines(std::uint32_t instruction) const {
        return engines_[instruction];
    }

    /// The pair of partition groups, from 1, between which a transpose on Vector with its operands
    /// at `at` moves elements; 0 for all else.
    [[nodiscard]] std::int32_t groups(std::uint32_t instruction,
                                      Engine engine,
                                      std::span<const program::Step::At> at) const;
    /// An instruction of a template on Vector, Scalar, GpSimd or Sync: one for every groups().
    [[nodiscard]] const IssueTemplate* compute(std::uint32_t instruction,
                                               Engine engine,
                                               std::int32_t groups);
    /// ACTIVATION_READ_ACCUMULATOR after an instruction of that template on Scalar.
    [[nodiscard]] const IssueTemplate* read_accumulator(std::uint32_t instruction);
    /// The two halves of a matmul or of a transpose on the Tensor Engine.
    [[nodiscard]] const IssueTemplate* load_stationary(std::uint32_t instruction);
    [[nodiscard]] const IssueTemplate* multiply_moving(std::uint32_t instruction);
    /// A DMA whose on-chip side starts at `partition`.
    [[nodiscard]] const IssueTemplate* transfer(std::uint32_t instruction,
                                                const DmaTrigger& trigger,
                                                std::int32_t partition);
    /// ACT_TABLE_LOAD before an instruction of that template.
    [[nodiscard]] const IssueTemplate* table_load(std::uint32_t instruction);
    /// What ends an iteration of a loop of the run time, after an instruction of that template.
    [[nodiscard]] const IssueTemplate* loop_barrier(std::uint32_t instruction);
    /// An instruction that only waits (EVENT_SEMAPHORE) for what `before` could not wait for
    /// itself.
    [[nodiscard]] const IssueTemplate* wait_only(const IssueTemplate& before);
    /// What lets `transfer` begin (DMA_DIRECT2D), on the engine that triggers it.
    /// \pre there is one
    [[nodiscard]] const IssueTemplate* trigger(const IssueTemplate& transfer);
    /// The transfer that saves a tile of a site to HBM, or brings it back.
    [[nodiscard]] const IssueTemplate* spill(std::uint32_t buffer,
                                             bool is_save,
                                             const DmaTrigger& trigger);

    /// The load of the identity matrix by which the Tensor Engine transposes a type.
    [[nodiscard]] const IssueTemplate* identity_load(Dtype dtype, const DmaTrigger& trigger);

    [[nodiscard]] std::string source_text(const IssueTemplate& what) const override;
    [[nodiscard]] std::string line(const IssueTemplate& what) const override;
    [[nodiscard]] std::string details(const IssueTemplate& what) const override;
    [[nodiscard]] std::int64_t elements(const IssueTemplate& what) const override;

private:
    enum class Kind : std::uint8_t {
        Compute,
        Readout,
        Load,
        Multiply,
        Transfer,
        TableLoad,
        LoopBarrier,
        Wait,
        Trigger,
        Save,
        Reload,
        Identity,
        Count
    };
    /// What tells one issue template from another.
    struct Key {
        Kind kind = Kind::Compute;
        std::uint32_t number = 0;  ///< Of the instruction template, buffer or issue template.
        int way = 0;               ///< Engine or trigger.
        std::int32_t place = 0;    ///< Partition, or pair of partition groups.
    };
    struct Known {
        Key key;
        const IssueTemplate* what = nullptr;
    };
    /// Those of one kind and number: usually one, where it is found at once.
    struct Several {
        Known first;
        std::vector<Known> others;
    };

    IssueTemplate& add(const Key& key,
                       neuron_core::Operation operation,
                       Engine engine,
                       std::uint32_t source);
    [[nodiscard]] const IssueTemplate* find(const Key& key) const;
    void fill_transfer(IssueTemplate& what,
                       const InstructionTemplate& instruction,
                       const DmaTrigger& trigger,
                       std::int32_t partition) const;
    /// Lets a barrier or an exchange wait for the other cores.
    void meet(IssueTemplate& what, const InstructionTemplate& from) const;
    [[nodiscard]] InstructionTemplate spill_instruction(std::uint32_t buffer, bool is_save) const;

    const program::Program& program_;
    const ChipSpec& chip_;
    std::vector<std::vector<Engine>> engines_;
    std::deque<IssueTemplate> templates_;
    /// By kind and number.
    std::array<std::vector<Several>, static_cast<std::size_t>(Kind::Count)> index_;
    std::map<std::uint32_t, std::uint32_t> spill_buffers_;  ///< By issue template.
};

}  // namespace trnsim::lowering
