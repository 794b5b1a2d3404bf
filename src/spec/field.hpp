// SPDX-License-Identifier: Apache-2.0
// One number of a chip: where it is, what it means, what it may be. Everything about the file
// format follows.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trnsim::spec {

/// The source of a leaf that was overridden.
inline constexpr auto kSetByUser = "set by the user";

/// Smallest and largest allowed value, in the field's unit.
struct Range {
    double least = 0.0;
    double most = 0.0;
};

// Ranges and units that several parts of a chip share.
inline constexpr Range kTime{0, 1e9};
inline constexpr Range kCycles{0, 1e6};
inline constexpr Range kCost{0.01, 1000};
inline constexpr Range kShare{0.01, 1};
inline constexpr auto kCostUnit = "cycles/element";

/// Where a field's value lives. Strong types hide that times are in nanoseconds in the file.
using FieldTarget = std::variant<bool*,
                                 std::int64_t*,
                                 double*,
                                 std::string*,
                                 Cycles*,
                                 Picoseconds*,
                                 Gigahertz*,
                                 GigabytesPerSecond*,
                                 NeuronCoreVersion*>;

/// One leaf of a chip file, bound to a ChipSpec.
struct Field {
    std::string path;                ///< "neuron_core.tensor_engine.clock_ghz"
    std::string unit;                ///< "GHz"; "1" for pure numbers, switches and names.
    Range range;                     ///< Of numbers.
    std::vector<std::string> names;  ///< What a text may be.
    std::string description;
    FieldTarget target;
};

/// Collects the fields of nested specs. The functions named list_fields() are the only definition
/// of the file format: reader, describe, --set, to_json and schema walk their result.
class FieldList {
public:
    /// A number.
    template <typename Value>
    void number(std::string_view key,
                Value& target,
                std::string unit,
                Range range,
                std::string description) {
        add({path(key), std::move(unit), range, {}, std::move(description), &target});
    }

    /// True or false.
    void flag(std::string_view key, bool& target, std::string description) {
        add({path(key), "1", {}, {}, std::move(description), &target});
    }

    /// One of a few names.
    void name(std::string_view key,
              std::string& target,
              std::vector<std::string> names,
              std::string description) {
        add({path(key), "1", {}, std::move(names), std::move(description), &target});
    }

    /// An object of its own: list_fields() of `child`, below `key`.
    template <typename Spec>
    void group(std::string_view key, Spec& child) {
        const std::string outer = prefix_;
        prefix_ = path(key) + ".";
        list_fields(*this, child);
        prefix_ = outer;
    }

    [[nodiscard]] std::vector<Field> take() { return std::move(fields_); }

private:
    [[nodiscard]] std::string path(std::string_view key) const {
        return prefix_ + std::string(key);
    }
    void add(Field field) { fields_.push_back(std::move(field)); }

    std::string prefix_;
    std::vector<Field> fields_;
};

void list_fields(FieldList& list, TensorEngineSpec& spec);
void list_fields(FieldList& list, ClockGateSpec& spec);
void list_fields(FieldList& list, VectorEngineSpec& spec);
void list_fields(FieldList& list, ScalarEngineSpec& spec);
void list_fields(FieldList& list, GpsimdEngineSpec& spec);
void list_fields(FieldList& list, SyncEngineSpec& spec);
void list_fields(FieldList& list, SemaphoreFileSpec& spec);
void list_fields(FieldList& list, DgeModeSpec& spec);
void list_fields(FieldList& list, DgeSpec& spec);
void list_fields(FieldList& list, SbufSpec& spec);
void list_fields(FieldList& list, PsumSpec& spec);
void list_fields(FieldList& list, NeuronCoreSpec& spec);
void list_fields(FieldList& list, DmaSpec& spec);
void list_fields(FieldList& list, CollectiveSpec& spec);
void list_fields(FieldList& list, HbmSpec& spec);
void list_fields(FieldList& list, RuntimeSpec& spec);
void list_fields(FieldList& list, AccuracySpec& spec);

/// All fields of a chip, in the order of the file format, bound to `spec`.
[[nodiscard]] std::vector<Field> chip_fields(ChipSpec& spec);

}  // namespace trnsim::spec
