// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of the Sync Engine, the semaphores and the Descriptor Generation Engine.
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>

namespace trnsim {

/// The Sync Engine: a sequencer without a data path.
struct SyncEngineSpec {
    Gigahertz clock_ghz{1.2};
    Cycles register_cycles{64};       ///< A register move, on any sequencer.
    Picoseconds register_load_ns{};   ///< register_load: one element from memory, on any sequencer.
    Picoseconds register_store_ns{};  ///< register_store: one element to memory.
    Picoseconds core_barrier_ns{};    ///< Two remote semaphore updates.
    Picoseconds loop_barrier_ns{};    ///< Between two iterations of a loop of the run time: all
                                      ///< engines meet, semaphores are reset. [NKI-DYNAMIC-LOOPS]
};

/// Hardware counters that order the engines of a NeuronCore.
struct SemaphoreFileSpec {
    std::int64_t count = 256;
    Picoseconds
        wakeup_tensor_ns{};   ///< Condition met to start of the waiting instruction: TensorE.
    Picoseconds wakeup_ns{};  ///< The same on the other engines.
};

/// One way of making descriptors (see DgeMode).
struct DgeModeSpec {
    bool available = true;
    std::int64_t blocks = 1;          ///< Generators that work in parallel.
    Picoseconds sequencer_ns{};       ///< The trigger holds its sequencer.
    Picoseconds issue_interval_ns{};  ///< Between two DMAs of one generator.
    Picoseconds per_descriptor_ns{};  ///< Generator time per descriptor, beyond the interval.
    Picoseconds first_byte_ns{};      ///< Trigger to first byte moved.
    Picoseconds descriptor_min_ns{};  ///< Least time of a DMA engine for one descriptor.
};

struct DgeSpec {
    DgeModeSpec none;
    DgeModeSpec software;
    DgeModeSpec hardware;
};

}  // namespace trnsim
