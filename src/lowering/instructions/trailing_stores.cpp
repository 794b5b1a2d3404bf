// SPDX-License-Identifier: Apache-2.0
// One walk: loads are as late as the end of the outermost loop around them.
#include "trailing_stores.hpp"

#include "trnsim/isa/opcode.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace trnsim::lowering {

using program::Node;
using program::Program;

namespace {

class Walk {
public:
    explicit Walk(const Program& program)
        : program_(program), first_store_(program.templates.size()) {}

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
        for (std::size_t index = 0; index < trailing.size(); ++index) {
            trailing[index] = first_store_[index] && *first_store_[index] > last_load_;
        }
        return trailing;
    }

private:
    void begin_loop(const program::Loop& loop) {
        // Those of the run time may run any number of times.
        open_.push_back(loop.count > 1 || loop.kind == program::LoopKind::Runtime);
        repeating_ += open_.back() ? 1U : 0U;
    }

    void end_loop() {
        repeating_ -= open_.back() ? 1U : 0U;
        open_.pop_back();
        last_load_ = loads_inside_ ? place_ : last_load_;
        loads_inside_ = loads_inside_ && repeating_ > 0;
    }

    void run(std::uint32_t index) {
        const InstructionTemplate& instruction = program_.templates[index];
        if (!is_dma(instruction.op)) {
            return;
        }
        // What comes from other cores counts as loaded.
        if (!is_exchange(instruction.op) && instruction.at(Role::Dst).space == Space::Hbm) {
            first_store_[index] = first_store_[index].value_or(place_);
        } else {
            last_load_ = place_;
            loads_inside_ = repeating_ > 0;
        }
    }

    const Program& program_;
    std::size_t place_ = 0;
    std::vector<bool> open_{};   ///< Loops: whether they repeat;
    std::size_t repeating_ = 0;  ///< how many of them do,
    bool loads_inside_ = false;  ///< and whether the outermost of those loads.
    std::size_t last_load_ = 0;  ///< Or the end of the loop that repeats it.
    std::vector<std::optional<std::size_t>> first_store_;  ///< By template.
};

}  // namespace

std::vector<bool> trailing_stores(const Program& program) {
    return Walk(program).stores_behind_all_loads();
}

}  // namespace trnsim::lowering
