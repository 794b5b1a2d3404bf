// SPDX-License-Identifier: Apache-2.0
// Reads back the few Perfetto messages that the timeline writes, for its tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trnsim::timeline {

struct ReadTrack {
    std::uint64_t uuid = 0;
    std::uint64_t parent = 0;
    std::string name;
    std::string process_name;
    std::string unit;  ///< Of a counter.
    bool is_counter = false;
    bool orders_children = false;
    std::int32_t rank = 0;
};

struct ReadEvent {
    enum class Type { Unspecified = 0, Begin = 1, End = 2, Counter = 4 };
    Type type = Type::Unspecified;
    std::int64_t at_ns = 0;
    std::uint64_t track = 0;
    std::string name;
    std::string category;
    std::map<std::string, std::string> annotations;
    std::vector<std::uint64_t> leaving;
    std::vector<std::uint64_t> arriving;
    double value = 0.0;
};

/// A begin and its end.
struct ReadSlice {
    std::string track;
    std::uint64_t uuid = 0;
    std::string name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
};

struct ReadTrace {
    std::vector<ReadTrack> tracks;
    std::vector<ReadEvent> events;  ///< In file order.
    std::size_t interned_strings = 0;

    [[nodiscard]] const ReadTrack& track(std::uint64_t uuid) const;
    /// Pairs begins with ends, row by row in file order; throws if they do not alternate.
    [[nodiscard]] std::vector<ReadSlice> slices() const;
    /// "producer -> consumer" of every arrow, sorted; throws if one has not exactly two ends.
    [[nodiscard]] std::vector<std::string> arrows() const;
};

/// Throws if a packet uses a string that was not interned before it.
[[nodiscard]] ReadTrace read_trace(const std::string& path);

}  // namespace trnsim::timeline
