// SPDX-License-Identifier: Apache-2.0
// The result file of a run, as configs/schema/result.schema.json describes it.
#include "compiler.hpp"
#include "quantity.hpp"
#include "schema_version.hpp"
#include "trnsim/report/report.hpp"
#include "value_json.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace trnsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json config_json(const spec::ChipConfig& chip) {
    Json values = Json::object();
    for (const spec::ChipConfig::Leaf& leaf : chip.leaves) {
        values[leaf.path] = Json::parse(leaf.value);
    }
    return values;
}

Json overrides_json(const spec::ChipConfig& chip) {
    Json paths = Json::array();
    for (const auto& [path, value] : overrides(chip)) {
        paths.push_back(path);
    }
    return paths;
}

Json policies_json(const lowering::Policies& policies) {
    Json values = Json::object();
    for (const auto& [name, value] : describe(policies)) {
        values[name] = value;
    }
    return values;
}

Json summary_json(const Summary& summary) {
    Json fields = Json::object();
    visit(summary, [&fields](const std::string& name, auto value) { fields[name] = value; });
    return fields;
}

Json roofline_json(const Roofline& roofline) {
    Json times = Json::object();
    for (const Resource resource : kResources) {
        times[std::string{name(resource)} + "_ns"] = in_nanoseconds(roofline.of(resource));
    }
    return {{"bound_by", name(roofline.bound_by)}, {"needs", times}};
}

Json engine_json(const EngineResult& engine) {
    Json by_engine = Json::object();
    Picoseconds semaphore;
    for (const WaitCause cause : {WaitCause::Tensor,
                                  WaitCause::Vector,
                                  WaitCause::Scalar,
                                  WaitCause::Gpsimd,
                                  WaitCause::Sync}) {
        const Picoseconds wait = engine.waiting.at(static_cast<std::size_t>(cause));
        semaphore += wait;
        by_engine[std::string{name(cause)} + "_ns"] = in_nanoseconds(wait);
    }
    const auto wait_for = [&engine](WaitCause cause) {
        return in_nanoseconds(engine.waiting.at(static_cast<std::size_t>(cause)));
    };
    return {{"active_ns", in_nanoseconds(engine.active)},
            {"wait_semaphore_ns", in_nanoseconds(semaphore)},
            {"wait_dma_ns", wait_for(WaitCause::Dma)},
            {"wait_port_ns", wait_for(WaitCause::Port)},
            {"idle_ns", in_nanoseconds(engine.idle)},
            {"wait_semaphore_by_engine", by_engine},
            {"instruction_count", engine.instructions}};
}

Json engines_json(const RunResult& result) {
    Json engines = Json::object();
    for (const auto& [engine, times] : result.engines) {
        engines[std::string{name(engine)}] = engine_json(times);
    }
    return engines;
}

Json dma_json(const DmaResult& dma) {
    Json rings = Json::array();
    for (const DmaRingResult& ring : dma.rings) {
        rings.push_back({{"ring", ring.ring},
                         {"dge", ring.dge},
                         {"purpose", ring.purpose},
                         {"active_ns", in_nanoseconds(ring.active)},
                         {"transfer_count", ring.transfers},
                         {"bytes", ring.bytes}});
    }
    Json busy = Json::array();
    for (const Picoseconds time : dma.engine_busy) {
        busy.push_back(in_nanoseconds(time));
    }
    return {{"active_ns", in_nanoseconds(dma.active)},
            {"transfer_count", dma.transfers},
            {"descriptor_count", dma.descriptors},
            {"bytes", dma.bytes},
            {"engine_busy_ns", busy},
            {"rings", rings}};
}

