// SPDX-License-Identifier: Apache-2.0
// Steps of a program that outlast the cursor's next one.
#include "trnsim/lowering/loads/kept_steps.hpp"

#include <algorithm>

namespace trnsim::lowering {

KeptSteps::Item KeptSteps::keep(const program::Step& step) {
    if (unused_.empty()) {
        unused_.push_back(static_cast<Item>(kept_.size()));
        kept_.emplace_back();
        at_.resize(at_.size() + positions_);
        tiles_.resize(tiles_.size() + most_);
    }
    const Item item = unused_.back();
    unused_.pop_back();
    kept_[item] = {.step = step};
    std::copy_n(step.at.begin(),
                std::min(positions_, step.at.size()),
                at_.begin() + static_cast<std::ptrdiff_t>(item * positions_));
    return item;
}

}  // namespace trnsim::lowering
