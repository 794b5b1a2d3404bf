// SPDX-License-Identifier: Apache-2.0
// trnsim diff: what changed between two results, or between two runs instruction by instruction.
#include "commands.hpp"
#include "known_file.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "terminal.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/report/difference.hpp"
#include "trnsim/report/instruction_difference.hpp"
#include "trnsim/report/json_text.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace trnsim::cli {
namespace {

struct DiffOptions {
    std::string before;
    std::string after;
    std::string json;
    std::string engine;
};

/// One of the two files.
struct DiffSide {
    std::string name;
    std::string text;
    report::FileKind kind = report::FileKind::NoJson;

    [[nodiscard]] bool has_instructions() const {
        return kind == report::FileKind::Instructions || kind == report::FileKind::Profile;
    }
    [[nodiscard]] std::string description() const {
        switch (kind) {
            case report::FileKind::Instructions:
                return "a table of instructions";
            case report::FileKind::Profile:
                return "a profile";
            default:
                return "a result";
        }
    }
};

DiffSide read_side(const std::string& name) {
    const std::string path = name == "-" ? "/dev/stdin" : name;
    require_comparable(path);
    DiffSide side{
        .name = path,
        .text = report::read_json_text(path, "give a file that trnsim run wrote, or a profile")};
    side.kind = report::file_kind(side.text);
    if (side.kind == report::FileKind::OtherJson) {
        throw UserError(
            fmt::format("{}: JSON with none of the keys \"schema_version\", \"kind\" and "
                        "\"instruction\" that tell results, tables of instructions and profiles; "
                        "give what run --json, run --instructions or neuron-profile wrote",
                        path));
    }
    return side;
}

/// Writes and prints a difference of either kind.
template <typename Difference, typename Text>
void show(const Difference& difference, const Text& text, const std::string& path) {
    const std::string shown = text(difference, standard_output_takes_colour());
    std::optional<OutputFile> json;  // After all that is missing was missed.
    if (!path.empty()) {
        json.emplace("--json", path);
        json->stream() << report::to_json(difference);
        json->commit();
    }
    if (path != "-") {
        std::cout << shown;
    }
}

/// \throws UserError for another name than an engine's
std::optional<Engine> chosen_engine(const std::string& name) {
    const auto engine = engine_from_name(name);
    if (!engine && !name.empty()) {
        throw UserError(fmt::format(
            "--engine {}: is no engine; use tensor, vector, scalar, gpsimd, sync or dma", name));
    }
    return engine;
}

void diff_instructions(const DiffSide& before, const DiffSide& after, const DiffOptions& options) {
    const std::optional<Engine> engine = chosen_engine(options.engine);
    const auto text = [engine](const report::InstructionDifference& difference, bool use_colour) {
        return engine ? report::rows_text(difference, *engine, use_colour)
                      : report::to_text(difference, use_colour);
    };
    show(report::diff(report::read_instructions(before.name, before.text),
                      report::read_instructions(after.name, after.text)),
         text,
         options.json);
}

void diff(const DiffOptions& options) {
    require_sources_kept({{"--json", options.json}},
                         {{"BEFORE", options.before}, {"AFTER", options.after}});
    if (options.before == "-" && options.after == "-") {
        throw UserError("BEFORE -, AFTER -: both are standard input; name a file for one of them");
    }
    const DiffSide before = read_side(options.before);
    const DiffSide after = read_side(options.after);
    if (before.has_instructions() && after.has_instructions()) {
        diff_instructions(before, after, options);
        return;
    }
    const report::ResultFile first = before.has_instructions()
                                         ? report::ResultFile(after.name, after.text)
                                         : report::ResultFile(before.name, before.text);
    if (before.has_instructions() || after.has_instructions()) {
        throw UserError(fmt::format(
            "trnsim diff: {} is {}, but {} is {}; give two results of run --json, or compare "
            "instructions: tables of run --instructions, or profiles",
            before.name,
            before.description(),
            after.name,
            after.description()));
    }
    if (!options.engine.empty()) {
        throw UserError(fmt::format(
            "--engine {}: is for tables of instructions, but {} is a result; leave it out, or give "
            "what run --instructions wrote",
            options.engine,
            before.name));
    }
    show(
        report::diff(first, report::ResultFile(after.name, after.text)),
        [](const report::Difference& difference, bool use_colour) {
            return report::to_text(difference, use_colour);
        },
        options.json);
}

}  // namespace

void add_diff(CLI::App& app, int& /*exit_status*/) {
    const auto options = std::make_shared<DiffOptions>();
    CLI::App* command = app.add_subcommand(
        "diff", "show what changed between two results, or two runs instruction by instruction");
    command
        ->add_option("BEFORE",
                     options->before,
                     "a result that run --json wrote, a table that run --instructions wrote, or "
                     "the JSON of a Neuron profile; - is standard input")
        ->required();
    command->add_option("AFTER", options->after, "another of the kind")->required();
    add_output(*command,
               "--json",
               options->json,
               "write all of it as JSON (-: to standard output, alone)");
    command
        ->add_option("--engine",
                     options->engine,
                     "show every instruction of one engine: tensor, vector, scalar, gpsimd, sync "
                     "or dma")
        ->type_name("NAME")
        ->check(not_empty());
    command->footer(
        "Examples:\n"
        "  trnsim run matmul.nkt --json before.json\n"
        "  trnsim run matmul.nkt --set dma.engines=8 --json after.json\n"
        "  trnsim diff before.json after.json\n"
        "  trnsim run softmax.py::softmax --arg 'float32[300,1024]' --instructions simulated.json\n"
        "  trnsim diff simulated.json profile.json\n\n"
        "A table and a profile, or two of either, are compared instruction by instruction: order,\n"
        "start, duration, waits and DMA elements. A profile is the JSON that neuron-profile "
        "wrote.");
    command->callback([options] { diff(*options); });
}

}  // namespace trnsim::cli