Json memory_json(const Report& report) {
    const MemoryResult& memory = report.result.memory;
    const NeuronCoreSpec& core = report.subject.chip.spec.neuron_core;
    return {{"sbuf_peak_partition_bytes", memory.sbuf_peak_partition_bytes},
            {"sbuf_usable_partition_bytes", core.sbuf.usable_partition_kib * kKib},
            {"psum_peak_banks", memory.psum_peak_banks},
            {"psum_banks", core.psum.banks},
            {"hbm_limited_ns", in_nanoseconds(memory.hbm_limited)}};
}

Json attribution_json(const RunResult& result) {
    Json lines = Json::array();
    for (const LineResult& line : result.lines) {
        Json waited_for = Json::object();
        for (const auto& [what, time] : line.waited_for) {
            waited_for[what] = in_nanoseconds(time);
        }
        lines.push_back({{"source", line.source},
                         {"op", line.op},
                         {"engine", line.engine},
                         {"instruction_count", line.instructions},
                         {"active_ns", in_nanoseconds(line.active)},
                         {"stalled_ns", in_nanoseconds(line.stalled)},
                         {"on_critical_path_ns", in_nanoseconds(line.on_critical_path)},
                         {"waited_for_ns", waited_for}});
    }
    return lines;
}

Json critical_path_json(const RunResult& result) {
    Json path = Json::array();
    for (const CriticalPathEntry& entry : result.critical_path) {
        path.push_back({{"what", entry.what}, {"time_ns", in_nanoseconds(entry.time)}});
    }
    return path;
}

Json advice_json(const RunResult& result) {
    Json all = Json::array();
    for (const Advice& advice : result.advice) {
        all.push_back({{"source", advice.source},
                       {"op", advice.op},
                       {"advice", advice.text},
                       {"time_ns", in_nanoseconds(advice.time)}});
    }
    return all;
}

Json cores_json(const RunResult& result) {
    Json cores = Json::array();
    for (const CoreResult& core : result.cores) {
        cores.push_back({{"total_ns", in_nanoseconds(core.total)},
                         {"tensor_engine_active_ns", in_nanoseconds(core.tensor_active)},
                         {"hbm_limited_ns", in_nanoseconds(core.hbm_limited)},
                         {"hbm_read_bytes", core.hbm_read_bytes},
                         {"hbm_write_bytes", core.hbm_write_bytes}});
    }
    return cores;
}

Json counts_json(const RunResult& result) {
    return {{"method", name(result.method)},
            {"nisa_call_count", result.nisa_calls},
            {"activation_table_load_count", result.activation_table_loads},
            {"kernel_start_ns", in_nanoseconds(result.kernel_start)},
            {"kernel_end_ns", in_nanoseconds(result.kernel_end)},
            {"tensor_engine_clock_gated_ns", in_nanoseconds(result.tensor.cold)}};
}

}  // namespace

std::string to_json(const Report& report) {
    const Subject& subject = report.subject;
    const RunResult& result = report.result;
    const Json json{{"schema_version", kSchemaVersion},
                    {"trnsim_version", subject.trnsim_version},
                    {"chip", subject.chip.spec.name},
                    {"kernel", subject.header.kernel},
                    {"input", subject.input},
                    {"arguments", subject.header.arguments},
                    {"api", subject.header.api},
                    {"source_sha256", subject.header.source_sha256},
                    {"config", config_json(subject.chip)},
                    {"config_overrides", overrides_json(subject.chip)},
                    {"policies", policies_json(subject.policies)},
                    {"compiler", compiler_json(report)},
                    {"summary", summary_json(report.summary)},
                    {"roofline", roofline_json(report.roofline)},
                    {"engines", engines_json(result)},
                    {"dma", dma_json(result.dma)},
                    {"memory", memory_json(report)},
                    {"run", counts_json(result)},
                    {"cores", cores_json(result)},
                    {"attribution", attribution_json(result)},
                    {"critical_path", critical_path_json(result)},
                    {"advice", advice_json(result)},
                    {"values", values_json(report.values)},
                    {"warnings", result.warnings},
                    {"assumptions", result.assumptions}};
    constexpr int kIndent = 1;
    return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnsim::report
