// SPDX-License-Identifier: Apache-2.0
// The rate a stack of HBM sustains.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/memory/hbm_spec.hpp"

namespace trnsim::memory {

/// interface bits x pin rate / 8, of one stack. [JEDEC-HBM3]
[[nodiscard]] GigabytesPerSecond stack_peak(const HbmSpec& spec);

/// stack_peak of all stacks.
[[nodiscard]] GigabytesPerSecond device_peak(const HbmSpec& spec);

/// Share of a channel's time that moves wanted bytes when every piece of `piece` bytes opens its
/// own rows: bytes / max(whole accesses, rows x row_cycle / banks in bytes of the channel). 1 from
/// a page on. [ASSUMED] Leaves out bank groups and activation windows.
[[nodiscard]] double page_efficiency(const HbmSpec& spec, Bytes piece);

/// What one stack sustains for pieces of that size: peak x refresh x turnaround x page efficiency.
[[nodiscard]] GigabytesPerSecond stack_sustained(const HbmSpec& spec, Bytes piece);

}  // namespace trnsim::memory
