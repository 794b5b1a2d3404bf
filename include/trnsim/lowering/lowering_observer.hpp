// SPDX-License-Identifier: Apache-2.0
// Who watches what a lowering puts on the queues.
#pragma once

#include "trnsim/lowering/order/planned_step.hpp"
#include "trnsim/lowering/tiles/tile.hpp"

namespace trnsim::lowering {

/// Is told of steps and spills in the order in which they are put on their queues, each after its
/// instructions and with its tiles still in their places.
class LoweringObserver {
public:
    LoweringObserver() = default;
    LoweringObserver(const LoweringObserver&) = delete;
    LoweringObserver& operator=(const LoweringObserver&) = delete;
    LoweringObserver(LoweringObserver&&) = delete;
    LoweringObserver& operator=(LoweringObserver&&) = delete;
    virtual ~LoweringObserver() = default;

    virtual void lowered(const PlannedStep& step) = 0;
    /// A tile was saved to HBM, or came back.
    virtual void moved(const Tile& tile, bool is_save) = 0;
};

}  // namespace trnsim::lowering
