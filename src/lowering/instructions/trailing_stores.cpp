// SPDX-License-Identifier: Apache-2.0
// One walk: loads as late, and stores as early as the outermost loop around them.
#include "trailing_stores.hpp"

#include "trnsim/isa/opcode.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace trnsim::lowering {

using program::Node;
using program::Program;

namespace {

class Walk {
public:
    explicit Walk(const Program& program) : program_(program) {}

    [[nodiscard]] std::vector<bool> stores_behind_all_loads() {
        for (; place_ < program_.nodes.size(); ++place_) {
            const Node& node = program_.nodes[place_];
            if (node.kind == Node::Kind::Loop) {
                begin_loop(program_.loops[node.index]);
            } else if (node.kind == Node::Kind::End) {
                end_loop();
            } else if (node.kind == Node::Kind::Run) {
                run(program_.runs[node.index].instruction);
            }
        }
        std::vector<bool> trailing(program_.templates.size());
        for (const auto& [instruction, begin] : stores_) {
            trailing[instruction] = true;
        }
        for (const auto& [instruction, begin] : stores_) {
            trailing[instruction] = trailing[instruction] && begin >= last_load_;
        }
        return trailing;
    }

private:
    void begin_loop(const program::Loop& loop) {
        // Those of the run time may run any number of times.
        open_.push_back(loop.count > 1 || loop.kind == program::LoopKind::Runtime);
        begin_ = repeating_ == 0 ? place_ : begin_;
        repeating_ += open_.back() ? 1U : 0U;
    }

    void end_loop() {
        repeating_ -= open_.back() ? 1U : 0U;
        open_.pop_back();
        last_load_ = loads_inside_ ? place_ + 1 : last_load_;
        loads_inside_ = loads_inside_ && repeating_ > 0;
    }

    void run(std::uint32_t index) {
        const InstructionTemplate& instruction = program_.templates[index];
        if (!is_dma(instruction.op)) {
            return;
        }
        // What comes from other cores counts as loaded.
        if (!is_exchange(instruction.op) && instruction.at(Role::Dst).space == Space::Hbm) {
            stores_.emplace_back(index, repeating_ > 0 ? begin_ : place_);
        } else {
            last_load_ = place_ + 1;
            loads_inside_ = repeating_ > 0;
        }
    }

    const Program& program_;
    std::size_t place_ = 0;
    std::vector<bool> open_{};   ///< Loops: whether they repeat;
    std::size_t repeating_ = 0;  ///< how many of them do,
    std::size_t begin_ = 0;      ///< where the outermost of those begins,
    bool loads_inside_ = false;  ///< and whether it loads.
    std::size_t last_load_ = 0;  ///< Behind it, and behind the loop that repeats it.
    std::vector<std::pair<std::uint32_t, std::size_t>> stores_{};  ///< Templates, and where they
                                                                   ///< begin.
};

}  // namespace

std::vector<bool> trailing_stores(const Program& program) {
    return Walk(program).stores_behind_all_loads();
}

}  // namespace trnsim::lowering
