// SPDX-License-Identifier: Apache-2.0
// From the profiler's records to a table of instructions.
#include "neuron_profile.hpp"

#include "json_member.hpp"
#include "opcode_words.hpp"
#include "profile_operands.hpp"
#include "profile_packets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

namespace trnsim::report {
namespace {

constexpr std::string_view kProfileAdvice = "give the JSON that neuron-profile wrote, all of it";

using simdjson::dom::array;
using simdjson::dom::element;

/// A record of "instruction" that belongs to the kernel.
struct Record {
    std::string subgraph;
    std::string label;
    std::string opcode;
    std::string name;  ///< The compiler's.
    std::string operands;
    Engine engine = Engine::Vector;
    bool is_transpose = false;
    std::uint64_t pc = 0;
    Picoseconds start;
    Picoseconds duration;
    Picoseconds waited;
    std::int64_t hbm_read_bytes = 0;
    std::int64_t hbm_write_bytes = 0;
    ProfiledTransfer moved{};  ///< By a DMA.

    [[nodiscard]] Picoseconds end() const { return start + duration; }
};

bool triggers(std::string_view opcode) {
    return opcode.starts_with("DMA_");
}

class ProfileReader {
public:
    ProfileReader(std::string name, element profile)
        : name_(std::move(name)), file_(name_, kProfileAdvice, profile) {}

    InstructionTable read();

private:
    void read_records();
    void keep_last_core();
    void add_instruction(const Record& record);
    void add_transfer(const Record& record);
    void add_packets();
    void add_ends();
    void wait(InstructionTable::Instruction& instruction, const Record& record);
    [[nodiscard]] std::uint32_t kind(InstructionTable::Kind wanted);
    [[nodiscard]] std::vector<element> items(const char* key) const;
    [[nodiscard]] Picoseconds total() const;

    /// Of a label, for the pieces that may follow.
    struct Latest {
        std::string name;
        std::string opcode;
        std::uint64_t pc = 0;
        std::size_t place = 0;
    };
    /// What of an engine the next instruction needs.
    struct Lane {
        Picoseconds busy_until;
        Picoseconds waited;  ///< By instructions that only wait, since the last that does more.
        std::optional<Engine> waited_for;
        std::map<std::string, Latest> latest;  ///< By label.
    };

