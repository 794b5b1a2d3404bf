// SPDX-License-Identifier: Apache-2.0
// A result as a flat list of values with the keys by which two results are joined.
#pragma once

#include "trnsim/report/result_file.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trnsim::report {

/// Where a value belongs.
struct FlatKey {
    std::string section;
    std::string key;
    std::string field;
    friend auto operator<=>(const FlatKey&, const FlatKey&) = default;
};

using FlatValues = std::vector<std::pair<FlatKey, ResultFile::Json>>;

/// Every value that is compared, in the order of the file; a key occurs once, numbers of equal keys
/// are summed.
[[nodiscard]] FlatValues flat_values(const ResultFile& result);

}  // namespace trnsim::report
