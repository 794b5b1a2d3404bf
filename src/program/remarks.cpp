// SPDX-License-Identifier: Apache-2.0
// Notes of a trace, joined where they say the same.
#include "trnsim/program/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace trnsim::program {
namespace {

constexpr std::size_t kNamedLines = 6;  ///< Of a remark; the others are counted.

/// A text and the lines of the kernel that it is about, in the order of their notes.
struct Remark {
    bool is_assumption = false;
    std::string_view text{};
    std::vector<SourceFrame> lines{};
};

Remark& remark_of(const Note& note, std::vector<Remark>& remarks) {
    const bool is_assumption = note.kind == NoteKind::Assumption;
    const auto known = std::ranges::find_if(remarks, [&](const Remark& one) {
        return one.is_assumption == is_assumption && one.text == note.text &&
               one.lines.empty() == note.source.empty();
    });
    return known != remarks.end()
               ? *known
               : remarks.emplace_back(Remark{.is_assumption = is_assumption, .text = note.text});
}

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

std::string in_words(const Remark& remark, const Program& program) {
    std::string words;
    const std::size_t named = std::min(remark.lines.size(), kNamedLines);
    for (std::size_t i = 0; i < named; ++i) {
        const SourceFrame& line = remark.lines[i];
        words += i > 0 ? ", " : "";
        words += i > 0 && remark.lines[i - 1].file == line.file
                     ? fmt::format("{}", line.line)
                     : fmt::format("{}:{}", file_name(program.files[line.file]), line.line);
    }
    if (named < remark.lines.size()) {
        words += fmt::format(" and {} more", remark.lines.size() - named);
    }
    return words.empty() ? std::string{remark.text} : fmt::format("{}: {}", words, remark.text);
}

}  // namespace

Remarks remarks_of(const Program& program) {
    std::vector<Remark> remarks;
    for (const Note& note : program.notes) {
        Remark& remark = remark_of(note, remarks);
        if (!note.source.empty() &&
            std::ranges::find(remark.lines, note.source.front()) == remark.lines.end()) {
            remark.lines.push_back(note.source.front());
        }
    }
    Remarks result;
    for (const Remark& remark : remarks) {
        (remark.is_assumption ? result.assumptions : result.warnings)
            .push_back(in_words(remark, program));
    }
    return result;
}

}  // namespace trnsim::program
