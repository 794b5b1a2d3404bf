// SPDX-License-Identifier: Apache-2.0
// Reads back the few Perfetto messages that the timeline writes, for its tests.
#include "trace_reading.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <protozero/pbf_reader.hpp>

namespace trnsim::timeline {
namespace {

using protozero::pbf_reader;

/// Strings by kind (field number of InternedData) and number.
using Strings = std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>;

constexpr std::uint32_t kCategories = 1;
constexpr std::uint32_t kNames = 2;
constexpr std::uint32_t kKeys = 3;
constexpr std::uint32_t kValues = 29;

void read_interned(pbf_reader message, Strings& strings) {
    while (message.next()) {
        const std::uint32_t kind = message.tag();
        pbf_reader item = message.get_message();
        std::uint64_t number = 0;
        std::string text;
        while (item.next()) {
            if (item.tag() == 1) {
                number = item.get_uint64();
            } else {
                text = item.get_string();
            }
        }
        if (number == 0 || !strings.emplace(std::pair{kind, number}, text).second) {
            throw std::runtime_error("an interned string has no number of its own: " + text);
        }
    }
}

std::string inner_text(pbf_reader message, std::uint32_t field) {
    std::string text;
    while (message.next()) {
        if (message.tag() == field) {
            text = message.get_string();
        } else {
            message.skip();
        }
    }
    return text;
}

ReadTrack read_track(pbf_reader message) {
    ReadTrack track;
    while (message.next()) {
        switch (message.tag()) {
            case 1:
                track.uuid = message.get_uint64();
                break;
            case 2:
                track.name = message.get_string();
                break;
            case 3:
                track.process_name = inner_text(message.get_message(), 6);
                break;
            case 5:
                track.parent = message.get_uint64();
                break;
            case 8:
                track.is_counter = true;
                track.unit = inner_text(message.get_message(), 6);
                break;
            case 11:
                track.orders_children = message.get_enum() == 3;
                break;
            case 12:
                track.rank = message.get_int32();
                break;
            default:
                throw std::runtime_error("unknown field in TrackDescriptor");
        }
    }
    return track;
}

void read_annotation(pbf_reader message, const Strings& strings, ReadEvent& event) {
    std::string key;
    while (message.next()) {
        if (message.tag() == 1) {
            key = strings.at({kKeys, message.get_uint64()});
        } else {
            event.annotations[key] = strings.at({kValues, message.get_uint64()});
        }
    }
}

ReadEvent read_event(pbf_reader message, const Strings& strings) {
    ReadEvent event;
    while (message.next()) {
        switch (message.tag()) {
            case 3:
                event.category = strings.at({kCategories, message.get_uint64()});
                break;
            case 4:
                read_annotation(message.get_message(), strings, event);
                break;
            case 9:
                event.type = static_cast<ReadEvent::Type>(message.get_enum());
                break;
            case 10:
                event.name = strings.at({kNames, message.get_uint64()});
                break;
            case 11:
                event.track = message.get_uint64();
                break;
            case 44:
                event.value = message.get_double();
                break;
            case 47:
                event.leaving.push_back(message.get_fixed64());
                break;
            case 48:
                event.arriving.push_back(message.get_fixed64());
                break;
            default:
                throw std::runtime_error("unknown field in TrackEvent");
        }
    }
    return event;
}

void read_packet(pbf_reader message, Strings& strings, ReadTrace& trace) {
    std::int64_t at_ns = 0;
    while (message.next()) {
        switch (message.tag()) {
            case 8:
                at_ns = static_cast<std::int64_t>(message.get_uint64());
                break;
            case 11:
                trace.events.push_back(read_event(message.get_message(), strings));
                trace.events.back().at_ns = at_ns;
                break;
            case 12:
                read_interned(message.get_message(), strings);
                break;
            case 60:
                trace.tracks.push_back(read_track(message.get_message()));
                break;
            default:
                message.skip();
        }
    }
}

}  // namespace

const ReadTrack& ReadTrace::track(std::uint64_t uuid) const {
    const auto found = std::find_if(tracks.begin(), tracks.end(), [uuid](const ReadTrack& track) {
        return track.uuid == uuid;
    });
    if (found == tracks.end()) {
        throw std::runtime_error("an event lies on a row that does not exist");
    }
    return *found;
}

std::vector<ReadSlice> ReadTrace::slices() const {
    std::vector<ReadSlice> result;
    std::map<std::uint64_t, const ReadEvent*> open;
    for (const ReadEvent& event : events) {
        const ReadEvent*& begin = open[event.track];
        if (event.type == ReadEvent::Type::Begin && begin == nullptr) {
            begin = &event;
        } else if (event.type == ReadEvent::Type::End && begin != nullptr) {
            result.push_back(
                {track(event.track).name, event.track, begin->name, begin->at_ns, event.at_ns});
            begin = nullptr;
        } else if (event.type != ReadEvent::Type::Counter) {
            throw std::runtime_error("begins and ends do not alternate");
        }
    }
    return result;
}

std::vector<std::string> ReadTrace::arrows() const {
    std::map<std::uint64_t, std::pair<std::string, std::string>> ends;
    for (const ReadEvent& event : events) {
        for (const std::uint64_t arrow : event.leaving) {
            if (!ends.emplace(arrow, std::pair{event.name, ""}).second) {
                throw std::runtime_error("an arrow leaves two slices");
            }
        }
        for (const std::uint64_t arrow : event.arriving) {
            std::string& consumer = ends.at(arrow).second;
            if (!consumer.empty()) {
                throw std::runtime_error("an arrow reaches two slices");
            }
            consumer = event.name;
        }
    }
    std::vector<std::string> result;
    result.reserve(ends.size());
    for (const auto& [arrow, names] : ends) {
        result.push_back(names.first + " -> " + names.second);
    }
    std::sort(result.begin(), result.end());
    return result;
}

ReadTrace read_trace(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    ReadTrace trace;
    Strings strings;
    pbf_reader packets{bytes};
    while (packets.next(1)) {
        read_packet(packets.get_message(), strings, trace);
    }
    trace.interned_strings = strings.size();
    return trace;
}

}  // namespace trnsim::timeline
