// SPDX-License-Identifier: Apache-2.0
// Finds accesses of several cores to shared HBM that no meeting orders.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"
#include "trnsim/program/cursor.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// Walks the programs of all cores from meeting to meeting (core_barrier, sendrecv) with a vector
/// clock per core: what a core did before a meeting, those who met know. Two accesses of different
/// cores to a common byte of a shared HBM buffer, at least one a write, must be ordered so.
/// [NKI-ISA, core_barrier] A core_barrier without a dst is about no bytes and orders none. Cores
/// that write the same bytes from the same line do the same work twice, as kernels do that do not
/// split it; each may read what it wrote so.
///
/// Accesses that every core knows of are forgotten, and those of one operand at equal distances are
/// one record, so that memory follows the text of the program between two meetings. Beyond
/// kMaxRecords per buffer the oldest are forgotten, and accesses through indices are not looked at:
/// races may be missed then, but none is invented.
class SharedMemoryCheck {
public:
    static constexpr std::size_t kMaxRecords = 1024;

    /// One program per core, which must outlive it; they need not be lowered.
    explicit SharedMemoryCheck(std::span<const program::Program* const> cores);

    /// \throws ProgramError naming both lines, the operands and the bytes of a race
    void run();

private:
    using Clock = std::vector<std::uint64_t>;  ///< Per core: meetings that are known to be over.

    /// Accesses of one operand of one instruction at equal distances, between two meetings.
    struct Record {
        std::size_t core = 0;
        std::uint32_t instruction = 0;
        std::size_t operand = 0;
        std::uint64_t meetings = 0;  ///< Of the core, before the access.
        bool is_write = false;
        Region first{};
        std::int64_t step = 0;  ///< Bytes from one access to the next.
        std::int64_t count = 1;
    };
    /// Who meets, and on what: the cores, a bit each, and 0 for a barrier or 1 + the pipe.
    using Meeting = std::pair<std::uint32_t, std::int64_t>;
    struct Core {
        const program::Program* program = nullptr;
        std::unique_ptr<program::Cursor> cursor{};
        std::vector<std::string> watched{};  ///< By buffer: its shared name, or nothing.
        std::vector<std::vector<std::unique_ptr<RegionShape>>> shapes{};  ///< By operand.
        Clock clock{};
        std::unique_ptr<Meeting> waits_for{};
        bool waits_for_bytes = false;  ///< That meeting is about bytes.
        bool has_ended = false;
    };

    void watch();
    void watch_buffers(Core& core) const;
    static void shape_operands(Core& core);
    void advance(std::size_t index);
    void access(std::size_t index, const program::Step& step);
    void check(std::size_t core, const Record& access, const std::vector<Record>& records) const;
    [[nodiscard]] bool is_same_line(const Record& a, const Record& b) const;
    /// Whether a write that meets `access` in `region` repeats what the other core writes, too.
    [[nodiscard]] bool is_same_work(const Record& access,
                                    const Record& other,
                                    const Region& region,
                                    const std::vector<Record>& records) const;
    /// Whether an access is one of a record's row or the next of it, which it then is.
    static bool continues(Record& record, const Record& access);
    static void remember(const Record& access, std::vector<Record>& records);
    [[nodiscard]] bool is_known_to_all(const Record& record) const;
    /// Lets cores go on whose meeting is complete; false if there is none.
    bool meet();
    /// Lets the members of a meeting go on; false if one of them is not there.
    bool hold(const Meeting& meeting);
    /// What each member of a meeting knows after it: all that any of them knew.
    [[nodiscard]] Clock known_after(const std::vector<std::size_t>& members) const;
    /// From which of its accesses to before which a record may meet a region.
    [[nodiscard]] static std::pair<std::int64_t, std::int64_t> places_near(const Record& record,
                                                                           const Region& region);
    [[nodiscard]] std::string text_of(const Record& record) const;

    std::vector<Core> cores_;
    std::map<std::string, std::vector<Record>> records_;  ///< By shared name.
    bool has_met_for_nothing_ = false;                    ///< A meeting was about no bytes.
};

}  // namespace trnsim::lowering
