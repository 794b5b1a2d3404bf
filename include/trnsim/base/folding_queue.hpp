// SPDX-License-Identifier: Apache-2.0
// A queue that says quickly what any stretch of its items comes to.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trnsim {

/// A first-in first-out queue over a tree of its items: changing one and joining a stretch of them
/// take time logarithmic in its size. Items keep their places, counted from 0 for the first one
/// ever.
///
/// T{} is nothing, and T::join(a, b), of a stretch and the one behind it, is associative.
template <typename T>
class FoldingQueue {
public:
    /// The place of the oldest item,
    [[nodiscard]] std::uint64_t begin() const { return begin_; }
    /// and the one behind the newest.
    [[nodiscard]] std::uint64_t end() const { return end_; }

    /// \pre begin() <= place < end()
    [[nodiscard]] const T& operator[](std::uint64_t place) const { return tree_[leaf(place)]; }

    void push_back(const T& item) {
        if (end_ - begin_ == size_) {
            grow();
        }
        std::size_t node = leaf(end_++);
        tree_[node] = item;
        while (node % 2 == 1 && node > 1) {  // The last one below its parent, which is complete.
            node /= 2;
            join_children(node);
        }
    }

    /// \pre it is not empty
    void pop_front() {
        assert(begin_ < end_);
        ++begin_;
    }

    /// \pre begin() <= place < end()
    void set(std::uint64_t place, const T& item) {
        std::size_t node = leaf(place);
        tree_[node] = item;
        while (node > 1) {
            node /= 2;
            join_children(node);
        }
    }

    /// What the items from `first` to before `last` come to. \pre begin() <= first, last <= end()
    [[nodiscard]] T fold(std::uint64_t first, std::uint64_t last) const {
        if (first >= last) {
            return T{};
        }
        const std::size_t from = leaf(first);
        const std::size_t to = leaf(last - 1) + 1;
        return from < to ? join(from, to) : T::join(join(from, 2 * size_), join(size_, to));
    }

    /// The last place for which `holds` is true of what the items from there to before `last` come
    /// to. \pre it is true of fold(first, last), and with any stretch of a longer one before it
    template <typename Holds>
    [[nodiscard]] std::uint64_t last_place(std::uint64_t first,
                                           std::uint64_t last,
                                           Holds holds) const {
        T behind{};
        std::uint64_t length = 1;  // Of the next stretch to look at, a whole node.
        while (true) {
            while (last % (2 * length) == 0 && last - first >= 2 * length) {
                length *= 2;
            }
            while (last - first < length) {
                length /= 2;
            }
            assert(length > 0);
            const T joined = T::join(node_of(last - length, length), behind);
            if (holds(joined)) {
                break;
            }
            behind = joined;
            last -= length;
        }
        while (length > 1) {
            length /= 2;
            const T joined = T::join(node_of(last - length, length), behind);
            if (!holds(joined)) {
                behind = joined;
                last -= length;
            }
        }
        return last - 1;
    }

private:
    /// Of node n the children are 2n and 2n + 1, node 1 is the root, and the leaves are a ring. A
    /// node is right while all leaves below it are items in a row; others are not looked at.
    [[nodiscard]] std::size_t leaf(std::uint64_t place) const {
        return size_ + (static_cast<std::size_t>(place) & (size_ - 1));
    }

    /// What so many items come to. \pre `length` is a power of two, and divides `first`
    [[nodiscard]] const T& node_of(std::uint64_t first, std::uint64_t length) const {
        return tree_[leaf(first) / length];
    }

    void join_children(std::size_t node) {
        tree_[node] = T::join(tree_[2 * node], tree_[2 * node + 1]);
    }

    /// The leaves from one to before another.
    [[nodiscard]] T join(std::size_t from, std::size_t to) const {
        T left{};
        T right{};
        for (; from < to; from /= 2, to /= 2) {
            if (from % 2 == 1) {
                left = T::join(left, tree_[from++]);
            }
            if (to % 2 == 1) {
                right = T::join(tree_[--to], right);
            }
        }
        return T::join(left, right);
    }

    void grow() {
        FoldingQueue larger;
        larger.size_ = size_ == 0 ? 16 : 2 * size_;
        larger.tree_.resize(2 * larger.size_);
        larger.begin_ = larger.end_ = begin_;
        for (std::uint64_t place = begin_; place < end_; ++place) {
            larger.push_back((*this)[place]);
        }
        *this = std::move(larger);
    }

    std::size_t size_ = 0;  ///< Of the ring: a power of two, or zero.
    std::vector<T> tree_;
    std::uint64_t begin_ = 0;
    std::uint64_t end_ = 0;
};

}  // namespace trnsim
