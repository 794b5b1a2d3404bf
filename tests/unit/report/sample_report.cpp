// SPDX-License-Identifier: Apache-2.0
// Hand-made runs for the tests of texts and files about runs.
#include "sample_report.hpp"

#include <array>
#include <limits>
#include <map>

namespace trnsim::report {
namespace {

constexpr Picoseconds us(double microseconds) {
    return Picoseconds{static_cast<std::int64_t>(microseconds * 1e6)};
}

constexpr Picoseconds kTotal = us(1'036.838);

/// Idle is what is left of the run.
EngineResult engine(Picoseconds active,
                    const std::array<Picoseconds, kWaitCauses>& waiting,
                    std::int64_t instructions) {
    EngineResult result{active, waiting, kTotal - active, active + us(0.4), instructions};
    for (const Picoseconds wait : waiting) {
        result.idle -= wait;
    }
    return result;
}

std::map<Engine, EngineResult> engines() {
    const Picoseconds no;
    return {
        {Engine::Tensor, engine(us(932.148), {no, us(20.41), no, no, no, us(63.21), no}, 16'512)},
        {Engine::Vector, engine(us(129.3), {us(861.37), no, no, no, no, no, us(1.25)}, 64)},
        {Engine::Scalar, engine(no, {}, 0)},
        {Engine::Gpsimd, engine(no, {}, 0)},
        {Engine::Sync, engine(us(28.8), {no, us(310.2), no, no, no, us(640.1), no}, 1'152)},
    };
}

DmaResult dma() {
    DmaResult result;
    result.rings = {{0, "hardware", "load lhsT_tile", us(512.1), 512, 41'943'040},
                    {1, "hardware", "load rhs_tile", us(498.7), 512, 41'943'040},
                    {2, "hardware", "store result", us(160.2), 128, 16'777'216}};
    result.active = us(674.1);
    result.engine_busy.assign(16, us(402.7));
    result.engine_busy.back() = us(410.25);
    result.transfers = 1'152;
    result.descriptors = 147'456;
    result.bytes = 100'663'296;
    return result;
}

std::vector<LineResult> lines() {
    return {
        {"matmul.py:212",
         "nc_matmul",
         "tensor",
         16'384,
         us(925.3),
         us(83.62),
         {{"matmul.py:196 dma_copy", us(63.21)}, {"matmul.py:226 tensor_copy", us(20.41)}},
         us(801.2)},
        {"matmul.py:226",
         "tensor_copy",
         "vector",
         64,
         us(129.3),
         us(862.62),
         {{"matmul.py:212 nc_matmul", us(861.37)}, {"port", us(1.25)}},
         us(31.4)},
        {"matmul.py:196",
         "dma_copy",
         "sync",
         1'024,
         us(25.6),
         us(640.1),
         {{"matmul.py:212 nc_matmul", us(640.1)}},
         us(160.33)},
        {"matmul.py:235",
         "dma_copy",
         "sync",
         128,
         us(3.2),
         us(310.2),
         {{"matmul.py:226 tensor_copy", us(310.2)}},
         us(12.9)},
        {"matmul.py:188", "memset", "tensor", 128, us(6.848), {}, {}, {}},
    };
}

spec::ChipConfig chip() {
    spec::ChipConfig config;
    config.spec.hbm.pin_gbit_per_s = 5.7;
    config.spec.neuron_core.sbuf.usable_partition_kib = 192;
    config.spec.dma.engine_gb_per_s = GigabytesPerSecond{27.2};
    config.leaves = {
        {"name", "\"trainium2\"", "1", "NKI-ARCH-V3", "", "name of the chip"},
        {"neuron_core.tensor_engine.clock_ghz", "2.4", "GHz", "NKI-ARCH-V3", "", "clock"},
        {"hbm.pin_gbit_per_s", "5.7", "Gbit/s", "SA2", "", "rate of a pin"},
        {"dma.engine_gb_per_s", "27.2", "GB/s", "set by the user", "", "rate of an engine"},
        {"neuron_core.tensor_engine.clock_gate.enabled", "true", "1", "M-TRN2", "", "clock gate"},
    };
    config.origin = "trainium2.json";
    return config;
}

}  // namespace

RunResult matmul_result() {
    RunResult result;
    result.total = kTotal;
    result.kernel_start = us(13.42);
    result.kernel_end = us(2.08);
    result.engines = engines();
    result.dma = dma();
    result.memory = {83'886'080, 16'777'216, 0, 0, 147'456, 8, us(4.5)};
    result.tensor = {8'589'934'592, 0, 34'359'738'368, 0, us(27.3)};
    result.nisa_calls = 9'408;
    result.activation_table_loads = 0;
    result.compiler = {
        .counts = {.tensor = {8'192, 256},
                   .engines = {64, 0},
                   .dma = {1'152, 12},
                   .choices = 64,
                   .moved = 0,
                   .stationary_loads = 8'192,
                   .stationary_reuses = 128,
                   .spill_saves = 0,
                   .spill_reloads = 0},
        .sites = {{"lhsT_tile", Space::Sbuf, 4, 7, false, true}, {"result", Space::Psum, 2, 8}}};
    result.lines = lines();
    result.critical_path = {{"matmul.py:212 nc_matmul (tensor)", us(801.2)},
                            {"matmul.py:196 dma_copy (dma)", us(160.33)},
                            {"matmul.py:226 tensor_copy (vector)", us(31.4)},
                            {"kernel start", us(13.42)},
                            {"matmul.py:235 dma_copy (dma)", us(12.9)},
                            {"semaphore", us(12.004)},
                            {"instruction fetch", us(3.504)},
                            {"kernel end", us(2.08)}};
    result.warnings = {
        "matmul.py:196: 4 KiB descriptors; DMA is most efficient from 512 B per descriptor on"};
    result.advice = {{.source = "kernels/matmul.py:196",
                      .op = "dma_copy",
                      .text = "128 descriptors of 64 B; make them longer [NKI-DMA]",
                      .time = us(64.25)}};
    result.assumptions = {"engine_choice=first: 64 tensor_copy on vector"};
    result.cores = {{.total = kTotal,
                     .tensor_active = result.engines.at(Engine::Tensor).active,
                     .hbm_limited = us(4.5),
                     .hbm_read_bytes = 83'886'080,
                     .hbm_write_bytes = 16'777'216}};
    return result;
}

ValueReport matmul_values() {
    return {.seed = 7,
            .reference = "ref.py::matmul",
            .outputs = {
                {.name = "result",
                 .dtype = "float32",
                 .shape = {2048, 2048},
                 .minimum = -170.25,
                 .maximum = std::numeric_limits<double>::infinity(),
                 .nan_count = 3,
                 .check = OutputCheck{.differing_count = 1'300,
                                      .element_count = 4'194'304,
                                      .max_error = std::numeric_limits<double>::quiet_NaN(),
                                      .rtol = 1e-5,
                                      .atol = 0.0,
                                      .first = DifferingElement{
                                          .index = {0, 17}, .actual = 0.5, .expected = 0.25}}}}};
}

Subject matmul_subject() {
    Subject subject;
    subject.trnsim_version = "0.1.0";
    subject.input = "matmul.py::nki_matmul_fully_optimized_";
    subject.header.kernel = "nki_matmul_fully_optimized_";
    subject.header.api = "nki";
    subject.header.source_sha256 = "0f3a";
    subject.header.arguments = {"float32[2048,2048]", "float32[2048,2048]", "16", "2", "8"};
    subject.chip = chip();
    subject.policies = lowering::default_policies("nki");
    lowering::set(subject.policies, "dma_rings=3");
    return subject;
}

RunResult empty_result() {
    RunResult result;
    result.total = us(15.5);
    result.kernel_start = us(13.42);
    result.kernel_end = us(2.08);
    for (const Engine engine : kSequencedEngines) {
        result.engines[engine].idle = result.total;
    }
    result.critical_path = {{"kernel start", us(13.42)}, {"kernel end", us(2.08)}};
    return result;
}

}  // namespace trnsim::report
