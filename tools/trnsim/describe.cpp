// SPDX-License-Identifier: Apache-2.0
// trnsim describe: the numbers of a chip, with units, sources and meanings.
#include "commands.hpp"
#include "known_file.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/base/nearest_name.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::cli {
namespace {

using Leaf = spec::ChipConfig::Leaf;

constexpr int kSchemaVersion = 1;  ///< Of --json.

struct DescribeOptions {
    std::string what;
    std::string json;
    std::string saved;
    std::vector<std::string> settings;
};

/// "trn2.neuron_core.sbuf" is the chip trn2 and the path neuron_core.sbuf; so is
/// "my.json.neuron_core.sbuf".
std::pair<std::string, std::string> split_chip_and_path(const std::string& what) {
    constexpr std::string_view kFileEnd = ".json";
    const std::size_t file_end = what.rfind(kFileEnd);
    const std::size_t end =
        file_end == std::string::npos ? what.find('.') : file_end + kFileEnd.size();
    if (end >= what.size()) {
        return {what, ""};
    }
    return {what.substr(0, end), what.substr(end + 1)};
}

/// The leaves at or below a path. \throws UserError naming the nearest path if there is none
std::vector<Leaf> select(const spec::ChipConfig& chip, const std::string& path) {
    std::vector<Leaf> selected;
    std::vector<std::string> paths;
    for (const Leaf& leaf : chip.leaves) {
        if (path.empty() || leaf.path == path || leaf.path.rfind(path + ".", 0) == 0) {
            selected.push_back(leaf);
        }
        for (std::size_t dot = leaf.path.find('.'); dot != std::string::npos;
             dot = leaf.path.find('.', dot + 1)) {
            paths.push_back(leaf.path.substr(0, dot));
        }
        paths.push_back(leaf.path);
    }
    if (selected.empty()) {
        const std::string_view nearest = nearest_name(path, paths);
        throw UserError(
            fmt::format("describe {}: {} has no \"{}\"{}; describe {} lists all",
                        chip.spec.short_name,
                        chip.spec.short_name,
                        path,
                        nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest),
                        chip.spec.short_name));
    }
    return selected;
}

/// What a number is, and what its file adds.
std::string meaning(const Leaf& leaf) {
    return leaf.note.empty() ? leaf.description : leaf.description + " " + leaf.note;
}

void print_table(std::ostream& output, const std::vector<Leaf>& leaves) {
    std::array<std::size_t, 4> widths{};
    const auto cells = [](const Leaf& leaf) {
        return std::array{leaf.path, leaf.value, leaf.unit == "1" ? "" : leaf.unit, leaf.source};
    };
    for (const Leaf& leaf : leaves) {
        const auto texts = cells(leaf);
        for (std::size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], texts[i].size());
        }
    }
    for (const Leaf& leaf : leaves) {
        const auto texts = cells(leaf);
        output << fmt::format("{:<{}}  {:>{}} {:<{}}  {:<{}}  {}\n",
                              texts[0],
                              widths[0],
                              texts[1],
                              widths[1],
                              texts[2],
                              widths[2],
                              texts[3],
                              widths[3],
                              meaning(leaf));
    }
}

void write_json(std::ostream& output,
                const spec::ChipConfig& chip,
                const std::vector<Leaf>& leaves) {
    nlohmann::ordered_json fields = nlohmann::ordered_json::array();
    for (const Leaf& leaf : leaves) {
        nlohmann::ordered_json& field = fields.emplace_back(
            nlohmann::ordered_json{{"path", leaf.path},
                                   {"value", nlohmann::ordered_json::parse(leaf.value)},
                                   {"unit", leaf.unit},
                                   {"source", leaf.source},
                                   {"description", leaf.description}});
        if (!leaf.note.empty()) {
            field["note"] = leaf.note;
        }
    }
    const nlohmann::ordered_json object{
        {"schema_version", kSchemaVersion}, {"chip", chip.spec.short_name}, {"fields", fields}};
    output << object.dump(2) << '\n';
}

