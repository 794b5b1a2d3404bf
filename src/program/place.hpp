// SPDX-License-Identifier: Apache-2.0
// Where in a trace the reader is: file, line and the parts of the record, for messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::program {

/// File, line and a path of parts ("template 3, operand 1 (moving)"). Keeping it costs a few
/// stores; the text is made when an error needs it.
class Place {
public:
    explicit Place(std::string file) : file_(std::move(file)) {}

    void next_line() { ++line_; }
    [[nodiscard]] std::int64_t line() const { return line_; }

    /// \throws TraceError "file:line: parts: message"
    [[noreturn]] void fail(std::string_view message) const;

    /// As fail(), about an earlier line.
    [[noreturn]] void fail_at(std::int64_t line, std::string_view message) const;

    /// A part of the record, from its construction to its destruction.
    class Part {
    public:
        static constexpr std::int64_t kNoNumber = -1;

        /// `what` must outlive the part.
        Part(Place& place, std::string_view what, std::int64_t number = kNoNumber);
        ~Part() { --place_.depth_; }
        Part(const Part&) = delete;
        Part& operator=(const Part&) = delete;

        /// Says more about the part once it is known; shown in parentheses. Must outlive the part.
        void label(std::string_view text) { place_.parts_[index_].label = text; }

    private:
        Place& place_;
        std::size_t index_;
    };

private:
    struct Entry {
        std::string_view what;
        std::int64_t number = Part::kNoNumber;
        std::string_view label;
    };

    std::string file_;
    std::int64_t line_ = 0;
    std::array<Entry, 4> parts_{};
    std::size_t depth_ = 0;
};

/// A text from a trace for a message: control characters escaped, cut to a readable length.
[[nodiscard]] std::string printable(std::string_view text);

/// The same in quotation marks.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace trnsim::program
