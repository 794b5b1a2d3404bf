// SPDX-License-Identifier: Apache-2.0
// Runs the Python frontend as a child process: its trace comes through a memory file, its words
// through a pipe.
#include "python_frontend.hpp"

#include "interrupt.hpp"
#include "standard_streams.hpp"
#include "terminal.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/program/reader.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trnsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kValueReportDescriptor = 3;  ///< Of the frontend.

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

/// A name under which this process can open it once more, from its start.
std::string path_of(const Descriptor& descriptor) {
    return fmt::format("/proc/self/fd/{}", descriptor.get());
}

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
/// Modules of the current folder replace none of Python's: PYTHONSAFEPATH, which the package
/// forgets again unless it is the user's own.
std::vector<std::string> frontend_environment() {
    std::vector<std::string> variables;
    std::string path = package_folder();
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (std::strncmp(*variable, "TRNSIM_BINARY=", 14) == 0) {
            continue;  // This program is the simulator.
        }
        if (std::strcmp(*variable, "PYTHONSAFEPATH=") == 0) {
            continue;  // As if it were not there.
        }
        if (std::strncmp(*variable, "PYTHONPATH=", 11) == 0) {
            path += fmt::format(":{}", *variable + 11);
        } else {
            variables.emplace_back(*variable);
        }
    }
    variables.push_back("PYTHONPATH=" + path);
    const char* safe_path = std::getenv("PYTHONSAFEPATH");
    if (safe_path == nullptr || *safe_path == '\0') {
        variables.emplace_back("PYTHONSAFEPATH=trnsim");  // -P would be an error before 3.11.
    }
    variables.push_back("TRNSIM_BINARY=" + fs::read_symlink("/proc/self/exe").string());
    return variables;
}

std::vector<std::string> command_line(const KernelReference& kernel, const std::string& chip) {
    std::vector<std::string> words{python_interpreter(), "-m", "trnsim.frontend"};
    words.insert(words.end(), {plain_word(kernel.text), "--chip", chip, "-o", "-"});
    for (const std::string& argument : kernel.arguments) {
        words.push_back("--arg=" + argument);
    }
    for (const std::string& count : kernel.trip_counts) {
        words.push_back("--assume=" + count);
    }
    for (const std::string& limit : kernel.limits) {
        words.push_back("--set=" + limit);
    }
    const ValueOptions& values = kernel.values;
    if (values.asked_by().empty()) {
        return words;
    }
    words.insert(words.end(),
                 {"--values",
                  fmt::format("--seed={}", values.seed),
                  fmt::format("--value-report=/dev/fd/{}", kValueReportDescriptor)});
    if (values.reads_unwritten) {
        words.emplace_back("--reads-unwritten");
    }
    if (!values.reference.empty()) {
        words.push_back("--check=" + values.reference);
    }
    if (values.rtol) {
        words.push_back(fmt::format("--rtol={}", *values.rtol));
    }
    if (values.atol) {
        words.push_back(fmt::format("--atol={}", *values.atol));
    }
    return words;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void throw_no_interpreter(const std::string& name, int status) {
    throw UserError(fmt::format(
        "{}: the Python interpreter cannot be started ({}), kernels need Python 3.11 to 3.14; "
        "install it or name one with the environment variable TRNSIM_PYTHON",
        name,
        std::strerror(status)));
}

/// \param words what it said on standard error
[[noreturn]] void throw_no_python(const std::string& name, const std::string& words) {
    const char* home = std::getenv("PYTHONHOME");
    const bool has_home = home != nullptr && *home != '\0';
    throw UserError(fmt::format(
        "{}: is no Python 3 that works, kernels need Python 3.11 to 3.14; {}install it or name one "
        "with the environment variable TRNSIM_PYTHON{}{}",
        name,
        has_home ? fmt::format("unset PYTHONHOME, which is {}; else ", home) : "",
        words.empty() ? "" : "; it says:\n",
        words));
}

/// Where the frontend writes to.
struct Outputs {
    int trace;
    int words;
    int value_report;
};

pid_t spawn(std::vector<std::string> words, const Outputs& outputs) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, outputs.trace, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, outputs.words, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, outputs.value_report, kValueReportDescriptor);
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
        throw_no_interpreter(words[0], status);
    }
    return pid;
}

/// Whether a child has ended; wait_for() still tells how.
bool has_ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
}

