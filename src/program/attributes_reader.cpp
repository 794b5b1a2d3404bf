// SPDX-License-Identifier: Apache-2.0
// Attributes, one reader for each kind of value.
#include "attributes_reader.hpp"

#include "attribute_members.hpp"
#include "json_fields.hpp"
#include "limits.hpp"
#include "operator_names.hpp"
#include "suggestion.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

namespace trnsim::program {
namespace {

/// Each overload reads the attribute into a member of its type.
void read_into(std::string& member, const JsonValue& value, const AttributeRule& rule) {
    const std::string_view given = value.nonempty_text();
    const bool is_function = rule.attribute == Attribute::Function;
    const std::span<const std::string_view> names =
        is_function ? std::span<const std::string_view>(kFunctionNames)
                    : std::span<const std::string_view>(kOperatorNames);
    if (given != "none" && std::ranges::find(names, given) == names.end()) {
        value.fail(fmt::format("{}, an unknown {}{}",
                               in_quotes(given),
                               is_function ? "activation function" : "operator",
                               suggestion(given, names)));
    }
    if (given == "none" && !rule.allows_none) {
        value.fail("\"none\", but the operation needs one; name it");
    }
    member = given;
}

void read_into(bool& member, const JsonValue& value, const AttributeRule& /*rule*/) {
    member = value.boolean();
}

void read_into(OneZero& member, const JsonValue& value, const AttributeRule& /*rule*/) {
    member = value.choice(one_zero_from_name, OneZero::Both);
}

void read_into(MatmulPerfMode& member, const JsonValue& value, const AttributeRule& /*rule*/) {
    member = value.choice(perf_mode_from_name, MatmulPerfMode::DoubleRow);
}

void read_into(DgeMode& member, const JsonValue& value, const AttributeRule& /*rule*/) {
    member = value.choice(dge_mode_from_name, DgeMode::Hardware);
}

void read_into(std::int64_t& member, const JsonValue& value, const AttributeRule& rule) {
    switch (rule.attribute) {
        case Attribute::SendTo:
        case Attribute::RecvFrom:
            member = value.integer(0, kMaxCores - 1);
            break;
        case Attribute::Channels:
            member = value.integer(1, kMaxChannels);
            break;
        case Attribute::Pipe:
            member = value.integer(0, std::numeric_limits<std::int32_t>::max());
            break;
        default:
            member = value.integer(1, kMaxInteger);
    }
}

/// Ranks that work together, or pairs of ranks: an array of arrays.
void read_into(std::vector<std::vector<std::int32_t>>& member,
               const JsonValue& value,
               const AttributeRule& rule) {
    value.for_each([&](const JsonValue& entry) {
        std::vector<std::int32_t> ranks;
        entry.for_each([&ranks](const JsonValue& rank) {
            ranks.push_back(static_cast<std::int32_t>(rank.integer(0, kMaxRank)));
        });
        if (ranks.empty() || (rule.attribute == Attribute::Pairs && ranks.size() != 2)) {
            entry.fail(fmt::format("an array of {}; write {}",
                                   ranks.size(),
                                   ranks.empty() ? "the ranks" : "[from, to]"));
        }
        member.push_back(std::move(ranks));
    });
    if (member.empty()) {
        value.fail("empty; write an array of arrays of ranks");
    }
}

/// The value of memset. JSON has no infinities: they are strings, as is that each run has its own.
void read_into(std::optional<double>& member,
               const JsonValue& value,
               const AttributeRule& /*rule*/) {
    using Limits = std::numeric_limits<double>;
    if (!value.is_text()) {
        member = value.number();
    } else if (value.text() == "inf") {
        member = Limits::infinity();
    } else if (value.text() == "-inf") {
        member = -Limits::infinity();
    } else if (value.text() == "nan") {
        member = Limits::quiet_NaN();
    } else if (value.text() == "run") {
        member.reset();
    } else {
        value.fail(fmt::format(R"({}; write a number, "inf", "-inf", "nan" or "run")",
                               in_quotes(value.text())));
    }
}

void read_into(PeTile& member, const JsonValue& value, const AttributeRule& /*rule*/) {
    std::vector<std::int32_t> pair;
    value.for_each([&pair](const JsonValue& entry) {
        pair.push_back(static_cast<std::int32_t>(entry.integer(0, kPartitions)));
    });
    if (pair.size() != 2) {
        value.fail(fmt::format("an array of {}; write [row, column]", pair.size()));
    }
    member = {pair[0], pair[1]};
}

/// The mask of nc_stream_shuffle. Entry i: the partition of its quadrant that partition i takes its
/// values from, or 255 to keep what it has. [NKI-ISA]
void read_mask(std::vector<std::int32_t>& member, const JsonValue& value) {
    constexpr std::int64_t kQuadrant = 32;
    constexpr std::int64_t kKeep = 255;
    value.for_each([&](const JsonValue& entry) {
        const std::int64_t partition = entry.integer(0, kKeep);
        if (partition >= kQuadrant && partition != kKeep) {
            entry.fail(fmt::format("{}, allowed is 0 to {}, or {} to keep the value",
                                   partition,
                                   kQuadrant - 1,
                                   kKeep));
        }
        member.push_back(static_cast<std::int32_t>(partition));
    });
    if (std::ssize(member) != kQuadrant) {
        value.fail(fmt::format("an array of {}; write {} integers", member.size(), kQuadrant));
    }
}

/// The mask of a shuffle, or the cores of a barrier.
void read_into(std::vector<std::int32_t>& member,
               const JsonValue& value,
               const AttributeRule& rule) {
    if (rule.attribute == Attribute::Mask) {
        read_mask(member, value);
        return;
    }
    value.for_each([&member](const JsonValue& entry) {
        member.push_back(static_cast<std::int32_t>(entry.integer(0, kMaxCores - 1)));
    });
    if (member.empty()) {
        value.fail("empty; name the cores that take part");
    }
}

/// The engine that triggers a DMA.
void read_into(std::optional<Engine>& member,
               const JsonValue& value,
               const AttributeRule& /*rule*/) {
    member = value.choice(engine_from_name, Engine::Dma);
    if (member == Engine::Dma) {
        value.fail("\"dma\", which has no instruction stream; name the engine that starts the DMA");
    }
}

/// A tile of the PE array starts at a multiple of its size and ends within the array. [NKI-ISA]
void check_pe_tile(const Place& place, const Attributes& attributes) {
    if (attributes.tile_position.has_value() != attributes.tile_size.has_value()) {
        place.fail(R"("tile_position" and "tile_size" only mean something together; give both)");
    }
    if (!attributes.tile_size.has_value()) {
        return;
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int32_t size = (*attributes.tile_size)[i];
        const std::int32_t start = (*attributes.tile_position)[i];
        if (size != 32 && size != 64 && size != 128) {
            place.fail(fmt::format("\"tile_size\" has {}, allowed is 32, 64 or 128", size));
        }
        if (start % size != 0 || start + size > kPartitions) {
            place.fail(fmt::format(
                "\"tile_position\" has {}, allowed is a multiple of the tile size {} below {}",
                start,
                size,
                kPartitions));
        }
    }
}

}  // namespace

Attributes read_attributes(const Place& place, Opcode op, const std::optional<JsonValue>& value) {
    const std::span<const AttributeRule> rules = rule_of(op).attributes.span();
    std::array<JsonKey, JsonFields::kMaxKeys> keys{};
    std::size_t size = 0;
    for (const AttributeRule& rule : rules) {
        keys[size++] = {name(rule.attribute), rule.required};
    }
    Attributes attributes;
    if (!value) {
        const auto required = std::ranges::find(rules, true, &AttributeRule::required);
        if (required != rules.end()) {
            place.fail(fmt::format(R"(key "attributes" is missing; {} needs "{}" in it)",
                                   name(op),
                                   name(required->attribute)));
        }
        return attributes;
    }
    const JsonFields fields(place, value->object(), {keys.data(), size});
    for (const AttributeRule& rule : rules) {
        if (fields.has(name(rule.attribute))) {
            const JsonValue field = fields[name(rule.attribute)];
            std::visit([&](auto member) { read_into(attributes.*member, field, rule); },
                       member_of(rule.attribute));
        }
    }
    check_pe_tile(place, attributes);
    return attributes;
}

}  // namespace trnsim::program
