// SPDX-License-Identifier: Apache-2.0
// The lines of a trace, one at a time, in memory bounded by the longest of them.
#pragma once

#include "byte_source.hpp"
#include "place.hpp"

#include <cstddef>
#include <istream>
#include <optional>
#include <string_view>
#include <vector>

namespace trnsim::program {

/// Splits a stream into lines and counts them in a place.
class LineSource {
public:
    /// Both must outlive the source.
    LineSource(std::istream& input, Place& place);

    /// The next line without its line feed, or nothing at the end. It stays valid until the next
    /// call, and the SIMDJSON_PADDING bytes behind it may be read. \throws TraceError if the line
    /// is longer than kMaxLineBytes, or as ByteSource::read()
    [[nodiscard]] std::optional<std::string_view> next();

private:
    void fetch();
    void check_length(std::size_t bytes) const;

    Place& place_;
    ByteSource bytes_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;  ///< Of what is not yet given out.
    std::size_t end_ = 0;
    bool at_end_ = false;
};

}  // namespace trnsim::program