/// Everything a child says until it ends. What it has started may keep the pipe open for longer.
std::string read_to_end(int pipe, pid_t child, const std::string& what) {
    constexpr int kPatience = 250;  // Milliseconds.
    std::string text;
    std::array<char, 4096> buffer{};
    Progress progress("tracing " + what);
    bool is_over = false;
    while (true) {
        pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, is_over ? 0 : kPatience) <= 0) {
            if (is_over) {
                return text;
            }
            progress.update(0, 0);
            is_over = has_ended(child);
            continue;
        }
        const ssize_t count = read(pipe, buffer.data(), buffer.size());
        if (count == 0 || (count < 0 && errno != EINTR)) {
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

/// How a child ended, once it has.
int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool is_empty(const Descriptor& file) {
    struct stat status {};
    return fstat(file.get(), &status) == 0 && status.st_size == 0;
}

std::string contents(const Descriptor& file) {
    std::ifstream stream(path_of(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Has the interpreter run a program without any of ours. \throws UserError if it cannot: then no
/// failure is that of the frontend
void require_python() {
    const std::string interpreter = python_interpreter();
    const Descriptor answer(memfd_create("answer", MFD_CLOEXEC), "memory file for an answer");
    const Descriptor said(memfd_create("words", MFD_CLOEXEC), "memory file for words");
    const pid_t pid =
        spawn({interpreter, "-S", "-c", "import sys; sys.stdout.write('%d' % sys.version_info[0])"},
              {.trace = answer.get(), .words = said.get(), .value_report = said.get()});
    {
        const EndOnSignal end_on_signal(pid);
        wait_for(pid);
    }
    if (contents(answer) != "3") {
        std::string words = contents(said);
        trim_line_ends(words);
        throw_no_python(interpreter, words);
    }
}

/// Turns the way the frontend ended into an exception, or passes on what it said.
void check_end(int status, std::string words, bool has_trace, const std::string& kernel) {
    trim_line_ends(words);
    const bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (is_done && !words.empty()) {
        pass_on(words);
    }
    if (is_done && has_trace) {
        return;
    }
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGPIPE)) {
        std::raise(WTERMSIG(status));  // Goes on where the signal is ignored.
        throw UserError(fmt::format("{}: was interrupted; run it again", kernel));
    }
    require_python();
    if (WIFEXITED(status) && (is_done || words.empty())) {
        throw UserError(
            fmt::format("{}: Python ended with status {} and without a trace: the kernel, or what "
                        "it calls or is compared with, ends the process (os._exit); let it return",
                        kernel,
                        WEXITSTATUS(status)));
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

program::Program read_trace(const Descriptor& trace, const std::string& kernel) {
    std::ifstream stream(path_of(trace), std::ios::binary);
    try {
        return program::read(stream, kernel);
    } catch (const TraceError&) {
        require_python();  // Others write anything.
        throw;
    }
}

}  // namespace

std::span<const std::string_view> limit_names() {
    // What frontend/chip.py reads of a chip file.
    static constexpr std::array<std::string_view, 10> kLimits{
        "neuron_core.psum.bank_bytes",
        "neuron_core.psum.banks",
        "neuron_core.sbuf.partition_kib",
        "neuron_core.sbuf.partitions",
        "neuron_core.sbuf.usable_partition_kib",
        "neuron_core.tensor_engine.moving_free_max_16bit",
        "neuron_core.tensor_engine.moving_free_max_32bit",
        "neuron_core.tensor_engine.pe_columns",
        "neuron_core.tensor_engine.pe_rows",
        "neuron_core_version",
    };
    return kLimits;
}

std::vector<std::string> limits_among(const std::vector<std::string>& settings) {
    const std::span<const std::string_view> names = limit_names();
    std::vector<std::string> limits;
    std::ranges::copy_if(settings, std::back_inserter(limits), [&](const std::string& setting) {
        const std::string_view path = std::string_view(setting).substr(0, setting.find('='));
        return std::ranges::find(names, path) != names.end();
    });
    return limits;
}

TracedKernel trace_kernel(const KernelReference& kernel, const std::string& chip) {
    const Descriptor trace(memfd_create("trace", MFD_CLOEXEC), "memory file for the trace");
    const Descriptor values(memfd_create("values", MFD_CLOEXEC), "memory file for the values");
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe from the Python frontend");
    }
    const Descriptor words_out(ends[0], "pipe");
    Descriptor words_in(ends[1], "pipe");

    const std::vector<std::string> command = command_line(kernel, chip);
    spdlog::debug("runs {}", fmt::join(command, " "));
    const pid_t pid = spawn(
        command, {.trace = trace.get(), .words = words_in.get(), .value_report = values.get()});
    words_in.reset();
    std::string words;
    int status = 0;
    {
        const EndOnSignal end_on_signal(pid);
        words = read_to_end(words_out.get(), pid, kernel.text);
        status = wait_for(pid);
    }
    check_end(status, std::move(words), !is_empty(trace), kernel.text);

    TracedKernel traced{.program = read_trace(trace, kernel.text), .values = {}};
    if (!kernel.values.asked_by().empty()) {
        traced.values = report::parse_value_report(contents(values));
    }
    return traced;
}

std::string plain_word(const std::string& file) {
    return file.starts_with('-') ? "./" + file : file;
}

void become_python(const std::string& module, std::vector<std::string> words) {
    require_python();
    words.insert(words.begin(), {python_interpreter(), "-m", module});
    std::vector<std::string> environment = frontend_environment();
    spdlog::debug("becomes {}", fmt::join(words, " "));
    std::fflush(nullptr);
    execvpe(words[0].c_str(), pointers(words).data(), pointers(environment).data());
    throw_no_interpreter(words[0], errno);
}

}  // namespace trnsim::cli
