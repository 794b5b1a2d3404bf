// SPDX-License-Identifier: Apache-2.0
// FoldingQueue joins what is in it, in order, whatever it held before.
#include "trnsim/base/folding_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace trnsim {
namespace {

/// Joining keeps the order, so that a place too many, or one in the wrong order, shows.
struct Word {
    std::string text{};

    static Word join(const Word& first, const Word& second) { return {first.text + second.text}; }
};

std::string expected(const std::string& all, std::uint64_t first, std::uint64_t last) {
    return all.substr(first, last - first);
}

TEST(FoldingQueueTest, AnEmptyStretchIsNothing) {
    FoldingQueue<Word> queue;
    EXPECT_EQ(queue.fold(0, 0).text, "");
    queue.push_back({"a"});
    EXPECT_EQ(queue.fold(1, 1).text, "");
}

TEST(FoldingQueueTest, EveryStretchIsJoinedInOrder) {
    FoldingQueue<Word> queue;
    std::string all;  // By place; what has left is in it too.
    std::mt19937 random(1);
    for (int step = 0; step < 3000; ++step) {
        const std::uint64_t size = queue.end() - queue.begin();
        const bool is_growing = step / 200 % 2 == 0;
        const std::string letter(1, static_cast<char>('a' + random() % 26));
        if (size == 0 || random() % 3 < (is_growing ? 2U : 1U)) {
            queue.push_back({letter});
            all += letter;
        } else {
            queue.pop_front();
        }
        ASSERT_EQ(queue.end(), all.size());
        if (queue.begin() == queue.end()) {
            continue;
        }
        const std::uint64_t changed = queue.begin() + random() % (queue.end() - queue.begin());
        queue.set(changed, {letter});
        all[changed] = letter.front();
        EXPECT_EQ(queue[changed].text, letter);
        const std::uint64_t first = queue.begin() + random() % (queue.end() - queue.begin());
        const std::uint64_t last = first + random() % (queue.end() - first + 1);
        ASSERT_EQ(queue.fold(first, last).text, expected(all, first, last)) << "step " << step;
        ASSERT_EQ(queue.fold(queue.begin(), queue.end()).text,
                  expected(all, queue.begin(), queue.end()));
        if (first < last) {
            const std::uint64_t length = 1 + random() % (last - first);
            const auto holds = [length](const Word& word) { return word.text.size() >= length; };
            ASSERT_EQ(queue.last_place(first, last, holds), last - length) << "step " << step;
        }
    }
}

}  // namespace
}  // namespace trnsim
