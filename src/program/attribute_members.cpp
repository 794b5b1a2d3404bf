// SPDX-License-Identifier: Apache-2.0
// The members of Attributes by key.
#include "attribute_members.hpp"

#include <array>

namespace trnsim::program {

AttributeMember member_of(Attribute attribute) {
    static const std::array<AttributeMember, 19> kMembers{
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
    };
    return kMembers[static_cast<std::size_t>(attribute)];
}

}  // namespace trnsim::program
