// SPDX-License-Identifier: Apache-2.0
// The members of Attributes by key.
#include "attribute_members.hpp"

#include <array>

namespace trnsim::program {

AttributeMember member_of(Attribute attribute) {
    static const std::array<AttributeMember, 30> kMembers{
        &Attributes::op0,
        &Attributes::op0,
        &Attributes::op1,
        &Attributes::reduce_op,
        &Attributes::function,
        &Attributes::start,
        &Attributes::is_transpose,
        &Attributes::negate,
        &Attributes::onezero,
        &Attributes::perf_mode,
        &Attributes::tile_position,
        &Attributes::tile_size,
        &Attributes::value,
        &Attributes::mask,
        &Attributes::elements_per_index,
        &Attributes::indices,
        &Attributes::k,
        &Attributes::dge,
        &Attributes::trigger,
        &Attributes::n,
        &Attributes::cores,
        &Attributes::send_to,
        &Attributes::recv_from,
        &Attributes::pipe,
        &Attributes::gpsimd_dma,
        &Attributes::groups,
        &Attributes::pairs,
        &Attributes::channels,
        &Attributes::bytes,
        &Attributes::compress_ratio,
    };
    return kMembers[static_cast<std::size_t>(attribute)];
}

}  // namespace trnsim::program
