// SPDX-License-Identifier: Apache-2.0
// One NeuronCore: five engines, SBUF, PSUM, semaphores, descriptor generation and DMA.
#pragma once

#include "trnsim/dma/dma_engines.hpp"
#include "trnsim/dma/dma_ring.hpp"
#include "trnsim/memory/hbm.hpp"
#include "trnsim/neuron_core/dge.hpp"
#include "trnsim/neuron_core/execution_log.hpp"
#include "trnsim/neuron_core/gpsimd_engine.hpp"
#include "trnsim/neuron_core/instruction_fetch.hpp"
#include "trnsim/neuron_core/psum.hpp"
#include "trnsim/neuron_core/sbuf.hpp"
#include "trnsim/neuron_core/scalar_engine.hpp"
#include "trnsim/neuron_core/semaphore_file.hpp"
#include "trnsim/neuron_core/sync_engine.hpp"
#include "trnsim/neuron_core/tensor_engine.hpp"
#include "trnsim/neuron_core/vector_engine.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <systemc>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace trnsim::neuron_core {

/// Where a core's program, names and timeline come from. Not owned.
struct CoreProgram {
    InstructionSource& source;
    const TemplateNames& names;
    timeline::TimelineSink* timeline = nullptr;
    ExecutionObserver* observer = nullptr;
    CoreMeeting* meeting = nullptr;  ///< With the other cores of the program.
    int core = 0;                    ///< Which of them this is.
};

/// One NeuronCore and the DMA engines that serve it.
///
///     instruction_fetch --> tensor, vector, scalar, gpsimd, sync engines --> sbuf, psum
///                       \-> dma_ring[0 … 15] --> dge, dma_engines --> HBM
///                           all ordered by semaphore_file
///
/// Up to 8 per device.
class NeuronCore : public sc_core::sc_module {
public:
    /// Its DMA engines move data to and from `stack` of the HBM. `fault`: what a queue of any core
    /// threw; all stop at the first.
    NeuronCore(const sc_core::sc_module_name& name,
               const ChipSpec& chip,
               memory::Hbm& hbm,
               int stack,
               const CoreProgram& program,
               std::exception_ptr& fault);

    /// Begins execution at `time`.
    void start_at(Picoseconds time);

    /// The sequencers of the five engines, in the order of Engine.
    [[nodiscard]] const std::array<Sequencer*, kEngineQueues>& engines() const { return engines_; }
    [[nodiscard]] const TensorEngine& tensor_engine() const { return tensor_engine_; }
    [[nodiscard]] const std::vector<std::unique_ptr<dma::DmaRing>>& dma_rings() const {
        return dma_rings_;
    }
    [[nodiscard]] const dma::DmaEngines& dma_engines() const { return dma_engines_; }
    [[nodiscard]] const InstructionFetch& instruction_fetch() const { return instruction_fetch_; }
    [[nodiscard]] const ExecutionLog& log() const { return log_; }

    /// Lets queues hold more of the program after all of them stood still. False if none gets more.
    bool extend_queues() { return instruction_fetch_.extend(); }

    /// The queue whose last result was visible last.
    [[nodiscard]] const Sequencer& last_to_end() const;

    /// What every blocked queue waits for; empty if the program has run to its end.
    [[nodiscard]] std::string describe_deadlock() const;

private:
    [[nodiscard]] CoreServices services();
    [[nodiscard]] CoreMemories memories();
    void make_rings(const InstructionSource& source);
    void draw(timeline::TimelineSink& sink);

    std::exception_ptr& fault_;
    CoreMeeting* const meeting_;
    const int core_;
    ExecutionLog log_;
    InstructionFetch instruction_fetch_;
    SemaphoreFile semaphore_file_;
    Sbuf sbuf_;
    Psum psum_;
    Dge dge_;
    TensorEngine tensor_engine_;
    VectorEngine vector_engine_;
    ScalarEngine scalar_engine_;
    GpsimdEngine gpsimd_engine_;
    SyncEngine sync_engine_;
    dma::DmaEngines dma_engines_;
    std::vector<std::unique_ptr<dma::DmaRing>> dma_rings_;
    std::array<Sequencer*, kEngineQueues> engines_;
};

}  // namespace trnsim::neuron_core
