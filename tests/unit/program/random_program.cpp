// SPDX-License-Identifier: Apache-2.0
// Building random programs.
#include "random_program.hpp"

#include <algorithm>
#include <string>

namespace trnsim::program {
namespace {

constexpr int kMaxDepth = 5;
constexpr int kMaxTrips = 4;
constexpr std::int64_t kInstances = 1000;

class Builder {
public:
    explicit Builder(std::mt19937& random) : random_(random) { declare(); }

    Program build() {
        body(0);
        return std::move(program_);
    }

private:
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
    }

    void declare() {
        program_.header.target = "trn2";
        program_.header.kernel = "random";
        program_.files = {"random.py"};
        program_.notes = {{.kind = NoteKind::Warning, .text = "made of random numbers"}};
        program_.buffers = {{.name = "table", .space = Space::Hbm, .shape = {1 << 20}},
                            {.name = "tile", .space = Space::Sbuf, .shape = {128, 8192}},
                            {.name = "indices", .space = Space::Sbuf, .shape = {128, 8192}}};
        InstructionTemplate gather;
        gather.op = Opcode::DmaCopy;
        gather.engines = {Engine::Dma};
        gather.operands = {
            {.role = Role::Dst, .access = Access::Write, .buffer = 1, .pattern = {{2, 2}, {1, 8}}},
            {.role = Role::Src, .space = Space::Hbm, .buffer = 0, .pattern = {{-3, 16}}},
            {.role = Role::Index, .buffer = 2}};
        gather.attributes.dge = DgeMode::Software;
        gather.source = {{0, 12}};
        program_.templates = {gather};
        for (std::uint32_t buffer = 0; buffer < 3; ++buffer) {
            allocate_many(buffer);
        }
    }

    /// A loop that makes instances enough for all runs.
    void allocate_many(std::uint32_t buffer) {
        const std::uint32_t loop = open_loop("instance", kInstances);
        program_.nodes.push_back({.kind = Node::Kind::Alloc, .index = buffer});
        close_loop(loop);
    }

    std::uint32_t open_loop(const std::string& index, std::int64_t count) {
        const auto node = static_cast<std::uint32_t>(program_.nodes.size());
        const auto loop = static_cast<std::uint32_t>(program_.loops.size());
        program_.nodes.push_back({.kind = Node::Kind::Loop, .index = loop});
        program_.loops.push_back({.kind = LoopKind::Sequential,
                                  .index = index,
                                  .count = count,
                                  .is_in_order = count % 2 == 0});
        ++depth_;
        executions_ *= count;
        program_.max_depth = std::max(program_.max_depth, depth_);
        return node;
    }

    void close_loop(std::uint32_t loop) {
        const auto end = static_cast<std::uint32_t>(program_.nodes.size());
        const std::uint32_t index = program_.nodes[loop].index;
        program_.nodes.push_back({.kind = Node::Kind::End, .index = index, .match = loop});
        program_.nodes[loop].match = end;
        executions_ /= program_.loops[index].count;
        --depth_;
    }

    void body(int depth) {
        const std::int64_t size = between(0, 4);
        for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t what = between(0, 3);
            if (what == 0) {
                program_.nodes.push_back({.kind = Node::Kind::Alloc, .index = 1});
            } else if (what == 1 && depth < kMaxDepth) {
                const std::uint32_t loop =
                    open_loop("i" + std::to_string(depth), between(1, kMaxTrips));
                body(depth + 1);
                close_loop(loop);
            } else {
                add_run();
            }
        }
    }

    /// base +- coefficients so small that all iterations stay within base +- base.
    Affine affine(std::int64_t base) {
        const std::int64_t most = base / (std::int64_t{kMaxDepth} * kMaxTrips);
        Affine value{.base = base};
        for (std::int32_t depth = 0; depth < depth_; ++depth) {
            const std::int64_t coefficient = between(-most, most);
            if (coefficient != 0 && between(0, 1) == 1) {
                value.terms.push_back({depth, coefficient});
            }
        }
        return value;
    }

    Position position(std::int64_t offset, std::int64_t partition) {
        Position position{.instance = affine(kInstances / 2), .offset = affine(offset)};
        if (partition > 0) {
            position.partition = affine(partition);
        }
        return position;
    }

    void add_run() {
        program_.nodes.push_back(
            {.kind = Node::Kind::Run, .index = static_cast<std::uint32_t>(program_.runs.size())});
        program_.runs.push_back(
            {.instruction = 0,
             .at = {position(4000, 60), position(500000, 0), position(4000, 60)}});
        program_.instruction_count += executions_;
    }

    std::mt19937& random_;
    Program program_;
    std::int32_t depth_ = 0;
    std::int64_t executions_ = 1;
};

}  // namespace

Program random_program(std::mt19937& random) {
    return Builder(random).build();
}

}  // namespace trnsim::program
