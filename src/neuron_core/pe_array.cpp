// SPDX-License-Identifier: Apache-2.0
// Times of blocks.
#include "trnsim/neuron_core/pe_array.hpp"

#include <algorithm>

namespace trnsim::neuron_core {

PeArray::Times PeArray::of(PeBlocks blocks) const {
    if (!is_split_) {
        return blocks_.front();
    }
    Times all;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if ((blocks >> i & 1U) != 0) {
            join(all, blocks_[i]);
        }
    }
    return all;
}

void PeArray::join(Times& all, const Times& block) {
    all.weights_ready = std::max(all.weights_ready, block.weights_ready);
    all.multiply_start = std::max(all.multiply_start, block.multiply_start);
    all.multiply_end = std::max(all.multiply_end, block.multiply_end);
    all.multiply = std::max(all.multiply, block.multiply);
}

void PeArray::split() {
    if (!is_split_) {
        blocks_.fill(Times{blocks_.front()});
        is_split_ = true;
    }
}

void PeArray::load(PeBlocks blocks, Picoseconds ready) {
    if (blocks != kWholeArray) {
        split();
    }
    if (!is_split_) {
        blocks_.front().weights_ready = ready;
        return;
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if ((blocks >> i & 1U) != 0) {
            blocks_[i].weights_ready = ready;
        }
    }
}

void PeArray::multiply(PeBlocks blocks,
                       Picoseconds start,
                       Picoseconds end,
                       std::uint64_t sequence) {
    if (blocks == kWholeArray) {
        blocks_.front() = {.weights_ready = of(blocks).weights_ready,
                           .multiply_start = start,
                           .multiply_end = end,
                           .multiply = sequence};
        is_split_ = false;
        return;
    }
    split();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if ((blocks >> i & 1U) != 0) {
            blocks_[i].multiply_start = start;
            blocks_[i].multiply_end = end;
            blocks_[i].multiply = sequence;
        }
    }
}

}  // namespace trnsim::neuron_core
