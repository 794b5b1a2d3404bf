// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error, as whoever started the program left them.
#pragma once

#include <string_view>

namespace trnsim::cli {

/// Occupies the descriptors of standard streams that are closed: else the first file that is opened
/// would take the place of one, and get what is meant for it. What is written to a closed standard
/// output still fails.
void occupy_closed_streams();

/// Writes a message and a line end to standard error, without the control characters that names in
/// it may hold; nobody is told if that cannot be written.
void complain(std::string_view message);

/// The same of what somebody's kernel says: as it is.
void pass_on(std::string_view words);

}  // namespace trnsim::cli
