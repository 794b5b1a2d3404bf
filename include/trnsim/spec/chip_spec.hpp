// SPDX-License-Identifier: Apache-2.0
// One chip (NeuronDevice) as data: everything a configs/chips/*.json file says, values only.
#pragma once

#include "trnsim/dma/collective_spec.hpp"
#include "trnsim/dma/dma_spec.hpp"
#include "trnsim/memory/hbm_spec.hpp"
#include "trnsim/neuron_core/gpsimd_engine_spec.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"
#include "trnsim/neuron_core/scalar_engine_spec.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"
#include "trnsim/neuron_core/tensor_engine_spec.hpp"
#include "trnsim/neuron_core/vector_engine_spec.hpp"
#include "trnsim/spec/accuracy_spec.hpp"
#include "trnsim/spec/runtime_spec.hpp"

#include <cstdint>
#include <string>

namespace trnsim {

/// NeuronCore generations that have an instruction set of their own.
enum class NeuronCoreVersion : std::uint8_t { V2 = 2, V3 = 3, V4 = 4 };

/// One NeuronCore: five engines and their memories.
struct NeuronCoreSpec {
    TensorEngineSpec tensor_engine;
    VectorEngineSpec vector_engine;
    ScalarEngineSpec scalar_engine;
    GpsimdEngineSpec gpsimd_engine;
    SyncEngineSpec sync_engine;
    SemaphoreFileSpec semaphore_file;
    DgeSpec dge;
    SbufSpec sbuf;
    PsumSpec psum;
};

/// One chip. Read by spec::load_chip(); every number's unit, source and range is there and in the
/// file.
struct ChipSpec {
    std::string name = "trainium2";
    std::string short_name = "trn2";
    NeuronCoreVersion neuron_core_version = NeuronCoreVersion::V3;
    std::int64_t neuron_cores = 8;
    NeuronCoreSpec neuron_core;
    DmaSpec dma;
    CollectiveSpec collectives;
    HbmSpec hbm;
    RuntimeSpec runtime;
    AccuracySpec accuracy;
};

}  // namespace trnsim
