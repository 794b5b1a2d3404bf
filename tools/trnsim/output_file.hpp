// SPDX-License-Identifier: Apache-2.0
// A file that is either written whole or not touched.
#pragma once

#include "interrupt.hpp"

#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::cli {

/// Opens its destination at once, so that a wrong path is told before the work, and replaces it in
/// commit(). Without commit() the destination stays as it was. "-" is standard output; a device or
/// pipe is written directly.
class OutputFile {
public:
    /// `option` is for messages: "--json". \throws UserError if nothing can be written there
    OutputFile(std::string option, std::string path);
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    [[nodiscard]] std::ostream& stream() { return *stream_; }

    /// \throws UserError if not everything could be written (a full disk)
    void commit();

private:
    void open_temporary();

    std::string option_;
    std::string path_;
    std::string temporary_path_;  ///< Empty if the destination is written directly.
    std::unique_ptr<RemoveOnSignal> remove_on_signal_;
    std::ofstream file_;
    std::ostream* stream_ = nullptr;
};

/// For files that other layers write and rename themselves. \throws UserError if `path` is a
/// directory, a device, not to be replaced, or in a directory where no file can be made
void require_regular_destination(const std::string& option, const std::string& path);

/// Before Python takes over, which writes the file at the end; an empty path is none.
/// \throws UserError if nothing can be written there
void require_writable(const std::string& option, const std::string& path);

/// Options and the files that they name, empty if they are not given.
using Destinations = std::vector<std::pair<std::string, std::string>>;

/// \throws UserError if two options name the same file, or both standard output
void require_different_destinations(const Destinations& destinations);

/// What a command reads, by the options and words that name it: files, and kernels and references
/// as file.py::function. Empty names and standard input are none.
using Sources = std::vector<std::pair<std::string, std::string>>;

/// \throws UserError if what is written would replace what is read
void require_sources_kept(const Destinations& destinations, const Sources& sources);

/// Writes what is left of standard output. \throws UserError if it does not take it
void flush_standard_output();

}  // namespace trnsim::cli
