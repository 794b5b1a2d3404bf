// SPDX-License-Identifier: Apache-2.0
// Steps of a program that outlast the cursor's next one.
#include "trnsim/lowering/kept_steps.hpp"

namespace trnsim::lowering {

KeptSteps::Item KeptSteps::keep(const program::Step& step) {
    if (unused_.empty()) {
        unused_.push_back(static_cast<Item>(kept_.size()));
        kept_.emplace_back();
    }
    const Item item = unused_.back();
    unused_.pop_back();
    Kept& kept = kept_[item];
    kept.step = step;
    kept.at.assign(step.at.begin(), step.at.end());
    kept.tiles.clear();
    kept.time = 0;
    kept.ended = 0;
    return item;
}

}  // namespace trnsim::lowering
