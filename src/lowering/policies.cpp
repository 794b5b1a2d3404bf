// SPDX-License-Identifier: Apache-2.0
// Names, defaults and text forms of the policies.
#include "trnsim/lowering/policies.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace trnsim::lowering {
namespace {

template <typename E>
struct Choice {
    std::string_view name;
    E value;
};

/// Clang 14 deduces no arguments of an aggregate by itself.
template <typename E>
Choice(const char*, E) -> Choice<E>;

constexpr std::array kEngineChoices{Choice{"first", EngineChoice::First},
                                    Choice{"balanced", EngineChoice::Balanced}};
constexpr std::array kLoadTimings{Choice{"as_soon_as_possible", LoadTiming::AsSoonAsPossible},
                                  Choice{"just_in_time", LoadTiming::JustInTime}};
constexpr std::array kSpilling{Choice{"off", Spilling::Off},
                               Choice{"farthest_use", Spilling::FarthestUse}};
constexpr std::array kPsumBuffers{Choice{"as_sbuf", PsumBuffers::AsSbuf},
                                  Choice{"in_turn", PsumBuffers::InTurn}};
constexpr std::array kRingAssignments{Choice{"single", RingAssignment::Single},
                                      Choice{"per_site", RingAssignment::PerSite},
                                      Choice{"as_planned", RingAssignment::AsPlanned}};
constexpr std::array kDge{Choice{"auto", DgePolicy::Auto},
                          Choice{"none", DgePolicy::None},
                          Choice{"software", DgePolicy::Software},
                          Choice{"hardware", DgePolicy::Hardware},
                          Choice{"dynamic", DgePolicy::Dynamic}};
constexpr std::array<std::pair<std::string_view, bool Policies::*>, 8> kFlags{{
    {"unrolled_buffers", &Policies::unrolled_buffers},
    {"trigger_in_queues", &Policies::trigger_in_queues},
    {"drop_repeated_loads", &Policies::drop_repeated_loads},
    {"sink_loads", &Policies::sink_loads},
    {"merge_iterations", &Policies::merge_iterations},
    {"drain_iterations", &Policies::drain_iterations},
    {"reuse_stationary", &Policies::reuse_stationary},
    {"load_identity", &Policies::load_identity},
}};
constexpr std::array kBooleans{Choice{"true", true}, Choice{"false", false}};

template <typename E, std::size_t N>
E choose(const std::array<Choice<E>, N>& choices, std::string_view policy, std::string_view text) {
    std::vector<std::string_view> names;
    for (const Choice<E>& choice : choices) {
        if (choice.name == text) {
            return choice.value;
        }
        names.push_back(choice.name);
    }
    throw UserError(fmt::format("--policy {}: \"{}\", but it is one of {}; choose one of them",
                                policy,
                                text,
                                fmt::join(names, ", ")));
}

template <typename E, std::size_t N>
std::string text_of(const std::array<Choice<E>, N>& choices, E value) {
    for (const Choice<E>& choice : choices) {
        if (choice.value == value) {
            return std::string(choice.name);
        }
    }
    return {};
}

template <typename T>
T number(std::string_view policy, std::string_view text, T least, T most) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error == std::errc{} && end == text.data() + text.size();
    if (!is_whole || !(value >= least && value <= most)) {
        throw UserError(
            fmt::format("--policy {}: \"{}\", but it is a number from {} to {}; give one",
                        policy,
                        text,
                        least,
                        most));
    }
    return value;
}

constexpr std::int64_t kMostRings = 16;
constexpr std::int64_t kMostWindow = 4096;
constexpr std::int64_t kMostExtra = 1'000'000;
constexpr double kMostFactor = 1e6;
constexpr std::int64_t kMostTime = 1'000'000'000;
constexpr double kLeastRate = 0.01;

}  // namespace

