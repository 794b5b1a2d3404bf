// SPDX-License-Identifier: Apache-2.0
// Descriptors 0 to 2.
#include "standard_streams.hpp"

#include "trnsim/base/control_characters.hpp"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace trnsim::cli {

void occupy_closed_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) < 0) {
            // The lowest free descriptor is this one. Standard output is opened for reading, so
            // that writing to it still fails.
            static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
        }
    }
}

void complain(std::string_view message) {
    pass_on(without_controls(message, "\n\t"));
}

void pass_on(std::string_view words) {
    std::fwrite(words.data(), 1, words.size(), stderr);
    std::fputc('\n', stderr);
}

}  // namespace trnsim::cli
