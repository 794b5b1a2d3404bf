// SPDX-License-Identifier: Apache-2.0
// Wiring of a NeuronCore.
#include "trnsim/neuron_core/neuron_core.hpp"

#include <fmt/format.h>

namespace trnsim::neuron_core {

NeuronCore::NeuronCore(const sc_core::sc_module_name& name,
                       const ChipSpec& chip,
                       memory::Hbm& hbm,
                       int stack,
                       const CoreProgram& program,
                       std::exception_ptr& fault)
    : sc_module(name),
      fault_(fault),
      meeting_(program.meeting),
      core_(program.core),
      log_(program.names, program.timeline, program.observer),
      instruction_fetch_("instruction_fetch", program.source),
      semaphore_file_("semaphore_file", chip.neuron_core.semaphore_file),
      sbuf_("sbuf", chip.neuron_core.sbuf),
      psum_("psum", chip.neuron_core.psum),
      dge_("dge", chip.neuron_core.dge),
      tensor_engine_("tensor_engine", chip.neuron_core.tensor_engine, services()),
      vector_engine_("vector_engine", chip.neuron_core.vector_engine, services(), memories()),
      scalar_engine_("scalar_engine", services(), memories()),
      gpsimd_engine_("gpsimd_engine", services(), memories()),
      sync_engine_("sync_engine", services(), memories()),
      dma_engines_("dma_engines", chip.dma, hbm, stack),
      engines_{&tensor_engine_, &vector_engine_, &scalar_engine_, &gpsimd_engine_, &sync_engine_} {
    make_rings(program.source);
    if (program.timeline != nullptr) {
        draw(*program.timeline);
    }
}

CoreServices NeuronCore::services() {
    return {.fetch = instruction_fetch_,
            .semaphores = semaphore_file_,
            .log = log_,
            .meeting = meeting_,
            .core = core_,
            .fault = fault_};
}

CoreMemories NeuronCore::memories() {
    return {.sbuf = sbuf_, .psum = psum_};
}

void NeuronCore::make_rings(const InstructionSource& source) {
    for (int ring = 0; ring < kDmaRings; ++ring) {
        if (source.uses(queue_of_ring(ring))) {
            const std::string name = fmt::format("dma_ring_{}", ring);
            dma_rings_.push_back(
                std::make_unique<dma::DmaRing>(name.c_str(), ring, services(), dma_engines_, dge_));
        }
    }
}

void NeuronCore::draw(timeline::TimelineSink& sink) {
    const std::string group = name();
    for (const Sequencer* engine : engines_) {
        log_.add_queue(engine->queue(), group, engine->basename());
    }
    for (const auto& ring : dma_rings_) {
        log_.add_queue(ring->queue(), group, ring->basename());
    }
    dma_engines_.draw(sink, sink.add_counter(group, "dma_rate", "GB/s"));
}

void NeuronCore::start_at(Picoseconds time) {
    log_.start_at(time);
    for (Sequencer* engine : engines_) {
        engine->start_at(time);
    }
    for (const auto& ring : dma_rings_) {
        ring->start_at(time);
    }
}

const Sequencer& NeuronCore::last_to_end() const {
    const Sequencer* last = engines_[0];
    for (const Sequencer* engine : engines_) {
        last = engine->stats().last_done > last->stats().last_done ? engine : last;
    }
    for (const auto& ring : dma_rings_) {
        last = ring->stats().last_done > last->stats().last_done ? ring.get() : last;
    }
    return *last;
}

std::string NeuronCore::describe_deadlock() const {
    std::string text;
    const auto add = [&](const Sequencer& sequencer) {
        const std::string block = sequencer.describe_block();
        if (!block.empty()) {
            text += text.empty() ? block : "; " + block;
        }
    };
    for (const Sequencer* engine : engines_) {
        add(*engine);
    }
    for (const auto& ring : dma_rings_) {
        add(*ring);
    }
    return text;
}

}  // namespace trnsim::neuron_core