Policies default_policies(std::string_view api) {
    if (api == "nki") {
        return {.buffer_factor = 1.25,
                .buffer_extra = 2,
                .loads = LoadTiming::JustInTime,
                .psum_buffers = PsumBuffers::InTurn,
                .ring_assignment = RingAssignment::AsPlanned,
                .dma_rings = 2,
                .matmul_window = 256,
                .planned_dma_rate = 0.625};
    }
    if (api == "neuronxcc.nki.as_written") {
        Policies policies = default_policies("neuronxcc.nki");
        policies.dge = DgePolicy::Dynamic;
        policies.drop_repeated_loads = false;
        policies.sink_loads = false;
        policies.merge_iterations = false;
        policies.matmul_window = 1;
        return policies;
    }
    if (api == "neuronxcc.nki") {
        return {.engine_choice = EngineChoice::Balanced,
                .buffer_factor = 4.0,
                .buffer_ns = 1500,
                .unrolled_buffers = false,
                .psum_buffers = PsumBuffers::InTurn,
                .dma_rings = 4,
                .dge = DgePolicy::None,
                .scratch_dge = DgePolicy::Hardware,
                .trigger_in_queues = true,
                .drop_repeated_loads = true,
                .sink_loads = true,
                .merge_iterations = true,
                .load_identity = true,
                .matmul_window = 256,
                .reorder_window = 16};
    }
    return {};
}

void set(Policies& policies, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos) {
        throw UserError(fmt::format(
            "--policy {}: there is no value; write name=value, as in spilling=off", assignment));
    }
    const std::string_view name = assignment.substr(0, equals);
    const std::string_view text = assignment.substr(equals + 1);
    const auto* const flag = std::ranges::find(kFlags, name, [](const auto& f) { return f.first; });
    if (flag != kFlags.end()) {
        policies.*flag->second = choose(kBooleans, name, text);
    } else if (name == "engine_choice") {
        policies.engine_choice = choose(kEngineChoices, name, text);
    } else if (name == "buffer_factor") {
        policies.buffer_factor = number(name, text, 0.0, kMostFactor);
    } else if (name == "buffer_extra") {
        policies.buffer_extra = number<std::int64_t>(name, text, 0, kMostExtra);
    } else if (name == "buffer_ns") {
        policies.buffer_ns = number<std::int64_t>(name, text, 0, kMostTime);
    } else if (name == "loads") {
        policies.loads = choose(kLoadTimings, name, text);
    } else if (name == "psum_buffers") {
        policies.psum_buffers = choose(kPsumBuffers, name, text);
    } else if (name == "spilling") {
        policies.spilling = choose(kSpilling, name, text);
    } else if (name == "ring_assignment") {
        policies.ring_assignment = choose(kRingAssignments, name, text);
    } else if (name == "dma_rings") {
        policies.dma_rings = number<std::int64_t>(name, text, 1, kMostRings);
    } else if (name == "dge") {
        policies.dge = choose(kDge, name, text);
    } else if (name == "scratch_dge") {
        policies.scratch_dge = choose(kDge, name, text);
    } else if (name == "matmul_window") {
        policies.matmul_window = number<std::int64_t>(name, text, 1, kMostWindow);
    } else if (name == "reorder_window") {
        policies.reorder_window = number<std::int64_t>(name, text, 1, kMostWindow);
    } else if (name == "planned_dma_rate") {
        policies.planned_dma_rate = number(name, text, kLeastRate, 1.0);
    } else {
        std::vector<std::string> names;
        for (const auto& [known, value] : describe(policies)) {
            names.push_back(known);
        }
        throw UserError(fmt::format("--policy {}: there is no such policy; the policies are {}",
                                    name,
                                    fmt::join(names, ", ")));
    }
}

