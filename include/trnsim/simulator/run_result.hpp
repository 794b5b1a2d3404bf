// SPDX-License-Identifier: Apache-2.0
// Everything a run measured, as plain numbers. Ratios and texts are made in report/.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/engine.hpp"
#include "trnsim/simulator/compiler_result.hpp"
#include "trnsim/spec/runtime_spec.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trnsim {

/// What an engine can wait for. The first six are the producers, by what raised the semaphore.
enum class WaitCause : std::uint8_t {
    Tensor,
    Vector,
    Scalar,
    Gpsimd,
    Sync,
    Dma,
    Port,  ///< A memory port held by another engine (SBUF or PSUM exclusions).
};
inline constexpr int kWaitCauses = 7;

/// "tensor", …, "dma", "port".
[[nodiscard]] std::string_view name(WaitCause cause);

/// One engine's time. active + sum of waits + idle is the total of the run, to the picosecond.
struct EngineResult {
    Picoseconds active;                              ///< Issue intervals: the engine is occupied.
    std::array<Picoseconds, kWaitCauses> waiting{};  ///< Blocked on a semaphore, by who raises it.
    Picoseconds idle;     ///< No instruction at hand, start and end included.
    Picoseconds covered;  ///< Wall clock with an instruction between issue and result.
    std::int64_t instructions = 0;
};

struct DmaRingResult {
    std::int32_t ring = 0;
    std::string dge;      ///< "none", "software", "hardware".
    std::string purpose;  ///< What the lowering put on it: "load lhsT_tile", "store".
    Picoseconds active;   ///< From a transfer's trigger to its completion, overlaps counted once.
    std::int64_t transfers = 0;
    std::int64_t bytes = 0;
};

struct DmaResult {
    std::vector<DmaRingResult> rings;
    Picoseconds active;                    ///< Any engine moves data.
    std::vector<Picoseconds> engine_busy;  ///< One per DMA engine.
    std::int64_t transfers = 0;
    std::int64_t descriptors = 0;
    std::int64_t bytes = 0;
};

struct MemoryResult {
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
    std::int64_t spill_save_bytes = 0;
    std::int64_t spill_reload_bytes = 0;
    std::int64_t sbuf_peak_partition_bytes = 0;  ///< Allocated, at the fullest moment.
    std::int64_t psum_peak_banks = 0;
    Picoseconds hbm_limited;  ///< Time in which HBM, not the DMA engines, set the rate.
};

/// Work done by the tensor engine.
struct TensorWork {
    std::int64_t macs = 0;  ///< Of matmuls that are not transposes.
    std::int64_t transpose_macs = 0;
    std::int64_t peak_weighted_macs =
        0;  ///< macs x dtype weight (FP32 4, BF16 1, FP8 double row 1/2 …).
    std::int64_t peak_weighted_transpose_macs = 0;
    Picoseconds cold;  ///< Active time at the clock gate's reduced rate.
};

/// Time charged to one line of the kernel on one engine.
struct LineResult {
    std::string source;  ///< "kernel.py:52"
    std::string op;      ///< "nc_matmul"
    std::string engine;
    std::int64_t instructions = 0;
    Picoseconds active;
    Picoseconds stalled;                            ///< Waited before it could start.
    std::map<std::string, Picoseconds> waited_for;  ///< "kernel.py:44 dma_copy" → time.
    Picoseconds on_critical_path;
};

/// What is legal and slow in one line of the kernel.
struct Advice {
    std::string source;  ///< "kernel.py:44"
    std::string op;
    std::string text;  ///< "what is; what to do [tag]"
    Picoseconds time;  ///< That the DMA engines need for it, undisturbed.
};

/// One step kind of the critical path: "kernel start", "kernel.py:52 nc_matmul (tensor)",
/// "semaphore".
struct CriticalPathEntry {
    std::string what;
    Picoseconds time;
};

/// One of the NeuronCores of a launch, in short.
struct CoreResult {
    Picoseconds total;
    Picoseconds tensor_active;
    Picoseconds hbm_limited;
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
};

/// One NeuronCore; of several the one that ended last, of those the one that the others kept least,
/// with all of them in `cores`.
struct RunResult {
    Picoseconds total;                 ///< Latency: kernel start to kernel end, both included.
    Method method = Method::Profiler;  ///< What the latency compares with.
    Picoseconds kernel_start;
    Picoseconds kernel_end;
    std::map<Engine, EngineResult> engines;  ///< The five sequenced engines.
    DmaResult dma;
    MemoryResult memory;
    TensorWork tensor;
    std::int64_t nisa_calls = 0;  ///< Executed operations of the program trace.
    std::int64_t activation_table_loads = 0;
    std::optional<CompilerResult> compiler;        ///< None for a lowered trace.
    std::vector<LineResult> lines;                 ///< By active + stalled time, largest first.
    std::vector<CriticalPathEntry> critical_path;  ///< Sums to total; largest first.
    std::vector<Advice> advice;                    ///< By time, largest first.
    std::vector<std::string> warnings;
    std::vector<std::string> assumptions;  ///< What the frontend assumed.
    std::vector<CoreResult> cores;         ///< Every NeuronCore of the launch.
};

}  // namespace trnsim
