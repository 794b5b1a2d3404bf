// SPDX-License-Identifier: Apache-2.0
// Encodes rows, labels, slices and numbers as packets of a Perfetto trace.
#pragma once

#include "flow_window.hpp"
#include "perfetto_fields.hpp"
#include "trnsim/base/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trnsim::timeline {

/// Identifies a row in the trace.
using TrackUuid = std::uint64_t;

/// Encodes one packet sequence. Every function returns the encoded packet, valid until the next
/// call. Strings are written once and named by number (interned) from then on.
class PerfettoPackets {
public:
    /// The process row that holds all others. The first packet of the trace.
    std::string_view process(TrackUuid uuid, std::string_view name);
    /// A row without content that nests others.
    std::string_view group(TrackUuid uuid,
                           TrackUuid parent,
                           std::string_view name,
                           std::int32_t rank);
    std::string_view track(TrackUuid uuid,
                           TrackUuid parent,
                           std::string_view name,
                           std::int32_t rank);
    std::string_view counter_track(TrackUuid uuid,
                                   TrackUuid parent,
                                   std::string_view name,
                                   std::int32_t rank,
                                   std::string_view unit);

    /// Numbers the strings of a label and encodes its part of a slice. Labels count from 0.
    std::string_view label(std::string_view name,
                           std::string_view category,
                           std::string_view source,
                           std::string_view details);
    [[nodiscard]] std::size_t label_count() const { return labels_.size(); }

    /// Two packets: where a slice begins, and where it ends.
    std::string_view slice(TrackUuid uuid, const ArrowedSlice& slice);
    std::string_view counter_value(TrackUuid uuid, Picoseconds at, double value);

private:
    using Numbers = std::unordered_map<std::string, std::uint64_t>;

    std::uint64_t intern(Numbers& numbers, perfetto::InternedData kind, std::string_view text);
    void annotate(std::string_view key, std::string_view value);
    void start_track(TrackUuid uuid, TrackUuid parent, std::string_view name, std::int32_t rank);
    std::string_view finish_track();
    void append_event(std::int64_t timestamp_ns, std::uint32_t flags);

    Numbers names_;
    Numbers categories_;
    Numbers keys_;
    Numbers values_;
    std::vector<std::string> labels_;  ///< Encoded fields of TrackEvent, per label.

    // Scratch, reused by every call.
    std::string part_;
    std::string packet_;
    std::string output_;
    std::string interned_;
};

}  // namespace trnsim::timeline
