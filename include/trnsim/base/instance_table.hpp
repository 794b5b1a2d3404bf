// SPDX-License-Identifier: Apache-2.0
// A map from the instances of a site that live at the same time to a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trnsim {

/// Open-addressed table keyed by instance number, from 0. Instances alive together are usually
/// neighbours, so nearly every key is at its own place. Grows with the instances alive, not with
/// those that have passed.
template <typename T>
class InstanceTable {
public:
    /// The value of `key`, or nullptr. Valid until the next change of the table.
    [[nodiscard]] T* find(std::int64_t key) {
        Entry& entry = entries_[place_of(key)];
        return entry.key == key ? &entry.value : nullptr;
    }

    /// The value of `key`, made by default if it is not there.
    T& operator[](std::int64_t key) {
        std::size_t place = place_of(key);
        if (entries_[place].key == kNone) {
            if (2 * (size_ + 1) > entries_.size()) {
                grow();
                place = place_of(key);
            }
            entries_[place] = {.key = key, .value = T{}};
            ++size_;
            displaced_ += place == home(key) ? 0U : 1U;
        }
        return entries_[place].value;
    }

    void erase(std::int64_t key) {
        std::size_t hole = place_of(key);
        if (entries_[hole].key != key) {
            return;
        }
        displaced_ -= hole == home(key) ? 0U : 1U;
        // What was pushed aside by the erased key moves back.
        for (std::size_t next = wrap(hole + 1); displaced_ > 0 && entries_[next].key != kNone;
             next = wrap(next + 1)) {
            const std::size_t best = home(entries_[next].key);
            if (wrap(next - best) >= wrap(next - hole)) {
                displaced_ -= hole == best ? 1U : 0U;
                entries_[hole] = std::move(entries_[next]);
                hole = next;
            }
        }
        entries_[hole].key = kNone;
        --size_;
    }

    /// Places in memory.
    [[nodiscard]] std::size_t capacity() const { return entries_.size(); }

private:
    static constexpr std::int64_t kNone = -1;
    struct Entry {
        std::int64_t key = kNone;
        T value{};
    };

    [[nodiscard]] std::size_t wrap(std::size_t place) const {
        return place & (entries_.size() - 1);
    }
    [[nodiscard]] std::size_t home(std::int64_t key) const {
        return wrap(static_cast<std::size_t>(key));
    }

    /// Where `key` is, or where it would go.
    [[nodiscard]] std::size_t place_of(std::int64_t key) const {
        std::size_t place = home(key);
        while (entries_[place].key != key && entries_[place].key != kNone) {
            place = wrap(place + 1);
        }
        return place;
    }

    void grow() {
        std::vector<Entry> old(entries_.size() * 2);
        std::swap(old, entries_);
        displaced_ = 0;
        for (Entry& entry : old) {
            if (entry.key != kNone) {
                const std::size_t place = place_of(entry.key);
                displaced_ += place == home(entry.key) ? 0U : 1U;
                entries_[place] = std::move(entry);
            }
        }
    }

    std::vector<Entry> entries_ = std::vector<Entry>(8);  ///< A power of two, at most half in use.
    std::size_t size_ = 0;
    std::size_t displaced_ = 0;  ///< Keys that are not at their own place.
};

}  // namespace trnsim
