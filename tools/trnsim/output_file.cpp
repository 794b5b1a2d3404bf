// SPDX-License-Identifier: Apache-2.0
// Output files, written beside their destination and renamed.
#include "output_file.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/base/replaced_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace trnsim::cli {
namespace {

namespace fs = std::filesystem;

/// The permissions of a new file: those of the one it replaces, else what the umask leaves.
mode_t permissions_for(const fs::path& destination) {
    if (const std::optional<mode_t> replaced = permissions_of(destination)) {
        return *replaced;
    }
    const mode_t mask = umask(0);
    umask(mask);
    return 0666U & ~mask;
}

std::string reason_of_last_error() {
    return std::strerror(errno);
}

[[noreturn]] void refuse(const std::string& option,
                         const std::string& path,
                         const std::string& reason,
                         const std::string& advice) {
    throw UserError(fmt::format("{} {}: cannot be written ({}); {}", option, path, reason, advice));
}

/// Refuses what cannot be a file that trnsim may write; returns its kind.
fs::file_status check_destination(const std::string& option, const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (path.empty() || fs::is_directory(status)) {
        refuse(
            option, path, path.empty() ? "the path is empty" : "it is a directory", "name a file");
    }
    if (fs::exists(status) && access(path.c_str(), W_OK) != 0) {
        refuse(option, path, reason_of_last_error(), "name a file that may be written");
    }
    return status;
}

/// The one name of a file, whatever links and relative paths lead to it.
std::string canonical(const std::string& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(link_target(path), error);
    return error ? path : fs::weakly_canonical(absolute, error).string();
}

/// Whether it is there and is no regular file.
bool is_device(const std::string& path) {
    std::error_code error;
    return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

}  // namespace

OutputFile::OutputFile(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)), stream_(&std::cout) {
    if (path_ == "-") {
        return;
    }
    const fs::file_status status = check_destination(option_, path_);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        file_.open(path_, std::ios::binary);
    } else {
        open_temporary();
    }
    if (!file_) {
        refuse(option_, path_, reason_of_last_error(), "name a file that may be written");
    }
    stream_ = &file_;
}

OutputFile::~OutputFile() {
    if (!temporary_path_.empty()) {
        file_.close();
        unlink(temporary_path_.c_str());
    }
}

void OutputFile::open_temporary() {
    path_ = link_target(path_);
    std::string name = path_ + ".XXXXXX";
    const HoldSignals hold;
    const int file = mkstemp(name.data());
    if (file < 0) {
        refuse(option_,
               path_,
               reason_of_last_error(),
               "name a file in a directory that exists and may be written");
    }
    fchmod(file, permissions_for(path_));
    close(file);
    temporary_path_ = name;
    remove_on_signal_ = std::make_unique<RemoveOnSignal>(name);
    file_.open(name, std::ios::binary);
}

void OutputFile::commit() {
    stream_->flush();
    if (stream_->good() && file_.is_open()) {
        file_.close();
    }
    if (!stream_->good()) {
        refuse(option_, path_, reason_of_last_error(), "make room or name another file");
    }
    if (temporary_path_.empty()) {
        return;
    }
    const HoldSignals hold;
    if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
        refuse(option_, path_, reason_of_last_error(), "name a file that may be replaced");
    }
    temporary_path_.clear();
    remove_on_signal_.reset();
}

void require_regular_destination(const std::string& option, const std::string& path) {
    const fs::file_status status = check_destination(option, path);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        refuse(option, path, "it is a device or a pipe", "name a file");
    }
    std::error_code error;
    const fs::path folder = fs::absolute(path, error).parent_path();
    if (error) {
        refuse(option, path, "the current directory is gone", "go to one that exists");
    }
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
        refuse(option,
               path,
               reason_of_last_error(),
               "name a file in a directory that exists and may be written");
    }
}

void require_writable(const std::string& option, const std::string& path) {
    if (!path.empty() && !is_device(path)) {
        const OutputFile opened(option, path);
    }
}

void require_different_destinations(const Destinations& destinations) {
    std::map<std::string, std::string> known;
    for (const auto& [option, path] : destinations) {
        if (path.empty() || is_device(path)) {
            continue;
        }
        const std::string file = path == "-" ? path : canonical(path);
        const auto [other, is_first] = known.emplace(file, fmt::format("{} {}", option, path));
        if (!is_first) {
            throw UserError(fmt::format("{}, {} {}: both go to {}; name two files",
                                        other->second,
                                        option,
                                        path,
                                        path == "-" ? "standard output" : "one file"));
        }
    }
}

void require_sources_kept(const Destinations& destinations, const Sources& sources) {
    for (const auto& [name, source] : sources) {
        const std::string file = source.substr(0, source.find("::"));
        if (file.empty() || file == "-" || is_device(file)) {
            continue;
        }
        for (const auto& [option, path] : destinations) {
            if (!path.empty() && path != "-" && canonical(path) == canonical(file)) {
                throw UserError(
                    fmt::format("{} {}: would overwrite {} {}, which is read; name another file",
                                option,
                                path,
                                name,
                                source));
            }
        }
    }
}

void flush_standard_output() {
    std::cout.flush();
    if (!std::cout.good()) {
        throw UserError(
            fmt::format("standard output: cannot be written ({}); make room or send it elsewhere",
                        reason_of_last_error()));
    }
}

}  // namespace trnsim::cli