void list_chips(std::ostream& output) {
    for (const std::string& name : spec::chip_names()) {
        const ChipSpec chip = spec::load_chip(name).spec;
        output << fmt::format("{:<6} {:<12} NeuronCore-v{}, {} cores\n",
                              chip.short_name,
                              chip.name,
                              static_cast<int>(chip.neuron_core_version),
                              chip.neuron_cores);
    }
}

/// \throws UserError if --save has only a part of a chip, or no name that a chip may have
void require_saveable(const DescribeOptions& options, const std::string& part) {
    if (!part.empty()) {
        throw UserError(
            fmt::format("--save {}: writes a whole chip, but {} is a part of one; name "
                        "the chip alone",
                        options.saved,
                        options.what));
    }
    if (options.saved != "-" && chip_file(options.saved).empty()) {
        throw UserError(
            fmt::format("--save {}: --chip would take it for the name of a chip; call it {}.json",
                        options.saved,
                        options.saved));
    }
}

/// The chip as the text of a file that is called like it.
std::string chip_text(spec::ChipConfig chip, const std::string& path) {
    if (path != "-") {
        chip.spec.name = std::filesystem::path(path).stem().string();
        chip.spec.short_name = chip.spec.name;
    }
    return spec::to_json(chip);
}

void describe(const DescribeOptions& options) {
    if (options.what.empty()) {
        const std::string option = !options.json.empty()       ? "--json " + options.json
                                   : !options.saved.empty()    ? "--save " + options.saved
                                   : !options.settings.empty() ? "--set " + options.settings.front()
                                                               : "";
        if (!option.empty()) {
            throw UserError(fmt::format(
                "{}: is about one chip, but none is named; name it: trnsim describe trn2 {}",
                option,
                option));
        }
        list_chips(std::cout);
        return;
    }
    require_once("--set", options.settings);
    require_chip(options.what);
    const auto [name, path] = split_chip_and_path(options.what);
    if (path.empty() && name != options.what) {
        throw UserError(fmt::format(
            "describe {}: names no part after the dot; add one, or write {}", options.what, name));
    }
    const Destinations destinations{{"--json", options.json}, {"--save", options.saved}};
    require_different_destinations(destinations);
    require_sources_kept(destinations, {{"CHIP", chip_file(name)}});
    const spec::ChipConfig chip = load_chip(name, options.settings);
    const std::vector<Leaf> leaves = select(chip, path);
    std::optional<OutputFile> saved;
    std::optional<OutputFile> json;
    if (!options.saved.empty()) {
        require_saveable(options, path);
        saved.emplace("--save", options.saved);
    }
    if (!options.json.empty()) {
        json.emplace("--json", options.json);
    }
    if (saved) {
        saved->stream() << chip_text(chip, options.saved);
        saved->commit();
    }
    if (json) {
        write_json(json->stream(), chip, leaves);
        json->commit();
    }
    if (!saved && !json) {
        print_table(std::cout, leaves);
    }
}

}  // namespace

void add_describe(CLI::App& app, int& /*exit_status*/) {
    const auto options = std::make_shared<DescribeOptions>();
    CLI::App* command =
        app.add_subcommand("describe", "show the numbers of a chip, their units and sources");
    command
        ->add_option("CHIP",
                     options->what,
                     "a chip or a part of it: trn2.neuron_core.sbuf; without: all chips")
        ->check(not_empty());
    add_repeatable(*command, "--set", options->settings, "override a number first")
        ->type_name("PATH=VALUE");
    add_output(
        *command, "--json", options->json, "write JSON to a file (- for standard output) instead");
    add_output(*command,
               "--save",
               options->saved,
               "write the whole chip to a file that --chip takes, with each --set, instead");
    command->footer(
        "Examples:\n"
        "  trnsim describe\n"
        "  trnsim describe trn2\n"
        "  trnsim describe trn3.neuron_core.tensor_engine\n"
        "  trnsim describe trn1.dma --json -\n"
        "  trnsim describe trn2 --set hbm.pin_gbit_per_s=7.2 --save faster_hbm.json");
    command->callback([options] { describe(*options); });
}

}  // namespace trnsim::cli
