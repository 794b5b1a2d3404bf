// SPDX-License-Identifier: Apache-2.0
// The result file of a run, as configs/schema/result.schema.json describes it.
#include "compiler.hpp"
#include "indented_json.hpp"
#include "quantity.hpp"
#include "schema_version.hpp"
#include "trnsim/report/report.hpp"
#include "value_json.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::report {
namespace {

void write_texts(IndentedJson& json, std::string_view name, const std::vector<std::string>& texts) {
    json.key(name).array(texts, [&json](const std::string& text) { json.value(text); });
}

void write_config(IndentedJson& json, const spec::ChipConfig& chip) {
    json.key("config").object([&] {
        for (const spec::ChipConfig::Leaf& leaf : chip.leaves) {
            json.key(leaf.path).raw(leaf.value);
        }
    });
    json.key("config_overrides").array(overrides(chip), [&](const auto& changed) {
        json.value(changed.first);
    });
}

void write_policies(IndentedJson& json, const lowering::Policies& policies) {
    json.key("policies").object([&] {
        for (const auto& [name, value] : describe(policies)) {
            json.member(name, value);
        }
    });
}

void write_summary(IndentedJson& json, const Summary& summary) {
    json.key("summary").object([&] {
        visit(summary, [&json](const std::string& name, auto value) { json.member(name, value); });
    });
}

void write_roofline(IndentedJson& json, const Roofline& roofline) {
    json.key("roofline").object([&] {
        json.member("bound_by", name(roofline.bound_by));
        json.key("needs").object([&] {
            for (const Resource resource : kResources) {
                json.member(std::string{name(resource)} + "_ns",
                            in_nanoseconds(roofline.of(resource)));
            }
        });
    });
}

void write_engine(IndentedJson& json, const EngineResult& engine) {
    constexpr std::array kEngines{WaitCause::Tensor,
                                  WaitCause::Vector,
                                  WaitCause::Scalar,
                                  WaitCause::Gpsimd,
                                  WaitCause::Sync};
    const auto wait_for = [&engine](WaitCause cause) {
        return engine.waiting.at(static_cast<std::size_t>(cause));
    };
    Picoseconds semaphore;
    for (const WaitCause cause : kEngines) {
        semaphore += wait_for(cause);
    }
    json.member("active_ns", in_nanoseconds(engine.active));
    json.member("wait_semaphore_ns", in_nanoseconds(semaphore));
    json.member("wait_dma_ns", in_nanoseconds(wait_for(WaitCause::Dma)));
    json.member("wait_port_ns", in_nanoseconds(wait_for(WaitCause::Port)));
    json.member("idle_ns", in_nanoseconds(engine.idle));
    json.key("wait_semaphore_by_engine").object([&] {
        for (const WaitCause cause : kEngines) {
            json.member(std::string{name(cause)} + "_ns", in_nanoseconds(wait_for(cause)));
        }
    });
    json.member("instruction_count", engine.instructions);
}

void write_engines(IndentedJson& json, const RunResult& result) {
    json.key("engines").object([&] {
        for (const auto& [engine, times] : result.engines) {
            json.key(name(engine)).object([&json, &of = times] { write_engine(json, of); });
        }
    });
}

void write_ring(IndentedJson& json, const DmaRingResult& ring) {
    json.object([&] {
        json.member("ring", ring.ring);
        json.member("dge", ring.dge);
        json.member("purpose", ring.purpose);
        json.member("active_ns", in_nanoseconds(ring.active));
        json.member("transfer_count", ring.transfers);
        json.member("bytes", ring.bytes);
    });
}

void write_dma(IndentedJson& json, const DmaResult& dma) {
    json.key("dma").object([&] {
        json.member("active_ns", in_nanoseconds(dma.active));
        json.member("transfer_count", dma.transfers);
        json.member("descriptor_count", dma.descriptors);
        json.member("bytes", dma.bytes);
        json.key("engine_busy_ns").array(dma.engine_busy, [&json](Picoseconds time) {
            json.value(in_nanoseconds(time));
        });
        json.key("rings").array(dma.rings,
                                [&json](const DmaRingResult& ring) { write_ring(json, ring); });
    });
}

void write_memory(IndentedJson& json, const Report& report) {
    const MemoryResult& memory = report.result.memory;
    const NeuronCoreSpec& core = report.subject.chip.spec.neuron_core;
    json.key("memory").object([&] {
        json.member("sbuf_peak_partition_bytes", memory.sbuf_peak_partition_bytes);
        json.member("sbuf_usable_partition_bytes", core.sbuf.usable_partition_kib * kKib);
        json.member("psum_peak_banks", memory.psum_peak_banks);
        json.member("psum_banks", core.psum.banks);
        json.member("hbm_limited_ns", in_nanoseconds(memory.hbm_limited));
    });
}

void write_line(IndentedJson& json, const LineResult& line) {
    json.object([&] {
        json.member("source", line.source);
        json.member("op", line.op);
        json.member("engine", line.engine);
        json.member("instruction_count", line.instructions);
        json.member("active_ns", in_nanoseconds(line.active));
        json.member("stalled_ns", in_nanoseconds(line.stalled));
        json.member("on_critical_path_ns", in_nanoseconds(line.on_critical_path));
        json.key("waited_for_ns").object([&] {
            for (const auto& [what, time] : line.waited_for) {
                json.member(what, in_nanoseconds(time));
            }
        });
    });
}

/// Where the time went: lines, the critical path, and what could be better.
void write_attribution(IndentedJson& json, const RunResult& result) {
    json.key("attribution").array(result.lines, [&json](const LineResult& line) {
        write_line(json, line);
    });
    json.key("critical_path").array(result.critical_path, [&json](const CriticalPathEntry& entry) {
        json.object([&] {
            json.member("what", entry.what);
            json.member("time_ns", in_nanoseconds(entry.time));
        });
    });
    json.key("advice").array(result.advice, [&json](const Advice& advice) {
        json.object([&] {
            json.member("source", advice.source);
            json.member("op", advice.op);
            json.member("advice", advice.text);
            json.member("time_ns", in_nanoseconds(advice.time));
        });
    });
}

void write_cores(IndentedJson& json, const RunResult& result) {
    json.key("cores").array(result.cores, [&json](const CoreResult& core) {
        json.object([&] {
            json.member("total_ns", in_nanoseconds(core.total));
            json.member("tensor_engine_active_ns", in_nanoseconds(core.tensor_active));
            json.member("hbm_limited_ns", in_nanoseconds(core.hbm_limited));
            json.member("hbm_read_bytes", core.hbm_read_bytes);
            json.member("hbm_write_bytes", core.hbm_write_bytes);
        });
    });
}

void write_counts(IndentedJson& json, const RunResult& result) {
    json.key("run").object([&] {
        json.member("method", name(result.method));
        json.member("nisa_call_count", result.nisa_calls);
        json.member("activation_table_load_count", result.activation_table_loads);
        json.member("kernel_start_ns", in_nanoseconds(result.kernel_start));
        json.member("kernel_end_ns", in_nanoseconds(result.kernel_end));
        json.member("tensor_engine_clock_gated_ns", in_nanoseconds(result.tensor.cold));
    });
}

/// What was run.
void write_subject(IndentedJson& json, const Subject& subject) {
    json.member("schema_version", kSchemaVersion);
    json.member("trnsim_version", subject.trnsim_version);
    json.member("chip", subject.chip.spec.name);
    json.member("kernel", subject.header.kernel);
    json.member("input", subject.input);
    write_texts(json, "arguments", subject.header.arguments);
    json.member("api", subject.header.api);
    json.member("source_sha256", subject.header.source_sha256);
    write_config(json, subject.chip);
    write_policies(json, subject.policies);
}

}  // namespace

std::string to_json(const Report& report) {
    const RunResult& result = report.result;
    IndentedJson json;
    json.object([&] {
        write_subject(json, report.subject);
        write_compiler(json, report);
        write_summary(json, report.summary);
        write_roofline(json, report.roofline);
        write_engines(json, result);
        write_dma(json, result.dma);
        write_memory(json, report);
        write_counts(json, result);
        write_cores(json, result);
        write_attribution(json, result);
        json.key("values").raw(values_json(report.values).dump(1));
        write_texts(json, "warnings", result.warnings);
        write_texts(json, "assumptions", result.assumptions);
    });
    return json.text() + "\n";
}

}  // namespace trnsim::report
