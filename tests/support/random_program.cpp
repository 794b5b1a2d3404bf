// SPDX-License-Identifier: Apache-2.0
// Dice to programs, in two passes: first the tree of steps, then the instances its instructions may
// touch.
#include "support/random_program.hpp"

#include "support/program_builder.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::test {

using program::Affine;
using program::Position;

namespace {

constexpr std::int64_t kPartitions = 128;
constexpr std::int64_t kHbmColumns = 4096;
constexpr std::int64_t kPsumElements = 512;
constexpr int kPsumSites = 2;
constexpr std::int64_t kPsumLookBack = 2;
constexpr std::int64_t kSbufLookBack = 3;
constexpr int kDeepest = 2;
constexpr std::int64_t kParts = 2;        ///< Of a loaded tile.
constexpr std::int64_t kFixedStep = 320;  ///< Bytes; tiles at two such places overlap in part.

/// One step, or a loop over steps.
struct Item {
    enum class Kind : std::uint8_t { Alloc, Run, Loop };
    Kind kind = Kind::Run;
    std::size_t site = 0;
    std::int64_t count = 1;
    std::vector<Item> body{};
};

class Generator {
public:
    Generator(unsigned seed, const RandomProgramShape& shape) : random_(seed), shape_(shape) {
        in_ = builder_.input("in", Dtype::Float32, {kPartitions, kHbmColumns});
        out_ = builder_.output("out", Dtype::Float32, {kPartitions, kHbmColumns});
        for (int site = 0; site < shape.sbuf_sites; ++site) {
            sites_.push_back(builder_.tile("s" + std::to_string(site),
                                           Space::Sbuf,
                                           Dtype::Float32,
                                           {kPartitions, shape.sbuf_elements},
                                           maybe_fixed(kFixedStep)));
        }
        for (int site = 0; site < kPsumSites; ++site) {
            sites_.push_back(builder_.tile("p" + std::to_string(site),
                                           Space::Psum,
                                           Dtype::Float32,
                                           {kPartitions, kPsumElements},
                                           maybe_fixed(kPsumElements * 4)));
        }
        for (int site = 0; site < shape.loaded_sites; ++site) {
            sites_.push_back(builder_.tile("l" + std::to_string(site),
                                           Space::Sbuf,
                                           Dtype::Float32,
                                           {kPartitions, kParts, shape.sbuf_elements}));
        }
        next_.resize(sites_.size());
    }

