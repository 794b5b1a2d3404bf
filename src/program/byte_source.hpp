// SPDX-License-Identifier: Apache-2.0
// The bytes of a trace: a stream as it is, or decompressed if it starts as zstd does.
#pragma once

#include "place.hpp"

#include <zstd.h>

#include <cstddef>
#include <istream>
#include <memory>
#include <span>
#include <vector>

namespace trnsim::program {

/// Reads a stream in blocks; several zstd frames in a row are one text.
class ByteSource {
public:
    /// Both must outlive the source.
    ByteSource(std::istream& input, const Place& place);

    /// Fills `target` as far as the input goes; fewer bytes than asked for mean the end.
    /// \throws TraceError if the stream breaks, or compressed data is damaged or cut short
    std::size_t read(std::span<char> target);

private:
    struct FreeStream {
        void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
    };

    void refill();
    std::size_t read_plain(std::span<char> target);
    std::size_t read_zstd(std::span<char> target);

    std::istream& input_;
    const Place& place_;
    std::vector<char> block_;
    std::size_t begin_ = 0;  ///< Of what is not yet consumed of the block.
    std::size_t end_ = 0;
    std::unique_ptr<ZSTD_DStream, FreeStream> decompressor_;
    bool mid_frame_ = false;
};

}  // namespace trnsim::program
