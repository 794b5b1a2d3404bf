// SPDX-License-Identifier: Apache-2.0
// Strided access patterns: which elements an operand touches, within one partition or in HBM.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace trnsim {

/// One [stride, count] pair, in elements.
struct PatternDim {
    std::int64_t stride = 1;
    std::int64_t count = 1;
    friend bool operator==(const PatternDim&, const PatternDim&) = default;
};

/// Up to six [stride, count] pairs, outermost first, as hardware access patterns are. Strides may
/// be zero or negative. No pair is one element. [NKI-AP]
class AccessPattern {
public:
    static constexpr int kMaxRank = 6;

    constexpr AccessPattern() = default;
    AccessPattern(std::initializer_list<PatternDim> dims);

    /// \pre rank() < kMaxRank
    void push_back(PatternDim dim);

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] std::span<const PatternDim> dims() const {
        return {dims_.data(), static_cast<std::size_t>(rank_)};
    }

    /// Elements touched, repeats counted.
    [[nodiscard]] std::int64_t elements() const;

    /// Lowest and highest element relative to the base, both inclusive.
    [[nodiscard]] std::int64_t lowest() const;
    [[nodiscard]] std::int64_t highest() const;

    /// The stride of the innermost pair with a count above one; 1 if there is none.
    [[nodiscard]] std::int64_t innermost_stride() const;

    /// Elements of the longest unit-stride run that the innermost pairs make up.
    [[nodiscard]] std::int64_t contiguous_run() const;

    /// Whether all elements form one unit-stride run.
    [[nodiscard]] bool is_contiguous() const { return contiguous_run() == elements(); }

    friend bool operator==(const AccessPattern& a, const AccessPattern& b);

private:
    std::array<PatternDim, kMaxRank> dims_{};
    int rank_ = 0;
};

/// Whether two patterns of elements of `a_bytes` and `b_bytes`, based at byte `a_base` and `b_base`
/// of the same partition (or of HBM), touch a common byte. Exact for affine patterns up to a bound
/// on work; beyond it the answer is true (safe).
[[nodiscard]] bool overlap(const AccessPattern& a,
                           std::int64_t a_base,
                           int a_bytes,
                           const AccessPattern& b,
                           std::int64_t b_base,
                           int b_bytes);

}  // namespace trnsim
