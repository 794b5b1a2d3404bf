// SPDX-License-Identifier: Apache-2.0
// A map from the instances of a site that live at the same time to a value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace trnsim {

/// Direct-mapped table keyed by instance number. Instances alive together are usually neighbours, so one slot per
/// residue is enough; it doubles when two keys meet.
template <typename T>
class InstanceTable {
public:
    /// The value of `key`, or nullptr.
    [[nodiscard]] T* find(std::int64_t key) {
        Entry& entry = entries_[index(key)];
        return entry.key == key ? &entry.value : nullptr;
    }

    /// The value of `key`, made by default if it is not there.
    T& operator[](std::int64_t key) {
        while (entries_[index(key)].key != key && entries_[index(key)].key != kNone) {
            grow();
        }
        Entry& entry = entries_[index(key)];
        if (entry.key == kNone) {
            entry = {.key = key, .value = T{}};
        }
        return entry.value;
    }

    void erase(std::int64_t key) {
        Entry& entry = entries_[index(key)];
        if (entry.key == key) {
            entry.key = kNone;
        }
    }

private:
    static constexpr std::int64_t kNone = -1;
    struct Entry {
        std::int64_t key = kNone;
        T value{};
    };

    [[nodiscard]] std::size_t index(std::int64_t key) const {
        return static_cast<std::size_t>(key) & (entries_.size() - 1);
    }

    void grow() {
        std::vector<Entry> old = std::move(entries_);
        std::size_t size = old.size();
        bool placed = false;
        while (!placed) {
            size *= 2;
            entries_.assign(size, Entry{});
            placed = place_all(old);
        }
    }

    bool place_all(const std::vector<Entry>& old) {
        for (const Entry& entry : old) {
            if (entry.key == kNone) {
                continue;
            }
            Entry& place = entries_[index(entry.key)];
            if (place.key != kNone) {
                return false;
            }
            place = entry;
        }
        return true;
    }

    std::vector<Entry> entries_ = std::vector<Entry>(8);
};

}  // namespace trnsim
