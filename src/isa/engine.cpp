// SPDX-License-Identifier: Apache-2.0
// Names of the engines and of the DGE modes.
#include "trnsim/isa/engine.hpp"

#include "trnsim/isa/name_table.hpp"

namespace trnsim {
namespace {

constexpr NameTable<Engine, 6> kEngineNames{
    {"tensor", "vector", "scalar", "gpsimd", "sync", "dma"}};
constexpr NameTable<DgeMode, 4> kDgeModeNames{{"auto", "none", "software", "hardware"}};

}  // namespace

std::string_view name(Engine engine) {
    return kEngineNames.name(engine);
}

std::optional<Engine> engine_from_name(std::string_view name) {
    return kEngineNames.find(name);
}

std::string_view name(DgeMode mode) {
    return kDgeModeNames.name(mode);
}

std::optional<DgeMode> dge_mode_from_name(std::string_view name) {
    return kDgeModeNames.find(name);
}

}  // namespace trnsim
