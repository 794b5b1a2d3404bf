// SPDX-License-Identifier: Apache-2.0
// Whether two access patterns touch a common byte: a search over the differences of their elements.
#include "trnsim/base/rounding.hpp"
#include "trnsim/isa/access_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace trnsim {
namespace {

/// Steps of the search before the answer becomes "true". A choice of cost against precision:
/// patterns of hardware have few pairs and nest, and need a handful of steps.
constexpr int kMaxSteps = 4096;

/// The byte distances between the elements of two patterns:
/// base + sum of t_i x stride_i with 0 <= t_i < count_i and strides above zero, largest first.
/// Two elements of a and b bytes share one if a distance lies in (-b, a), so that overlap of two
/// patterns is one question about one set.
class DistanceSet {
public:
    explicit DistanceSet(std::int64_t base) : base_(base) {}

    /// Adds all t x stride, 0 <= t < count, to every distance.
    void add(std::int64_t stride, std::int64_t count) {
        if (stride == 0 || count == 1) {
            return;
        }
        if (stride < 0) {
            base_ += stride * (count - 1);
            stride = -stride;
        }
        const auto end = dims_.begin() + size_;
        const auto place = std::find_if(
            dims_.begin(), end, [stride](const PatternDim& each) { return each.stride <= stride; });
        if (place != end && place->stride == stride) {
            place->count += count - 1;
            return;
        }
        *end = PatternDim{stride, count};
        std::rotate(place, end, end + 1);
        ++size_;
    }

    /// Whether a distance lies in [low, high]; true when the search grows too long.
    [[nodiscard]] bool reaches(std::int64_t low, std::int64_t high) {
        merge_adjacent();
        low_ = low;
        high_ = high;
        std::int64_t extent = 0;
        std::int64_t divisor = 0;
        for (int i = size_ - 1; i >= 0; --i) {
            const PatternDim& dim = at(i);
            extent_below_[static_cast<std::size_t>(i)] = extent;
            extent += dim.stride * (dim.count - 1);
            divisor = std::gcd(divisor, dim.stride);
            divisor_[static_cast<std::size_t>(i)] = divisor;
        }
        if (base_ > high || base_ + extent < low) {
            return false;
        }
        return search(0, base_);
    }

private:
    static constexpr int kMaxDims = 2 * AccessPattern::kMaxRank;

    [[nodiscard]] const PatternDim& at(int i) const { return dims_[static_cast<std::size_t>(i)]; }

    /// Makes one pair of an outer pair that continues its inner one without a gap.
    void merge_adjacent() {
        for (int i = size_ - 2; i >= 0; --i) {
            const PatternDim outer = at(i);
            PatternDim& inner = dims_[static_cast<std::size_t>(i) + 1];
            const std::int64_t ratio = outer.stride / inner.stride;
            if (outer.stride % inner.stride == 0 && ratio <= inner.count) {
                inner.count += (outer.count - 1) * ratio;
                std::move(dims_.begin() + i + 1, dims_.begin() + size_, dims_.begin() + i);
                --size_;
            }
        }
    }

    [[nodiscard]] bool search(int level, std::int64_t sum) {
        if (level == size_) {
            return low_ <= sum && sum <= high_;
        }
        if (++steps_ > kMaxSteps) {
            return true;
        }
        const auto here = static_cast<std::size_t>(level);
        const std::int64_t divisor = divisor_[here];
        if (floor_divide(high_ - sum, divisor) * divisor < low_ - sum) {
            return false;  // No multiple of the strides' common divisor reaches the interval.
        }
        const PatternDim& dim = dims_[here];
        const std::int64_t first =
            std::max<std::int64_t>(0, -floor_divide(sum + extent_below_[here] - low_, dim.stride));
        const std::int64_t last = std::min(dim.count - 1, floor_divide(high_ - sum, dim.stride));
        if (level == size_ - 1) {
            return first <= last;
        }
        for (std::int64_t t = first; t <= last; ++t) {
            if (search(level + 1, sum + t * dim.stride)) {
                return true;
            }
        }
        return false;
    }

    std::int64_t base_;
    std::array<PatternDim, kMaxDims> dims_{};
    int size_ = 0;
    std::array<std::int64_t, kMaxDims> extent_below_{};  ///< Reach of the pairs after this one.
    std::array<std::int64_t, kMaxDims> divisor_{};  ///< Common divisor of this and later strides.
    std::int64_t low_ = 0;
    std::int64_t high_ = 0;
    int steps_ = 0;
};

}  // namespace

bool overlap(const AccessPattern& a,
             std::int64_t a_base,
             int a_bytes,
             const AccessPattern& b,
             std::int64_t b_base,
             int b_bytes) {
    const std::int64_t a_end = a_base + (a.highest() + 1) * a_bytes;
    const std::int64_t b_end = b_base + (b.highest() + 1) * b_bytes;
    if (a_base + a.lowest() * a_bytes >= b_end || b_base + b.lowest() * b_bytes >= a_end) {
        return false;
    }
    if (a.is_contiguous() && b.is_contiguous()) {
        return true;
    }
    DistanceSet distances{b_base - a_base};
    for (const PatternDim& dim : a.dims()) {
        distances.add(-dim.stride * a_bytes, dim.count);
    }
    for (const PatternDim& dim : b.dims()) {
        distances.add(dim.stride * b_bytes, dim.count);
    }
    return distances.reaches(1 - b_bytes, a_bytes - 1);
}

}  // namespace trnsim
