// SPDX-License-Identifier: Apache-2.0
// The template record: an instruction with everything but its position.
#include "attributes_reader.hpp"
#include "collective_checks.hpp"
#include "index_reference.hpp"
#include "limits.hpp"
#include "operand_shapes.hpp"
#include "operation_rules.hpp"
#include "records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

namespace trnsim::program {
namespace {

/// "dst, data, bias?, src+": the operands of an operation.
std::string operands_text(const OperationRule& rule) {
    std::vector<std::string> roles;
    for (const OperandRule& each : rule.operands.span()) {
        const std::string_view mark = each.arity == Arity::Optional    ? "?"
                                      : each.arity == Arity::OneOrMore ? "+"
                                                                       : "";
        roles.push_back(fmt::format("{}{}", name(each.role), mark));
    }
    return roles.empty() ? "no operands" : fmt::format("{}", fmt::join(roles, ", "));
}

void read_engines(const JsonValue& value, InstructionTemplate& instruction) {
    const std::span<const Engine> allowed = rule_of(instruction.op).engines.span();
    value.for_each([&](const JsonValue& entry) {
        const Engine engine = entry.choice(engine_from_name, Engine::Dma);
        if (std::ranges::find(allowed, engine) == allowed.end()) {
            std::vector<std::string_view> names;
            std::ranges::transform(
                allowed, std::back_inserter(names), [](Engine each) { return name(each); });
            entry.fail(fmt::format("\"{}\", but {} runs on: {}",
                                   name(engine),
                                   name(instruction.op),
                                   fmt::join(names, ", ")));
        }
        if (std::ranges::find(instruction.engines, engine) != instruction.engines.end()) {
            entry.fail(fmt::format("\"{}\" again; name each engine once", name(engine)));
        }
        instruction.engines.push_back(engine);
    });
    if (instruction.engines.empty()) {
        value.fail("empty; name at least one engine, best first");
    }
}

void read_pattern(const JsonValue& value, Operand& operand) {
    const std::size_t most = operand.space == Space::Hbm ? kMaxHbmPairs : kMaxOnChipPairs;
    std::size_t rank = 0;
    std::int64_t elements = 1;
    std::int64_t reach = 0;
    value.for_each([&](const JsonValue& pair) {
        if (++rank > most) {
            value.fail(fmt::format("longer than {} pairs, the limit in {}; merge or split it",
                                   most,
                                   name(operand.space)));
        }
        std::size_t size = 0;
        PatternDim dim;
        for (const JsonElement element : pair.array()) {
            if (size == 0) {
                dim.stride = pair.entry(element).integer(-kMaxInteger, kMaxInteger);
            } else if (size == 1) {
                dim.count = pair.entry(element).integer(1, kMaxInteger);
            }
            ++size;
        }
        if (size != 2) {
            pair.fail(fmt::format("an array of {}; write [stride, count]", size));
        }
        if (dim.count > kMaxInteger / elements) {
            value.fail(fmt::format("more than {} elements in all; split it", kMaxInteger));
        }
        elements *= dim.count;
        const std::int64_t stride = std::abs(dim.stride);
        if (stride != 0 && dim.count - 1 > (kMaxReach - reach) / stride) {
            value.fail("reaching beyond 2^56 elements; correct the strides");
        }
        reach += stride * (dim.count - 1);
        operand.pattern.push_back(dim);
    });
}

void read_buffer_reference(const ReaderState& state, const JsonFields& fields, Operand& operand) {
    const std::int64_t id = fields["buffer"].integer(0, kMaxInteger);
    if (id >= std::ssize(state.program.buffers)) {
        fields["buffer"].fail(fmt::format("{}, past the {} declared so far; declare it before",
                                          id,
                                          state.program.buffers.size()));
    }
    if (id < static_cast<std::int64_t>(state.part.first_buffer)) {
        fields["buffer"].fail(
            fmt::format("{}, which belongs to another core; a buffer that cores share is declared "
                        "by each, with the same \"shared\"",
                        id));
    }
    operand.buffer = static_cast<std::uint32_t>(id);
    const Buffer& buffer = state.program.buffers[operand.buffer];
    operand.space = buffer.space;
    operand.dtype = buffer.dtype;
    if (fields.has("dtype")) {
        operand.dtype = fields["dtype"].choice(dtype_from_name, Dtype::Bool);
    }
}

void read_partitions(const ReaderState& state, const JsonFields& fields, Operand& operand) {
    if (operand.space == Space::Hbm) {
        if (fields.has("partitions")) {
            state.place.fail("\"partitions\" is for sbuf and psum; leave it out of an hbm operand");
        }
        return;
    }
    if (!fields.has("partitions")) {
        state.place.fail(fmt::format("key \"partitions\" is missing; an operand in {} needs it",
                                     name(operand.space)));
    }
    operand.partitions = static_cast<std::int32_t>(fields["partitions"].integer(1, kPartitions));
}

JsonFields operand_fields(const ReaderState& state, const JsonValue& value) {
    static constexpr std::array kProgramKeys{
        JsonKey{"role"},
        JsonKey{"access"},
        JsonKey{"buffer"},
        optional_key("partitions"),
        JsonKey{"pattern"},
        optional_key("dtype"),
        optional_key("indirect"),
    };
    static constexpr std::array kLoweredKeys{
        JsonKey{"role"},
        JsonKey{"access"},
        JsonKey{"space"},
        JsonKey{"dtype"},
        optional_key("partitions"),
        JsonKey{"pattern"},
        optional_key("indirect"),
    };
    const std::span<const JsonKey> keys =
        state.is_lowered() ? std::span<const JsonKey>(kLoweredKeys) : kProgramKeys;
    return {state.place, value.object(), keys};
}

/// Results are written or updated, other operands read; the tensor engine also accumulates.
void check_access(const Place& place, const InstructionTemplate& instruction, const Operand& each) {
    const bool is_result = each.role == Role::Dst || each.role == Role::DstScale ||
                           each.role == Role::ReduceResult || each.role == Role::DstIndex;
    if (!is_result) {
        if (each.access != Access::Read) {
            place.fail(
                fmt::format("\"access\" is \"{}\", allowed is \"read\": {} does not change "
                            "this operand",
                            name(each.access),
                            name(instruction.op)));
        }
        return;
    }
    if (is_matmul(instruction.op)) {
        const Access wanted = instruction.attributes.start ? Access::Write : Access::Accumulate;
        if (each.access != wanted) {
            place.fail(fmt::format(R"("access" is "{}", but with "start" {} it is "{}")",
                                   name(each.access),
                                   instruction.attributes.start,
                                   name(wanted)));
        }
    } else if (each.access != Access::Write && each.access != Access::Update) {
        place.fail(
            fmt::format(R"("access" is "{}", allowed is "write" or "update")", name(each.access)));
    }
}

/// Whether an operand holds the indices of another one: every operation may end with such.
bool is_index_of_another(const InstructionTemplate& instruction, const Operand& operand) {
    return operand.role == Role::Index &&
           std::ranges::any_of(instruction.operands, [&](const Operand& each) {
               return instruction.indices_of(each) == &operand && &each != &operand;
           });
}

/// Matches the operands' roles against the operation's, in order.
void check_roles(const Place& place, const InstructionTemplate& instruction) {
    const OperationRule& rule = rule_of(instruction.op);
    std::size_t next = 0;
    for (const OperandRule& each : rule.operands.span()) {
        const std::size_t first = next;
        while (next < instruction.operands.size() && instruction.operands[next].role == each.role &&
               (next == first || each.arity == Arity::OneOrMore)) {
            ++next;
        }
        if (next == first && each.arity != Arity::Optional) {
            place.fail(fmt::format("operand {} should be \"{}\"; {} takes {} in this order",
                                   next,
                                   name(each.role),
                                   name(instruction.op),
                                   operands_text(rule)));
        }
    }
    while (next < instruction.operands.size() &&
           is_index_of_another(instruction, instruction.operands[next])) {
        ++next;
    }
    if (next < instruction.operands.size()) {
        place.fail(fmt::format("operand {} (\"{}\") has no place; {} takes {} in this order",
                               next,
                               name(instruction.operands[next].role),
                               name(instruction.op),
                               operands_text(rule)));
    }
}

/// An operand, and what it says about its indices: they come after it.
struct OperandRecord {
    Operand operand{};
    std::optional<IndexReference> indirect{};
};

OperandRecord read_operand(ReaderState& state, const JsonValue& value, Place::Part& part) {
    const JsonFields fields = operand_fields(state, value);
    OperandRecord record;
    Operand& operand = record.operand;
    operand.role = fields["role"].choice(role_from_name, Role::DstIndex);
    part.label(name(operand.role));
    operand.access = fields["access"].choice(access_from_name, Access::Accumulate);
    if (state.is_lowered()) {
        operand.space = fields["space"].choice(space_from_name, Space::Psum);
        operand.dtype = fields["dtype"].choice(dtype_from_name, Dtype::Bool);
    } else {
        read_buffer_reference(state, fields, operand);
    }
    read_partitions(state, fields, operand);
    read_pattern(fields["pattern"], operand);
    if (fields.has("indirect")) {
        record.indirect = read_index_reference(fields["indirect"]);
    }
    return record;
}

using IndexReferences = std::vector<std::optional<IndexReference>>;

/// Reads the operands; returns what each says about its indices.
IndexReferences read_operands(ReaderState& state,
                              const JsonValue& list,
                              InstructionTemplate& instruction) {
    IndexReferences references;
    list.for_each([&](const JsonValue& value) {
        Place::Part part(state.place, "operand", std::ssize(references));
        const OperandRecord record = read_operand(state, value, part);
        instruction.operands.push_back(record.operand);
        references.push_back(record.indirect);
    });
    for (std::size_t i = 0; i < references.size(); ++i) {
        if (references[i]) {
            instruction.operands[i].indirect = find(*references[i], instruction.operands);
        }
    }
    return references;
}

void check_indirect(const Place& place,
                    const InstructionTemplate& instruction,
                    const Operand& each,
                    const std::optional<IndexReference>& reference) {
    if (!reference) {
        return;
    }
    const Operand* indices = instruction.indices_of(each);
    if (indices == nullptr || indices == &each || indices->access != Access::Read) {
        place.fail(
            fmt::format("\"indirect\" is {}; name another operand, one that is read and "
                        "holds the indices",
                        text(*reference)));
    }
}

bool can_run(const InstructionTemplate& instruction, Engine engine) {
    return std::ranges::all_of(instruction.operands, [&](const Operand& each) {
        return reaches(engine, instruction.op, each.role, each.space);
    });
}

/// The first operand that `engine` does not reach, as a message.
void fail_space(const Place& place, const InstructionTemplate& instruction, Engine engine) {
    for (const Operand& each : instruction.operands) {
        if (reaches(engine, instruction.op, each.role, each.space)) {
            continue;
        }
        const bool is_hbm = each.space == Space::Hbm;
        place.fail(fmt::format("\"{}\" is in {}, which the {} engine does not reach{} in {}; {}",
                               name(each.role),
                               name(each.space),
                               name(engine),
                               each.role == Role::Dst ? " as a result" : " as an input",
                               name(instruction.op),
                               is_hbm ? "move it with dma_copy" : "copy it with tensor_copy"));
    }
}

void check_spaces(const Place& place, const InstructionTemplate& instruction) {
    const bool runs = std::ranges::any_of(
        instruction.engines, [&](Engine engine) { return can_run(instruction, engine); });
    if (!runs) {
        fail_space(place, instruction, instruction.engines.front());
    }
    const std::span<const Role> pair = not_both_in_psum(instruction.op);
    const bool both = !pair.empty() && std::ranges::all_of(pair, [&](Role role) {
        const Operand* operand = instruction.find(role);
        return operand != nullptr && operand->space == Space::Psum;
    });
    if (both) {
        place.fail(
            fmt::format("\"{}\" and \"{}\" are both in psum, {} reads at most one from it; "
                        "copy one to sbuf",
                        name(pair[0]),
                        name(pair[1]),
                        name(instruction.op)));
    }
}

void read_lowered_keys(const ReaderState& state,
                       const JsonFields& fields,
                       InstructionTemplate& to) {
    const bool needs_ring = state.is_lowered() && is_dma(to.op) && !is_exchange(to.op);
    if (needs_ring && !fields.has("ring")) {
        state.place.fail("key \"ring\" is missing; name the DMA ring, 0 to 15");
    }
    if (!needs_ring && fields.has("ring")) {
        state.place.fail(
            is_exchange(to.op)
                ? R"(key "ring" is for transfers of one NeuronCore; exchanges have a ring of their )"
                  "own: leave it out"
                : R"(key "ring" is for dma operations of a lowered trace only; leave it out)");
    }
    if (needs_ring) {
        to.ring = static_cast<std::int32_t>(fields["ring"].integer(0, kRings - 1));
        if (to.attributes.dge == DgeMode::Auto) {
            state.place.fail(R"("dge" is "auto"; a lowered trace says none, software or hardware)");
        }
    }
    if (state.is_lowered() && to.engines.size() != 1) {
        fields["engines"].fail(
            fmt::format("a choice of {}; a lowered trace names one", to.engines.size()));
    }
}

}  // namespace

void read_template(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{
        JsonKey{"record"},
        JsonKey{"id"},
        JsonKey{"op"},
        JsonKey{"engines"},
        JsonKey{"operands"},
        optional_key("attributes"),
        optional_key("ring"),
        optional_key("source"),
    };
    const std::size_t next = state.program.templates.size();
    Place::Part part(state.place, "template", static_cast<std::int64_t>(next));
    const JsonFields fields(state.place, record, kKeys);
    check_id(state, fields, next);
    InstructionTemplate instruction;
    instruction.op = fields["op"].choice(opcode_from_name, Opcode::CollectivePermute);
    part.label(name(instruction.op));
    read_engines(fields["engines"], instruction);
    const IndexReferences indirect = read_operands(state, fields["operands"], instruction);
    check_roles(state.place, instruction);
    const std::optional<JsonValue> attributes =
        fields.has("attributes") ? std::optional(fields["attributes"]) : std::nullopt;
    instruction.attributes = read_attributes(state.place, instruction.op, attributes);
    read_lowered_keys(state, fields, instruction);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        Place::Part operand(state.place, "operand", static_cast<std::int64_t>(i));
        operand.label(name(instruction.operands[i].role));
        check_access(state.place, instruction, instruction.operands[i]);
        check_indirect(state.place, instruction, instruction.operands[i], indirect[i]);
    }
    check_spaces(state.place, instruction);
    check_operand_shapes(state.place, instruction);
    check_collective(state.place, instruction);
    instruction.source = read_source(state, fields);
    state.program.templates.push_back(std::move(instruction));
}

}  // namespace trnsim::program
