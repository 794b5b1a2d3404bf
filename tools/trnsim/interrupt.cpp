// SPDX-License-Identifier: Apache-2.0
// Signal handling. The handler touches lock-free atomics and async-signal-safe calls only.
#include "interrupt.hpp"

#include <array>
#include <atomic>
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

namespace trnsim::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/// A run writes a result, a timeline and a converted trace at most; study points write nothing.
constexpr std::size_t kMaxFiles = 8;

std::array<std::atomic<const char*>, kMaxFiles> files_to_remove{};
std::atomic<pid_t> process_to_end{0};

extern "C" void clean_up(int signal) {
    for (const std::atomic<const char*>& file : files_to_remove) {
        if (const char* path = file.load(); path != nullptr) {
            unlink(path);
        }
    }
    if (const pid_t process = process_to_end.load(); process > 0) {
        kill(process, signal);
    }
    std::signal(signal, SIG_DFL);
    raise(signal);
}

sigset_t held_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kSignals) {
        sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

void clean_up_on_signals() {
    std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is an error of writing it.
    for (const int signal : kSignals) {
        struct sigaction action {};
        sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) {
            continue;  // The caller wants it so: nohup, a shell's background job.
        }
        action.sa_handler = clean_up;
        action.sa_mask = held_signals();
        sigaction(signal, &action, nullptr);
    }
}

void end_with_parent() {
    const pid_t parent = getppid();
    const char* wanted = std::getenv("TRNSIM_PARENT");
    if (wanted == nullptr || wanted != std::to_string(parent)) {
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        raise(SIGTERM);
    }
}

RemoveOnSignal::RemoveOnSignal(std::string path) : path_(std::move(path)) {
    for (std::atomic<const char*>& file : files_to_remove) {
        const char* free = nullptr;
        if (file.compare_exchange_strong(free, path_.c_str())) {
            return;
        }
    }
    assert(!"more output files than kMaxFiles");
}

RemoveOnSignal::~RemoveOnSignal() {
    for (std::atomic<const char*>& file : files_to_remove) {
        const char* mine = path_.c_str();
        file.compare_exchange_strong(mine, nullptr);
    }
}

EndOnSignal::EndOnSignal(pid_t process) {
    process_to_end = process;
}

EndOnSignal::~EndOnSignal() {
    process_to_end = 0;
}

HoldSignals::HoldSignals() {
    const sigset_t set = held_signals();
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

HoldSignals::~HoldSignals() {
    const sigset_t set = held_signals();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace trnsim::cli
