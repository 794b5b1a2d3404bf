// SPDX-License-Identifier: Apache-2.0
// Accesses made of dice, and the dependencies between them byte by byte.
#include "random_accesses.hpp"

#include <algorithm>
#include <iterator>

namespace trnsim::test {

using lowering::RegionAccess;
using lowering::WaitSet;
using neuron_core::QueueId;

namespace {

constexpr std::int32_t kQuadrant = 32;
constexpr std::array<QueueId, 5> kDrawnQueues{0, 1, 2, 5, 9};

}  // namespace

AccessPattern AccessDice::pattern() {
    const std::int64_t n = 1 + roll(most_elements_);
    switch (roll(6)) {
        case 0:
            return {{2, n}};
        case 1:
            return {{-1, n}};
        case 2:
            return {{16, 4}, {1, std::min<std::int64_t>(n, 16)}};
        case 3:
            return {{0, 3}, {1, n}};
        default:
            return {{1, n}};
    }
}

RegionAccess AccessDice::next() {
    Operand operand;
    operand.pattern = pattern();
    operand.dtype = std::array{
        Dtype::Uint8, Dtype::Bfloat16, Dtype::Float32}[static_cast<std::size_t>(roll(3))];
    operand.partitions = roll(2) == 0 ? kQuadrant : 4 * kQuadrant;
    const lowering::RegionShape& shape = shapes_.emplace_back(operand);
    RegionAccess access;
    const std::int32_t partition =
        operand.partitions == kQuadrant ? kQuadrant * static_cast<std::int32_t>(roll(4)) : 0;
    access.region = lowering::Region(shape, partition, roll(span_) - shape.lowest_byte);
    access.queue = kDrawnQueues[static_cast<std::size_t>(roll(kDrawnQueues.size()))];
    const std::int64_t kind = roll(8);
    access.access = kind < 3    ? Access::Read
                    : kind < 6  ? Access::Write
                    : kind == 6 ? Access::Update
                                : Access::Accumulate;
    if (access.access == Access::Accumulate) {
        access.queue = neuron_core::queue_of(Engine::Tensor);
    }
    access.number = ++numbers_[access.queue];
    return access;
}

std::vector<std::size_t> ByteMap::cells_of(const RegionAccess& access) const {
    const lowering::RegionShape& shape = access.region.shape();
    std::vector<std::int64_t> elements{0};
    for (const PatternDim& dim : shape.pattern.dims()) {
        std::vector<std::int64_t> longer;
        for (const std::int64_t element : elements) {
            for (std::int64_t i = 0; i < dim.count; ++i) {
                longer.push_back(element + i * dim.stride);
            }
        }
        elements = std::move(longer);
    }
    std::vector<std::size_t> cells;
    for (std::int32_t row = 0; row < shape.partitions; row += kQuadrant) {
        const std::int64_t quadrant = (access.region.partition() + row) / kQuadrant;
        for (const std::int64_t element : elements) {
            for (std::int64_t byte = 0; byte < shape.element_bytes; ++byte) {
                const std::int64_t place =
                    access.region.base_byte() + element * shape.element_bytes + byte;
                cells.push_back(static_cast<std::size_t>(quadrant * bytes_ + place));
            }
        }
    }
    std::ranges::sort(cells);
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    return cells;
}

WaitSet ByteMap::required(const RegionAccess& access) const {
    const bool reads = access.access != Access::Write;
    const bool writes = access.access != Access::Read;
    WaitSet waits;
    for (const std::size_t place : cells_of(access)) {
        const Cell& cell = cells_[place];
        const bool is_own = cell.writer == access.queue;
        const bool is_flow = reads && !(is_own && access.access == Access::Accumulate);
        if (cell.write != 0 && (is_flow || (writes && !is_own))) {
            waits.need_done(cell.writer, cell.write);
        }
        for (const auto& [queue, number] : cell.reads) {
            if (writes && queue != access.queue) {
                waits.need_read(queue, number);
            }
        }
    }
    return waits;
}

void ByteMap::record(const RegionAccess& access) {
    for (const std::size_t place : cells_of(access)) {
        Cell& cell = cells_[place];
        if (access.access == Access::Read) {
            cell.reads[access.queue] = access.number;
        } else {
            cell = {.writer = access.queue, .write = access.number, .reads = {}};
        }
    }
}

bool ByteMap::meet(const RegionAccess& a, const RegionAccess& b) const {
    const std::vector<std::size_t> first = cells_of(a);
    const std::vector<std::size_t> second = cells_of(b);
    std::vector<std::size_t> common;
    std::ranges::set_intersection(first, second, std::back_inserter(common));
    return !common.empty();
}

std::string missing(const WaitSet& found, const WaitSet& required) {
    for (int queue = 0; queue < neuron_core::kQueues; ++queue) {
        const WaitSet::Need& have = found[static_cast<QueueId>(queue)];
        const WaitSet::Need& need = required[static_cast<QueueId>(queue)];
        if (have.done < need.done) {
            return "the end of number " + std::to_string(need.done) + " of queue " +
                   std::to_string(queue);
        }
        if (std::max(have.read, have.done) < need.read) {
            return "the read of number " + std::to_string(need.read) + " of queue " +
                   std::to_string(queue);
        }
    }
    return "covers";
}

bool same(const WaitSet& a, const WaitSet& b) {
    for (int queue = 0; queue < neuron_core::kQueues; ++queue) {
        const WaitSet::Need& x = a[static_cast<QueueId>(queue)];
        const WaitSet::Need& y = b[static_cast<QueueId>(queue)];
        if (x.done != y.done || x.read != y.read) {
            return false;
        }
    }
    return true;
}

}  // namespace trnsim::test
