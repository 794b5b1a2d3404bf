// SPDX-License-Identifier: Apache-2.0
// The version of the files this layer writes and reads.
#pragma once

namespace trnsim::report {

/// `schema_version` of results, comparisons and differences; counts up when a key changes or goes.
inline constexpr int kSchemaVersion = 1;

}  // namespace trnsim::report
