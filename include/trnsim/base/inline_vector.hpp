// SPDX-License-Identifier: Apache-2.0
// A vector that needs no memory of its own while it is short.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace trnsim {

/// A vector of plain values with room for `kInline` of them in itself. It is for the many that hold
/// one or two: they cost no allocation, and who has the vector in cache has its values there.
template <typename T, std::size_t kInline>
class InlineVector {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    InlineVector() = default;
    InlineVector(const InlineVector& other) { assign(other); }
    InlineVector(InlineVector&& other) noexcept { take(other); }
    InlineVector& operator=(const InlineVector& other) {
        if (this != &other) {
            assign(other);
        }
        return *this;
    }
    InlineVector& operator=(InlineVector&& other) noexcept {
        if (this != &other) {
            take(other);
        }
        return *this;
    }
    ~InlineVector() = default;

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }

    [[nodiscard]] T* data() { return data_; }
    [[nodiscard]] const T* data() const { return data_; }
    [[nodiscard]] T* begin() { return data_; }
    [[nodiscard]] const T* begin() const { return data_; }
    [[nodiscard]] T* end() { return data_ + size_; }
    [[nodiscard]] const T* end() const { return data_ + size_; }
    [[nodiscard]] T& operator[](std::size_t index) { return data_[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return data_[index]; }

    /// Keeps its memory.
    void clear() { size_ = 0; }

    /// A new one at the end, made by default.
    T& emplace_back() {
        if (size_ == capacity_) {
            reserve(2 * std::size_t{capacity_});
        }
        return *std::construct_at(data_ + size_++);
    }
    void push_back(T item) { emplace_back() = item; }

    void reserve(std::size_t capacity) {
        if (capacity > capacity_) {
            // NOLINTNEXTLINE(modernize-avoid-c-arrays)
            auto larger = std::make_unique_for_overwrite<T[]>(capacity);
            std::copy_n(data_, size_, larger.get());
            heap_ = std::move(larger);
            data_ = heap_.get();
            capacity_ = static_cast<std::uint32_t>(capacity);
        }
    }

    /// Drops those that `holds` is true of. std::erase_if is made for more than one or two.
    template <typename Predicate>
    void erase_if(Predicate holds) {
        T* kept = data_;
        for (const T& item : *this) {
            if (!holds(item)) {
                *kept++ = item;
            }
        }
        size_ = static_cast<std::uint32_t>(kept - data_);
    }

    /// Keeps the order of the rest.
    void erase(const T* first, const T* last) {
        T* const kept = data_ + (first - data_);
        size_ =
            static_cast<std::uint32_t>(std::copy(last, std::as_const(*this).end(), kept) - data_);
    }

private:
    void assign(const InlineVector& other) {
        reserve(other.size_);
        std::copy_n(other.data_, other.size_, data_);
        size_ = other.size_;
    }

    void take(InlineVector& other) {
        if (other.heap_ == nullptr) {
            return assign(other);
        }
        heap_ = std::move(other.heap_);
        data_ = std::exchange(other.data_, other.here_.data());
        size_ = std::exchange(other.size_, 0U);
        capacity_ = std::exchange(other.capacity_, static_cast<std::uint32_t>(kInline));
    }

    T* data_ = here_.data();
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = kInline;
    std::unique_ptr<T[]> heap_;  // NOLINT(modernize-avoid-c-arrays)
    std::array<T, kInline> here_{};
};

}  // namespace trnsim
