// SPDX-License-Identifier: Apache-2.0
// Runs the Python frontend as a child process: its trace comes through a memory file, its words
// through a pipe.
#include "python_frontend.hpp"

#include "interrupt.hpp"
#include "terminal.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/program/reader.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trnsim::cli {
namespace {

namespace fs = std::filesystem;

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor(int value, const char* what) : value_(value) {
        if (value_ < 0) {
            throw std::system_error(errno, std::generic_category(), what);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { reset(); }
    [[nodiscard]] int get() const { return value_; }
    void reset() {
        if (value_ >= 0) {
            close(std::exchange(value_, -1));
        }
    }

private:
    int value_;
};

std::string python_interpreter() {
    if (const char* chosen = std::getenv("TRNSIM_PYTHON"); chosen != nullptr && *chosen != '\0') {
        return chosen;
    }
    return access(TRNSIM_VENV_PYTHON, X_OK) == 0 ? TRNSIM_VENV_PYTHON : "python3";
}

/// The folder that holds the Python package `trnsim`: beside an installed trnsim, or in the source
/// tree.
std::string package_folder() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    const fs::path installed = self.parent_path().parent_path() / "share" / "trnsim" / "python";
    return fs::is_directory(installed / "trnsim", error) ? installed.string()
                                                         : TRNSIM_PYTHON_SOURCE_DIR;
}

/// This process's environment with the package first on PYTHONPATH, and itself as the simulator.
std::vector<std::string> frontend_environment() {
    std::vector<std::string> variables;
    std::string path = package_folder();
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (std::strncmp(*variable, "TRNSIM_BINARY=", 14) == 0) {
            continue;  // This program is the simulator.
        }
        if (std::strncmp(*variable, "PYTHONPATH=", 11) == 0) {
            path += fmt::format(":{}", *variable + 11);
        } else {
            variables.emplace_back(*variable);
        }
    }
    variables.push_back("PYTHONPATH=" + path);
    variables.push_back("TRNSIM_BINARY=" + fs::read_symlink("/proc/self/exe").string());
    return variables;
}

std::vector<std::string> command_line(const KernelReference& kernel, const std::string& chip) {
    std::vector<std::string> words{
        python_interpreter(), "-m", "trnsim.frontend", kernel.text, "--chip", chip, "-o", "-"};
    for (const std::string& argument : kernel.arguments) {
        words.push_back("--arg=" + argument);
    }
    return words;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) {
        result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
}

UserError no_interpreter(const std::string& name, int status) {
    return UserError(fmt::format(
        "{}: the Python interpreter cannot be started ({}), kernels need Python 3.11 or newer; "
        "install it or name one with the environment variable TRNSIM_PYTHON",
        name,
        std::strerror(status)));
}

pid_t spawn(std::vector<std::string> words, int standard_output, int standard_error) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, standard_output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, standard_error, STDERR_FILENO);
    std::vector<std::string> environment = frontend_environment();
    pid_t pid = -1;
    const int status = posix_spawnp(&pid,
                                    words[0].c_str(),
                                    &files,
                                    nullptr,
                                    pointers(words).data(),
                                    pointers(environment).data());
    posix_spawn_file_actions_destroy(&files);
    if (status != 0) {
        throw no_interpreter(words[0], status);
    }
    return pid;
}

/// Everything the child says until it ends.
std::string read_to_end(int pipe, const std::string& what) {
    std::string text;
    std::array<char, 4096> buffer{};
    Progress progress("tracing " + what);
    while (true) {
        pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, 250) <= 0) {
            progress.update(0, 0);
            continue;
        }
        const ssize_t count = read(pipe, buffer.data(), buffer.size());
        if (count == 0) {
            return text;
        }
        text.append(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    }
}

void trim_line_ends(std::string& text) {
    while (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
}

/// Turns the way the frontend ended into an exception, or passes on what it said.
void check_end(int status, std::string words) {
    trim_line_ends(words);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (!words.empty()) {
            fmt::print(stderr, "{}\n", words);
        }
        return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        throw UserError(words);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        throw ProgramError(words);
    }
    const std::string end = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                : fmt::format("status {}", WEXITSTATUS(status));
    throw std::runtime_error(fmt::format("trnsim.frontend: ended with {}\n{}", end, words));
}

}  // namespace

program::Program trace_kernel(const KernelReference& kernel, const std::string& chip) {
    const Descriptor trace(memfd_create("trace", MFD_CLOEXEC), "memory file for the trace");
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe from the Python frontend");
    }
    const Descriptor words_out(ends[0], "pipe");
    Descriptor words_in(ends[1], "pipe");

    const std::vector<std::string> command = command_line(kernel, chip);
    spdlog::debug("runs {}", fmt::join(command, " "));
    const pid_t pid = spawn(command, trace.get(), words_in.get());
    const EndOnSignal end_on_signal(pid);
    words_in.reset();
    std::string words = read_to_end(words_out.get(), kernel.text);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    check_end(status, std::move(words));

    std::ifstream stream(fmt::format("/proc/self/fd/{}", trace.get()), std::ios::binary);
    return program::read(stream, kernel.text);
}

void become_script(std::vector<std::string> words) {
    words.insert(words.begin(), {python_interpreter(), "-m", "trnsim.script"});
    std::vector<std::string> environment = frontend_environment();
    spdlog::debug("becomes {}", fmt::join(words, " "));
    std::fflush(nullptr);
    execvpe(words[0].c_str(), pointers(words).data(), pointers(environment).data());
    throw no_interpreter(words[0], errno);
}

}  // namespace trnsim::cli
