// SPDX-License-Identifier: Apache-2.0
// First-in first-out queues that share their memory.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <deque>

namespace trnsim {

/// `kQueues` queues of items in blocks. A block that has been read is given to whichever queue
/// grows next, while it is in the processor's cache: there is memory for what all queues hold
/// together at their fullest moment. Items stay where they are until they are popped.
template <typename T, std::size_t kQueues>
class SharedQueues {
public:
    [[nodiscard]] bool empty(std::size_t queue) const { return queues_[queue].first == nullptr; }

    /// The oldest item. \pre !empty(queue)
    [[nodiscard]] const T& front(std::size_t queue) const {
        assert(!empty(queue));
        return queues_[queue].first->items[queues_[queue].begin];
    }

    /// A new item with whatever was there, to be filled in.
    [[nodiscard]] T& append(std::size_t queue) {
        Queue& to = queues_[queue];
        if (empty(queue)) {
            to = {.first = &take_block()};
            to.last = to.first;
        } else if (to.end == kItems) {
            to.last = to.last->next = &take_block();
            to.end = 0;
        }
        return to.last->items[to.end++];
    }

    /// \pre !empty(queue)
    void pop_front(std::size_t queue) {
        assert(!empty(queue));
        Queue& from = queues_[queue];
        ++from.begin;
        const bool is_last = from.first == from.last && from.begin == from.end;
        if (is_last || from.begin == kItems) {
            Block& read = *from.first;
            from.first = is_last ? nullptr : read.next;
            from.begin = 0;
            read.next = unused_;
            unused_ = &read;
        }
    }

private:
    static constexpr std::size_t kItems = 16;  ///< Of a block.

    struct Block {
        std::array<T, kItems> items{};
        Block* next = nullptr;  ///< Of its queue, or of those unused.
    };
    struct Queue {
        Block* first = nullptr;  ///< nullptr: it is empty, and the rest is of no meaning.
        Block* last = nullptr;
        std::size_t begin = 0;  ///< Of the oldest item in the first block,
        std::size_t end = 0;    ///< and behind the newest one in the last.
    };

    [[nodiscard]] Block& take_block() {
        if (unused_ == nullptr) {
            return blocks_.emplace_back();
        }
        Block& block = *unused_;
        unused_ = block.next;
        return block;
    }

    std::array<Queue, kQueues> queues_{};
    std::deque<Block> blocks_;
    Block* unused_ = nullptr;  ///< The one read last, and so on.
};

}  // namespace trnsim