    const std::string name_;
    const JsonMembers file_;
    std::vector<Record> records_;
    std::array<Lane, InstructionTable::kEngines> lanes_;
    std::map<Engine, std::vector<std::size_t>> triggers_;  ///< Transfers, by who triggered them.
    std::map<Engine, PacketQueue> packets_;
    std::map<std::tuple<Engine, std::string, std::int64_t, std::string>, std::uint32_t> kinds_;
    InstructionTable table_;
};

void ProfileReader::read_records() {
    std::set<std::string> unknown;
    std::size_t index = 0;
    for (const element item : file_.get<array>("instruction")) {
        const JsonMembers fields(name_, kProfileAdvice, item, "/instruction", index++);
        Record record;
        record.name = fields.get<std::string_view>("bir_instruction_name");
        record.label = fields.get<std::string_view>("label");
        record.opcode = fields.get<std::string_view>("opcode");
        record.operands = fields.get<std::string_view>("operands");
        record.start = fields.time("timestamp");
        record.duration = fields.time("duration");
        record.waited = fields.time("evt_wait_time");
        record.subgraph = fields.find<std::string_view>("subgraph").value_or("");
        record.is_transpose =
            record.opcode == "MATMUL" &&
            fields.find<std::string_view>("instruction_type").value_or("") == "TRANSPOSE";
        record.pc = fields.find<std::uint64_t>("pc").value_or(0);
        record.hbm_read_bytes = fields.find<std::int64_t>("hbm_read_bytes").value_or(0);
        record.hbm_write_bytes = fields.find<std::int64_t>("hbm_write_bytes").value_or(0);
        if (record.name.empty()) {
            continue;
        }
        if (triggers(record.opcode)) {
            const auto moved = transfer_of(record.operands);
            if (!moved) {
                fields.refuse("operands",
                              "has no src_elem_size, src_pattern and dst_pattern of a DMA");
            }
            record.moved = *moved;
        }
        if (const auto engine = engine_of_label(record.label)) {
            record.engine = *engine;
            records_.push_back(std::move(record));
        } else {
            unknown.insert(record.label);
        }
    }
    for (const std::string& label : unknown) {
        table_.notes.push_back(fmt::format("instructions of \"{}\" are left out", label));
    }
    if (records_.empty()) {
        file_.refuse("instruction",
                     "no instruction has a bir_instruction_name, so none is the kernel's");
    }
}

void ProfileReader::keep_last_core() {
    const auto last = std::ranges::max_element(records_, {}, &Record::end);
    const std::string kept = last->subgraph;
    const std::size_t before = records_.size();
    std::erase_if(records_, [&kept](const Record& record) { return record.subgraph != kept; });
    if (records_.size() != before) {
        table_.notes.push_back(
            fmt::format("of several NeuronCores only {}, which ended last", kept));
    }
    std::ranges::stable_sort(records_, {}, &Record::start);
}

std::uint32_t ProfileReader::kind(InstructionTable::Kind wanted) {
    const auto key = std::tuple{wanted.engine,
                                wanted.opcode,
                                wanted.engine == Engine::Dma ? wanted.bytes : wanted.elements,
                                wanted.source};
    const auto [known, is_new] =
        kinds_.try_emplace(key, static_cast<std::uint32_t>(table_.kinds.size()));
    if (is_new) {
        table_.kinds.push_back(std::move(wanted));
    }
    return known->second;
}

/// Instructions of one line of the compiler's program share a name up to the last number: "I-17-2".
std::string line_of(const std::string& name) {
    const std::size_t dash = name.find_first_not_of("0123456789", 2);
    return name.starts_with("I-") && dash != std::string::npos ? name.substr(0, dash) : name;
}

void ProfileReader::wait(InstructionTable::Instruction& instruction, const Record& record) {
    Lane& lane = lanes_[static_cast<std::size_t>(record.engine)];
    const Picoseconds free = std::max(lane.busy_until, table_.kernel_start);
    const Picoseconds gap = std::max(Picoseconds{}, record.start - free);
    instruction.waited = std::min(gap, record.waited + lane.waited);
    const auto own = waited_for(record.operands);
    if (instruction.waited->value > 0) {
        instruction.waited_for = own ? own : lane.waited_for;
    }
    lane.busy_until = std::max(lane.busy_until, record.end());
    lane.waited = {};
    lane.waited_for.reset();
}

void ProfileReader::add_instruction(const Record& record) {
    auto& instructions = table_.engines[static_cast<std::size_t>(record.engine)];
    Lane& lane = lanes_[static_cast<std::size_t>(record.engine)];
    Latest& latest = lane.latest[record.label];
    if (latest.name == record.name && latest.opcode == record.opcode && latest.pc < record.pc) {
        InstructionTable::Instruction& whole = instructions[latest.place];
        ++whole.pieces;
        whole.duration = record.end() - whole.start;
        lane.busy_until = std::max(lane.busy_until, record.end());
        latest.pc = record.pc;
        return;
    }
    InstructionTable::Instruction instruction{
        .kind = kind({.engine = record.engine,
                      .opcode = profiler_word(record.opcode, record.engine, record.is_transpose),
                      .elements = largest_operand(record.operands),
                      .source = line_of(record.name)}),
        .start = record.start,
        .duration = record.duration};
    wait(instruction, record);
    latest = {.name = record.name,
              .opcode = record.opcode,
              .pc = record.pc,
              .place = instructions.size()};
    instructions.push_back(instruction);
}

void ProfileReader::add_transfer(const Record& record) {
    const bool reads = record.hbm_read_bytes > 0;
    const bool writes = record.hbm_write_bytes > 0;
    const Direction direction = reads    ? (writes ? Direction::WithinHbm : Direction::Load)
                                : writes ? Direction::Store
                                         : Direction::OnChip;
    auto& transfers = table_.engines[static_cast<std::size_t>(Engine::Dma)];
    triggers_[record.engine].push_back(transfers.size());
    transfers.push_back({.kind = kind({.engine = Engine::Dma,
                                       .opcode = std::string(report::name(direction)),
                                       .source = line_of(record.name),
                                       .direction = direction,
                                       .bytes = record.moved.bytes,
                                       .descriptors = record.moved.elements}),
                         .start = record.start,
                         .waited_for = waited_for(record.operands)});
}

/// Of a list that need not be there.
std::vector<element> ProfileReader::items(const char* key) const {
    std::vector<element> result;
    if (const auto list = file_.find<array>(key)) {
        result.assign(list->begin(), list->end());
    }
    return result;
}

/// Packets name their queue by its number; the queue's name says who fills it: "qSyncDynamicHW".
void ProfileReader::add_packets() {
    const std::string& subgraph = records_.front().subgraph;
    std::map<std::string, Engine> owners;
    std::size_t index = 0;
    for (const element item : items("dma_queues_info")) {
        const JsonMembers fields(name_, kProfileAdvice, item, "/dma_queues_info", index++);
        const std::string queue(fields.get<std::string_view>("q_name"));
        if (fields.find<std::string_view>("subgraph").value_or("") == subgraph &&
            queue.starts_with('q')) {
            for (const char* label : {"Tensor", "Vector", "Scalar", "GpSimd", "Sync"}) {
                if (std::string_view(queue).substr(1).starts_with(label) &&
                    queue.find("Dynamic") != std::string::npos) {
                    owners[std::to_string(fields.get<std::int64_t>("q_idx"))] =
                        engine_of_label(label).value();
                }
            }
        }
    }
    index = 0;
    for (const element item : items("dma")) {
        const JsonMembers fields(name_, kProfileAdvice, item, "/dma", index++);
        const auto owner = owners.find(std::string(fields.get<std::string_view>("dma_queue")));
        if (owner != owners.end() &&
            fields.find<std::string_view>("subgraph").value_or("") == subgraph) {
            const Picoseconds start = fields.time("timestamp");
            packets_[owner->second].add(std::string(fields.get<std::string_view>("dma_engine")),
                                        {.start = start,
                                         .end = start + fields.time("duration"),
                                         .bytes = fields.get<std::int64_t>("transfer_size")});
        }
    }
}

void ProfileReader::add_ends() {
    auto& transfers = table_.engines[static_cast<std::size_t>(Engine::Dma)];
    for (const auto& [engine, places] : triggers_) {
        const std::vector<Picoseconds> ends = packets_[engine].ends(places.size());
        for (std::size_t i = 0; i < ends.size(); ++i) {
            InstructionTable::Instruction& transfer = transfers[places[i]];
            transfer.duration = std::max(Picoseconds{}, ends[i] - transfer.start);
        }
        if (ends.empty()) {
            table_.notes.push_back(
                fmt::format("DMA packets do not tell when the transfers that {} triggered ended",
                            trnsim::name(engine)));
        }
    }
}

Picoseconds ProfileReader::total() const {
    if (const auto summary = file_.find<array>("summary"); summary && summary->size() > 0) {
        const JsonMembers fields(name_, kProfileAdvice, summary->at(0), "/summary", 0);
        if (const auto seconds = fields.find<double>("total_time")) {
            return from_nanoseconds(*seconds * 1e9);
        }
    }
    return std::ranges::max_element(records_, {}, &Record::end)->end();
}

InstructionTable ProfileReader::read() {
    table_.name = name_;
    table_.origin = InstructionTable::Origin::Profile;
    read_records();
    keep_last_core();
    table_.kernel_start = records_.front().start;
    for (const Record& record : records_) {
        const auto engine = static_cast<std::size_t>(record.engine);
        if (!waits_or_triggers(record.opcode)) {
            add_instruction(record);
            continue;
        }
        ++table_.others[engine][record.opcode];
        if (record.opcode == "EVENT_SEMAPHORE") {
            lanes_[engine].waited += record.waited + record.duration;
            if (const auto who = waited_for(record.operands)) {
                lanes_[engine].waited_for = who;
            }
        } else if (triggers(record.opcode)) {
            add_transfer(record);
        }
    }
    add_packets();
    add_ends();
    table_.total = total();
    table_.title = "a Neuron profile";
    return std::move(table_);
}

}  // namespace

InstructionTable read_profile(std::string name, element profile) {
    return ProfileReader(std::move(name), profile).read();
}

}  // namespace trnsim::report
