// SPDX-License-Identifier: Apache-2.0
// Splitting a stream into lines.
#include "line_source.hpp"

#include "limits.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstring>

namespace trnsim::program {
namespace {

constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

}  // namespace

LineSource::LineSource(std::istream& input, Place& place)
    : place_(place), bytes_(input, place), buffer_(kFirstBytes + simdjson::SIMDJSON_PADDING) {}

std::optional<std::string_view> LineSource::next() {
    std::size_t searched = 0;
    while (true) {
        const char* start = buffer_.data() + begin_;
        const std::size_t available = end_ - begin_;
        const void* feed = std::memchr(start + searched, '\n', available - searched);
        if (feed != nullptr || (at_end_ && available > 0)) {
            const std::size_t length =
                feed == nullptr ? available
                                : static_cast<std::size_t>(static_cast<const char*>(feed) - start);
            begin_ += length + (feed == nullptr ? 0 : 1);
            place_.next_line();
            check_length(length);
            return std::string_view(start, length);
        }
        if (at_end_) {
            return std::nullopt;
        }
        searched = available;
        fetch();
    }
}

void LineSource::check_length(std::size_t bytes) const {
    if (bytes > kMaxLineBytes) {
        place_.fail(fmt::format("the record is longer than {} MiB, the limit; split it",
                                kMaxLineBytes >> 20U));
    }
}

/// Moves what is left to the front and reads on behind it; makes room if a line needs it.
void LineSource::fetch() {
    const std::size_t kept = end_ - begin_;
    std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
    begin_ = 0;
    end_ = kept;
    std::size_t room = buffer_.size() - simdjson::SIMDJSON_PADDING;
    if (kept == room) {
        if (kept > kMaxLineBytes) {
            place_.next_line();
            check_length(kept);
        }
        room *= 2;
        buffer_.resize(room + simdjson::SIMDJSON_PADDING);
    }
    const std::size_t taken = bytes_.read({buffer_.data() + kept, room - kept});
    end_ += taken;
    at_end_ = taken < room - kept;
}

}  // namespace trnsim::program
