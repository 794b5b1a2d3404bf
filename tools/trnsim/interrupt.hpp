// SPDX-License-Identifier: Apache-2.0
// Leaves nothing half-written behind when a signal ends the program.
#pragma once

#include <string>

#include <sys/types.h>

namespace trnsim::cli {

/// Installs handlers of SIGINT, SIGTERM, SIGHUP and SIGPIPE: they remove what RemoveOnSignal names,
/// end what EndOnSignal names, and then let the signal end this process. A signal that is ignored
/// stays ignored.
void clean_up_on_signals();

/// If the environment variable TRNSIM_PARENT says that the process that started this one wants it
/// so, SIGTERM comes when that ends.
void end_with_parent();

/// Names a file that a signal removes, as long as this object lives.
class RemoveOnSignal {
public:
    explicit RemoveOnSignal(std::string path);
    RemoveOnSignal(const RemoveOnSignal&) = delete;
    RemoveOnSignal& operator=(const RemoveOnSignal&) = delete;
    ~RemoveOnSignal();

private:
    std::string path_;
};

/// Names a process that a signal ends, as long as this object lives; one at a time.
class EndOnSignal {
public:
    explicit EndOnSignal(pid_t process);
    EndOnSignal(const EndOnSignal&) = delete;
    EndOnSignal& operator=(const EndOnSignal&) = delete;
    ~EndOnSignal();
};

/// Holds these signals back as long as it lives: around a write that must not be torn.
class HoldSignals {
public:
    HoldSignals();
    HoldSignals(const HoldSignals&) = delete;
    HoldSignals& operator=(const HoldSignals&) = delete;
    ~HoldSignals();
};

}  // namespace trnsim::cli
