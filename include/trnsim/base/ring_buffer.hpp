// SPDX-License-Identifier: Apache-2.0
// A growing first-in first-out queue over one block of memory, with access by position.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace trnsim {

/// A queue that keeps its memory: pushing and popping allocate only while it grows to its largest
/// size. The first `kInline` items, none or a power of two, lie in itself: for the many that are
/// short.
template <typename T, std::size_t kInline = 0>
class RingBuffer {
public:
    RingBuffer() = default;
    RingBuffer(const RingBuffer& other) {
        other.for_each([this](const T& item) { push_back(item); });
    }
    RingBuffer& operator=(const RingBuffer& other) {
        *this = RingBuffer(other);
        return *this;
    }
    RingBuffer(RingBuffer&& other) noexcept : RingBuffer() { *this = std::move(other); }
    RingBuffer& operator=(RingBuffer&& other) noexcept {
        std::ranges::move(other.here_, here_.begin());
        heap_ = std::move(other.heap_);
        items_ = heap_ != nullptr ? heap_.get() : here();
        mask_ = std::exchange(other.mask_, kFirstMask);
        first_ = std::exchange(other.first_, Place{0});
        size_ = std::exchange(other.size_, Place{0});
        other.items_ = other.here();
        return *this;
    }
    ~RingBuffer() = default;

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }

    /// \pre index < size(); 0 is the oldest
    [[nodiscard]] T& operator[](std::size_t index) { return items_[wrap(first_ + index)]; }
    [[nodiscard]] const T& operator[](std::size_t index) const {
        return items_[wrap(first_ + index)];
    }
    [[nodiscard]] T& front() { return (*this)[0]; }
    [[nodiscard]] const T& front() const { return (*this)[0]; }
    [[nodiscard]] T& back() { return (*this)[size_ - 1]; }
    [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }

    /// \pre item is not in the queue
    void push_back(const T& item) { next_free() = item; }
    /// A new one at the end with whatever was there. Assigning its members one by one is faster
    /// than to copy a whole that has just been put together, which waits for its parts to be
    /// stored.
    T& append() { return next_free(); }
    void push_back(T&& item) { next_free() = std::move(item); }

    void pop_front() {
        assert(size_ > 0);
        first_ = wrap(first_ + 1);
        --size_;
    }

    void pop_back() {
        assert(size_ > 0);
        --size_;
    }

    /// Takes out the oldest ones.
    void drop(std::size_t count) {
        assert(count <= size_);
        first_ = wrap(first_ + count);
        size_ -= static_cast<Place>(count);
    }

    /// Calls f(item) for each, the oldest first. \pre f leaves the queue as it is
    template <typename F>
    void for_each(F&& f) const {
        const T* items = items_;
        const std::size_t mask = mask_;
        std::size_t place = first_;
        for (std::size_t left = size_; left > 0; --left, place = (place + 1) & mask) {
            f(items[place]);
        }
    }

    /// The first index whose item `holds` is not true of, or size(). \pre it is of none behind one
    /// that it is not true of
    template <typename Predicate>
    [[nodiscard]] std::size_t partition_point(Predicate holds) const {
        std::size_t low = 0;
        std::size_t high = size_;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (holds((*this)[middle])) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /// Takes one out, keeping the order of the rest. Moves those on the shorter side of it.
    void erase(std::size_t index) {
        if (index < size_ / 2) {
            for (; index > 0; --index) {
                (*this)[index] = std::move((*this)[index - 1]);
            }
            return pop_front();
        }
        for (; index + 1 < size_; ++index) {
            (*this)[index] = std::move((*this)[index + 1]);
        }
        pop_back();
    }

    /// Inserts before `index`, keeping the order of the rest. Moves those on the shorter side.
    void insert(std::size_t index, T item) {
        if (index < size_ / 2) {
            make_room();
            first_ = wrap(std::size_t{first_} + mask_);
            ++size_;
            for (std::size_t i = 0; i < index; ++i) {
                (*this)[i] = std::move((*this)[i + 1]);
            }
        } else {
            static_cast<void>(next_free());
            for (std::size_t i = size_ - 1; i > index; --i) {
                (*this)[i] = std::move((*this)[i - 1]);
            }
        }
        (*this)[index] = std::move(item);
    }

private:
    using Place = std::uint32_t;

    [[nodiscard]] Place wrap(std::size_t position) const {
        return static_cast<Place>(position) & mask_;
    }

    /// Makes the queue one longer.
    [[nodiscard]] T& next_free() {
        make_room();
        ++size_;
        return back();
    }

    void make_room() {
        if (size_ > mask_ || items_ == nullptr) {
            grow();
        }
    }

    void grow() {
        const std::size_t capacity = items_ == nullptr ? 4 : 2 * (std::size_t{mask_} + 1);
        auto larger = std::make_unique<T[]>(capacity);  // NOLINT(modernize-avoid-c-arrays)
        for (std::size_t i = 0; i < size_; ++i) {
            larger[i] = std::move((*this)[i]);
        }
        heap_ = std::move(larger);
        items_ = heap_.get();
        mask_ = static_cast<Place>(capacity - 1);
        first_ = 0;
    }

    static constexpr Place kFirstMask = kInline > 0 ? kInline - 1 : 0;

    [[nodiscard]] T* here() { return kInline > 0 ? here_.data() : nullptr; }

    T* items_ = here();
    Place mask_ = kFirstMask;  ///< One less than their number, a power of two; or no use yet.
    Place first_ = 0;
    Place size_ = 0;
    [[no_unique_address]] std::array<T, kInline> here_{};
    std::unique_ptr<T[]> heap_;  // NOLINT(modernize-avoid-c-arrays)
};

}  // namespace trnsim