std::vector<std::pair<std::string, std::string>> describe(const Policies& policies) {
    return {{"engine_choice", text_of(kEngineChoices, policies.engine_choice)},
            {"buffer_factor", fmt::format("{}", policies.buffer_factor)},
            {"buffer_extra", fmt::format("{}", policies.buffer_extra)},
            {"buffer_ns", fmt::format("{}", policies.buffer_ns)},
            {"unrolled_buffers", text_of(kBooleans, policies.unrolled_buffers)},
            {"loads", text_of(kLoadTimings, policies.loads)},
            {"psum_buffers", text_of(kPsumBuffers, policies.psum_buffers)},
            {"spilling", text_of(kSpilling, policies.spilling)},
            {"ring_assignment", text_of(kRingAssignments, policies.ring_assignment)},
            {"dma_rings", fmt::format("{}", policies.dma_rings)},
            {"dge", text_of(kDge, policies.dge)},
            {"scratch_dge", text_of(kDge, policies.scratch_dge)},
            {"trigger_in_queues", text_of(kBooleans, policies.trigger_in_queues)},
            {"drop_repeated_loads", text_of(kBooleans, policies.drop_repeated_loads)},
            {"sink_loads", text_of(kBooleans, policies.sink_loads)},
            {"merge_iterations", text_of(kBooleans, policies.merge_iterations)},
            {"drain_iterations", text_of(kBooleans, policies.drain_iterations)},
            {"reuse_stationary", text_of(kBooleans, policies.reuse_stationary)},
            {"load_identity", text_of(kBooleans, policies.load_identity)},
            {"matmul_window", fmt::format("{}", policies.matmul_window)},
            {"reorder_window", fmt::format("{}", policies.reorder_window)},
            {"planned_dma_rate", fmt::format("{}", policies.planned_dma_rate)}};
}

std::string_view meaning_of(std::string_view policy) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kMeanings{{
        {"engine_choice",
         "which engine runs what several can: the first, or the one with least work"},
        {"buffer_factor", "buffers of a site per tile of it that is alive at once"},
        {"buffer_extra", "buffers of a site beyond those"},
        {"buffer_ns",
         "of loaded tiles no more buffers for each live one than one and what the DMA engines fill "
         "in so many nanoseconds; 0: no limit"},
        {"unrolled_buffers",
         "Python's loops are like others: tiles in no loop but these have more buffers than are "
         "alive at once, and those of an iteration share theirs"},
        {"loads",
         "loads begin as soon as there is a slot, or just in time by a plan that settles their "
         "slots"},
        {"psum_buffers",
         "in PSUM a tile has a slot of its site, by the same rule, or the next free bank in "
         "program order"},
        {"spilling",
         "tiles that do not fit go to HBM, those needed latest first, or it is an error"},
        {"ring_assignment",
         "DMA in program order on one ring, or a ring per destination site and named trigger "
         "engine, but for planned loads and stores on one ring"},
        {"dma_rings", "DMA rings to deal sites out to; a quarter of them store"},
        {"dge", "who makes DMA descriptors where the program leaves it open"},
        {"scratch_dge", "the same for HBM that the kernel writes and reads; auto: as dge"},
        {"trigger_in_queues",
         "on chips without a DGE Sync triggers loads and GpSimd stores of which nothing says who "
         "does, or their rings do"},
        {"drop_repeated_loads", "what an iteration loads twice is loaded once"},
        {"sink_loads", "what does not fit beside a loop is loaded again in every iteration"},
        {"merge_iterations", "small instructions of several iterations of a loop become one"},
        {"drain_iterations",
         "an iteration of a loop whose trips a register says begins when all of the one before has "
         "ended"},
        {"reuse_stationary", "no LoadStationary if the array already holds the tile"},
        {"load_identity",
         "transposes on the tensor engine wait for an identity matrix, the first that is loaded"},
        {"matmul_window", "of so many next matmuls the one that can start first goes first"},
        {"reorder_window", "the same on every other queue"},
        {"planned_dma_rate", "share of the DMA engines' rate on which that order counts"},
    }};
    const auto* const found = std::find_if(
        kMeanings.begin(), kMeanings.end(), [policy](const auto& m) { return m.first == policy; });
    return found == kMeanings.end() ? std::string_view{} : found->second;
}

}  // namespace trnsim::lowering
