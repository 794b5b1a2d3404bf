// SPDX-License-Identifier: Apache-2.0
// Runs jobs in forked processes and collects what they return through pipes.
#include "trnsim/study/local_executor.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trnsim::study {
namespace {

/// A forked job and the read end of its pipe.
struct Child {
    std::size_t job = 0;
    pid_t pid = -1;
    int pipe = -1;
    std::string text;
};

std::system_error system_failure(const char* what) {
    return {errno, std::generic_category(), what};
}

void write_all(int file, const std::string& text) {
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t count = write(file, text.data() + written, text.size() - written);
        if (count < 0 && errno != EINTR) {
            return;  // The parent is gone; nobody is left to tell.
        }
        written += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
}

/// The child's whole life: it inherits nothing of the parent's signal handling or buffered output.
[[noreturn]] void run_child(const Job& job, int pipe, pid_t parent) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        std::signal(signal, SIG_DFL);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    int status = 0;
    std::string text;
    try {
        text = job();
    } catch (const UserError& error) {
        status = 2;
        text = error.what();
    } catch (const ProgramError& error) {
        status = 3;
        text = error.what();
    } catch (const std::exception& error) {
        status = 1;
        text = error.what();
    }
    write_all(pipe, text);
    std::fflush(nullptr);
    _exit(status);
}

Child start(const std::vector<Job>& jobs, std::size_t index) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        throw system_failure("pipe of a simulation process");
    }
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        throw system_failure("start of a simulation process");
    }
    if (pid == 0) {
        close(ends[0]);
        run_child(jobs[index], ends[1], parent);
    }
    close(ends[1]);
    return {.job = index, .pid = pid, .pipe = ends[0], .text = {}};
}

JobOutcome finish(Child& child) {
    close(child.pipe);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        return {.exit_status = 1,
                .error = fmt::format("the simulation process was ended by signal {} ({})",
                                     WTERMSIG(status),
                                     strsignal(WTERMSIG(status)))};
    }
    if (WEXITSTATUS(status) != 0) {
        return {.exit_status = WEXITSTATUS(status), .error = std::move(child.text)};
    }
    return {.exit_status = 0, .output = std::move(child.text)};
}

/// Waits until a child has written something or ended; returns false once its pipe is at its end.
bool read_some(Child& child) {
    std::array<char, 65536> buffer{};
    const ssize_t count = read(child.pipe, buffer.data(), buffer.size());
    if (count > 0) {
        child.text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return count > 0 || (count < 0 && errno == EINTR);
}

void wait_for_any(const std::vector<Child>& running, std::vector<pollfd>& ready) {
    ready.clear();
    for (const Child& child : running) {
        ready.push_back({.fd = child.pipe, .events = POLLIN, .revents = 0});
    }
    while (poll(ready.data(), ready.size(), -1) < 0) {
        if (errno != EINTR) {
            throw system_failure("wait for a simulation process");
        }
    }
}

}  // namespace

std::size_t available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return static_cast<std::size_t>(CPU_COUNT(&set));
}

std::vector<JobOutcome> run_in_processes(const std::vector<Job>& jobs,
                                         std::size_t processes,
                                         const JobProgress& progress) {
    std::vector<JobOutcome> outcomes(jobs.size());
    std::vector<Child> running;
    std::vector<pollfd> ready;
    std::size_t next = 0;
    std::size_t done = 0;
    while (done < jobs.size()) {
        while (next < jobs.size() && running.size() < processes) {
            running.push_back(start(jobs, next++));
        }
        wait_for_any(running, ready);
        for (std::size_t i = running.size(); i-- > 0;) {
            if (ready[i].revents == 0 || read_some(running[i])) {
                continue;
            }
            outcomes[running[i].job] = finish(running[i]);
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
            ++done;
            if (progress) {
                progress(done, jobs.size());
            }
        }
    }
    return outcomes;
}

}  // namespace trnsim::study
