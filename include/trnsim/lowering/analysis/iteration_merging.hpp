// SPDX-License-Identifier: Apache-2.0
// Instructions of several iterations of a loop become one, as neuronx-cc's vectorizer makes them.
#pragma once

#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// A program in which instructions of one line cover several iterations of an affine loop.
///
///     for i in 8:                          for i in 8:
///         s[i] = load                          s[i] = load
///         m[i] = reduce(s[i])      -->     m[0:8] = reduce(s[0:8])
///         e[i] = exp(s[i] + m[i])          for i in 8:
///                                              e[i] = exp(s[i] + m[i])
///
/// Nests of loops that count as one are one before, and loops that go on where others ended.
/// The loop is taken apart where an instruction is merged, and only where no iteration reads what
/// another one writes. Instructions grow to 512 elements per partition (a PSUM bank), the
/// widest that has room to grow first; around other loops only those of few elements are merged.
/// Tiles of merged instructions lie side by side, and those that live from one part of the loop to
/// the next must fit into half of SBUF: as many iterations are merged as do. Transfers of such a
/// loop grow to 512 KiB. [TRACES-TRN2]
class IterationMerging {
public:
    explicit IterationMerging(const NeuronCoreSpec& core) : core_(core) {}

    /// The program after it; itself if there is nothing to merge.
    [[nodiscard]] program::Program apply(program::Program program) const;

private:
    const NeuronCoreSpec& core_;
};

}  // namespace trnsim::lowering