    program::Program make() {
        for (; phase_ < shape_.phases; ++phase_) {
            for (const std::size_t site : sites_of_phase()) {
                emit_alloc(site);
            }
            for (const Item& item : block(shape_.items, 0)) {
                emit(item);
            }
        }
        program::Program program = builder_.build();
        for (std::size_t loop = 0; shape_.has_parts && loop < program.loops.size(); loop += 2) {
            program.loops[loop].kind = program::LoopKind::Runtime;
        }
        if (shape_.edge_one_in > 0) {
            add_edges(program);
        }
        return program;
    }

private:
    // Dice. The distributions of the standard library differ between implementations; this does
    // not.
    std::int64_t roll(std::int64_t sides) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(sides));
    }
    bool one_in(std::int64_t sides) { return roll(sides) == 0; }
    /// One of a few places, so that tiles meet.
    std::optional<ProgramBuilder::FixedAddress> maybe_fixed(std::int64_t step) {
        if (shape_.fixed_one_in == 0 || !one_in(shape_.fixed_one_in)) {
            return {};
        }
        return ProgramBuilder::FixedAddress{0, step * roll(3)};
    }
    template <typename T>
    T pick(std::initializer_list<T> choices) {
        return choices.begin()[roll(static_cast<std::int64_t>(choices.size()))];
    }

    /// Some runs depend on earlier ones, each iteration of whose loop is a producer of its own.
    void add_edges(program::Program& program) {
        constexpr std::int64_t kNumbers = 1000;  // Of each run.
        std::vector<std::uint32_t> open;
        std::vector<std::vector<std::uint32_t>> loops_of(program.runs.size());
        for (const program::Node& node : program.nodes) {
            if (node.kind == program::Node::Kind::Loop) {
                open.push_back(node.index);
            } else if (node.kind == program::Node::Kind::End) {
                open.pop_back();
            } else if (node.kind == program::Node::Kind::Run) {
                loops_of[node.index] = open;
            }
        }
        for (std::size_t later = 1; later < program.runs.size(); ++later) {
            if (!one_in(shape_.edge_one_in)) {
                continue;
            }
            const std::int64_t earlier = roll(static_cast<std::int64_t>(later));
            const auto& loops = loops_of[static_cast<std::size_t>(earlier)];
            Affine producer = affine(earlier * kNumbers);
            Affine last = producer;
            if (!loops.empty()) {
                const auto depth = static_cast<std::int32_t>(loops.size()) - 1;
                producer.terms.push_back({.depth = depth, .coefficient = 1});
                last.base += program.loops[loops.back()].count - 1;
            }
            program.runs[static_cast<std::size_t>(earlier)].producer = producer;
            const bool is_inside = !loops.empty() && loops_of[later].size() >= loops.size() &&
                                   loops_of[later][loops.size() - 1] == loops.back();
            program.runs[later].depends_on.push_back(is_inside ? producer : last);
        }
    }

    // First pass.
    std::vector<Item> block(int items, int depth) {
        std::vector<Item> result;
        for (int i = 0; i < items; ++i) {
            const std::int64_t choice = roll(8);
            if (choice == 0 && depth < kDeepest) {
                result.push_back({.kind = Item::Kind::Loop,
                                  .count = 1 + roll(shape_.longest_loop),
                                  .body = block(2 + static_cast<int>(roll(5)), depth + 1)});
            } else if (choice <= 2) {
                result.push_back(
                    {.kind = Item::Kind::Alloc, .site = one_in(3) ? psum_site() : read_site()});
            } else {
                result.push_back({.kind = Item::Kind::Run});
            }
        }
        return result;
    }

    static std::int64_t allocs_of(const std::vector<Item>& body, std::size_t site) {
        std::int64_t sum = 0;
        for (const Item& item : body) {
            sum += item.kind == Item::Kind::Alloc && item.site == site ? 1 : 0;
            sum += item.count * allocs_of(item.body, site);
        }
        return sum;
    }

    // Second pass.
    void emit(const Item& item) {
        switch (item.kind) {
            case Item::Kind::Alloc:
                return emit_alloc(item.site);
            case Item::Kind::Run:
                return emit_run();
            case Item::Kind::Loop:
                return emit_loop(item);
        }
    }

    void emit_alloc(std::size_t site) {
        builder_.alloc(sites_[site]);
        ++next_[site].base;
        for (std::int64_t part = 0; is_loaded(site) && part < kParts; ++part) {
            Affine newest = next_[site];
            --newest.base;
            run(Opcode::DmaCopy,
                {Engine::Dma},
                {{.operand = builder_.part(Role::Dst, sites_[site], shape_.sbuf_elements),
                  .position = at(newest, affine(part * shape_.sbuf_elements))},
                 hbm_piece(Role::Src, in_, shape_.sbuf_elements, kPartitions)},
                {});
        }
    }

    void emit_loop(const Item& item) {
        const auto depth = static_cast<std::int32_t>(trips_.size());
        const std::vector<Affine> before = next_;
        builder_.loop(item.count);
        trips_.push_back(item.count);
        for (std::size_t site = 0; site < sites_.size(); ++site) {
            const std::int64_t allocs = allocs_of(item.body, site);
            if (allocs > 0) {
                next_[site].terms.push_back({.depth = depth, .coefficient = allocs});
            }
        }
        for (const Item& step : item.body) {
            emit(step);
        }
        builder_.end();
        trips_.pop_back();
        next_ = before;
        for (std::size_t site = 0; site < sites_.size(); ++site) {
            next_[site].base += item.count * allocs_of(item.body, site);
        }
    }

    /// An instance that exists whenever this point is reached.
    Affine instance(std::size_t site, bool is_psum) {
        Affine value = next_[site];
        if (!is_psum && one_in(shape_.old_tile_one_in)) {
            return affine(roll(value.base));
        }
        value.base -= 1 + roll(std::min(value.base, is_psum ? kPsumLookBack : kSbufLookBack));
        return value;
    }

    /// SBUF sites are dealt out to the phases; PSUM sites and loaded ones are of all.
    [[nodiscard]] int first_site() const { return phase_ * shape_.sbuf_sites / shape_.phases; }
    [[nodiscard]] int end_site() const { return (phase_ + 1) * shape_.sbuf_sites / shape_.phases; }
    [[nodiscard]] std::vector<std::size_t> sites_of_phase() const {
        std::vector<std::size_t> result;
        for (int site = first_site(); site < end_site(); ++site) {
            result.push_back(static_cast<std::size_t>(site));
        }
        for (auto site = static_cast<std::size_t>(shape_.sbuf_sites);
             phase_ == 0 && site < sites_.size();
             ++site) {
            result.push_back(site);
        }
        return result;
    }

    std::size_t sbuf_site() {
        return static_cast<std::size_t>(first_site() + roll(end_site() - first_site()));
    }
    std::size_t psum_site() {
        return static_cast<std::size_t>(shape_.sbuf_sites + roll(kPsumSites));
    }
    [[nodiscard]] bool is_loaded(std::size_t site) const {
        return std::cmp_greater_equal(site, shape_.sbuf_sites + kPsumSites);
    }
    /// Of what is read.
    std::size_t read_site() {
        if (shape_.loaded_sites == 0 || !one_in(2)) {
            return sbuf_site();
        }
        const std::int64_t first = shape_.sbuf_sites + kPsumSites;
        return static_cast<std::size_t>(first + roll(shape_.loaded_sites));
    }

    struct Piece {
        Operand operand;
        Position position;
    };

    /// `elements` of each partition of a tile, somewhere in it.
    Piece piece(Role role, std::size_t site, std::int64_t elements, std::int32_t partitions) {
        const bool is_psum =
            site >= static_cast<std::size_t>(shape_.sbuf_sites) && !is_loaded(site);
        const std::int64_t free = is_psum ? kPsumElements : shape_.sbuf_elements;
        const Affine of = instance(site, is_psum);
        Affine offset = affine(roll(free - elements + 1));
        if (is_loaded(site)) {
            add_part(offset);
        }
        const Affine start = affine(partitions == 32 ? 32 * roll(4) : 0);
        return {.operand = builder_.part(role, sites_[site], elements, partitions),
                .position = at(of, offset, start)};
    }

    /// One part, in a short loop maybe another one each time.
    void add_part(Affine& offset) {
        if (!trips_.empty() && trips_.back() <= kParts && one_in(2)) {
            offset.terms.push_back({.depth = static_cast<std::int32_t>(trips_.size()) - 1,
                                    .coefficient = shape_.sbuf_elements});
        } else {
            offset.base += shape_.sbuf_elements * roll(kParts);
        }
    }

    Piece hbm_piece(Role role,
                    std::uint32_t buffer,
                    std::int64_t elements,
                    std::int32_t partitions) {
        Operand operand = builder_.whole(role, buffer);
        operand.pattern = {{kHbmColumns, partitions}, {1, elements}};
        Affine offset = affine(roll(kHbmColumns - elements + 1));
        if (!trips_.empty() && one_in(2)) {
            const std::int64_t room = kHbmColumns - elements - offset.base;
            const std::int64_t step = trips_.back() > 1 ? room / (trips_.back() - 1) : 0;
            if (step > 0) {
                offset.terms.push_back({.depth = static_cast<std::int32_t>(trips_.size()) - 1,
                                        .coefficient = 1 + roll(step)});
            }
        }
        return {.operand = operand, .position = at({}, offset)};
    }

    std::int64_t elements() {
        const std::int64_t most = std::min(shape_.sbuf_elements, kPsumElements);
        return pick({most, most / 2, most / 4, std::int64_t{1}});
    }

    void run(Opcode op,
             std::vector<Engine> engines,
             std::vector<Piece> pieces,
             Attributes attributes) {
        std::vector<Operand> operands;
        std::vector<Position> positions;
        for (Piece& each : pieces) {
            operands.push_back(each.operand);
            positions.push_back(std::move(each.position));
        }
        builder_.run(
            builder_.add(op, std::move(engines), std::move(operands), std::move(attributes)),
            std::move(positions));
    }

    void emit_run() {
        const std::int64_t n = elements();
        const std::int32_t rows = one_in(4) ? 32 : 128;
        const DgeMode dge = one_in(2) ? DgeMode::None : DgeMode::Auto;
        const std::string function = one_in(2) ? "exp" : "gelu";
        switch (roll(8)) {
            case 0:
                return run(Opcode::DmaCopy,
                           {Engine::Dma},
                           {piece(Role::Dst, sbuf_site(), n, rows),
                            hbm_piece(Role::Src, one_in(4) ? out_ : in_, n, rows)},
                           {});
            case 1:
                return run(
                    Opcode::DmaCopy,
                    {Engine::Dma},
                    {hbm_piece(Role::Dst, out_, n, rows), piece(Role::Src, read_site(), n, rows)},
                    {.dge = dge});
            case 2:
                return run(Opcode::TensorTensor,
                           {Engine::Vector, Engine::Gpsimd},
                           {piece(Role::Dst, sbuf_site(), n, rows),
                            piece(Role::Data1, read_site(), n, rows),
                            piece(Role::Data2, read_site(), n, rows)},
                           {.op0 = "add"});
            case 3: {
                std::vector<Piece> pieces{
                    piece(Role::Dst, sbuf_site(), n, rows),
                    piece(Role::Data, one_in(2) ? psum_site() : read_site(), n, rows)};
                if (one_in(2)) {
                    return run(
                        Opcode::Activation, {Engine::Scalar}, pieces, {.function = function});
                }
                pieces.push_back(piece(Role::ReduceResult, sbuf_site(), 1, rows));
                return run(Opcode::ActivationReduce,
                           {Engine::Scalar},
                           pieces,
                           {.reduce_op = "add", .function = function});
            }
            case 4:
                return emit_matmul();
            case 5:
                if (shape_.loaded_sites == 0 || shape_.has_parts) {
                    return run(Opcode::RegisterMove, {Engine::Sync, Engine::Vector}, {}, {});
                }
                [[fallthrough]];
            case 6:
                return run(Opcode::TensorCopy,
                           {Engine::Vector, Engine::Scalar},
                           {piece(Role::Dst, one_in(3) ? psum_site() : sbuf_site(), n, rows),
                            piece(Role::Data, psum_site(), n, rows)},
                           {});
            default:
                return run(Opcode::TensorCopy,
                           {Engine::Vector, Engine::Gpsimd, Engine::Scalar},
                           {piece(Role::Dst, sbuf_site(), n, rows),
                            piece(Role::Data, read_site(), n, rows)},
                           {});
        }
    }

    void emit_matmul() {
        constexpr std::int64_t kColumns = 128;
        const std::int64_t moving = std::max<std::int64_t>(2, elements());
        const bool start = one_in(2);
        Piece dst = piece(Role::Dst, psum_site(), moving, kColumns);
        dst.operand.access = start ? Access::Write : Access::Accumulate;
        run(Opcode::NcMatmul,
            {Engine::Tensor},
            {dst,
             piece(Role::Stationary, read_site(), kColumns, kPartitions),
             piece(Role::Moving, read_site(), moving, kPartitions)},
            {.start = start});
    }

    std::mt19937_64 random_;
    RandomProgramShape shape_;
    ProgramBuilder builder_;
    std::uint32_t in_ = 0;
    std::uint32_t out_ = 0;
    std::vector<std::uint32_t> sites_;  ///< SBUF, then PSUM, then loaded ones.
    std::vector<Affine> next_;          ///< By site: number of the next instance.
    std::vector<std::int64_t> trips_;   ///< Of the loops around.
    int phase_ = 0;
};

}  // namespace

program::Program random_program(unsigned seed, const RandomProgramShape& shape) {
    return Generator(seed, shape).make();
}

}  // namespace trnsim::test
