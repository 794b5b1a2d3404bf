// SPDX-License-Identifier: Apache-2.0
// Long lines as several.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trnsim::report {

/// `line` broken at spaces so that no part is longer than `columns`; all parts but the first are
/// indented. A word that is longer stays whole. Columns are counted in characters of UTF-8.
[[nodiscard]] std::string wrapped(std::string_view line, std::size_t columns, std::size_t indent);

}  // namespace trnsim::report
