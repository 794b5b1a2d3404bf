// SPDX-License-Identifier: Apache-2.0
// Finds and reads chip files.
#include "config_files.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace trnsim::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 1U << 20U;

struct ChipName {
    std::string_view brief;
    std::string_view full;
};
constexpr std::array kChips{ChipName{"inf2", "inferentia2"},
                            ChipName{"trn1", "trainium1"},
                            ChipName{"trn2", "trainium2"},
                            ChipName{"trn3", "trainium3"}};

/// The folder beside the running program: <prefix>/bin/trnsim reads <prefix>/share/trnsim/configs.
fs::path installed_configs() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    return error ? fs::path{} : program.parent_path().parent_path() / "share/trnsim/configs";
}

/// Where the configurations are, or nothing.
std::optional<fs::path> config_folder() {
    std::vector<fs::path> candidates{installed_configs(), TRNSIM_SOURCE_CONFIG_DIR};
    const char* chosen = std::getenv("TRNSIM_CONFIG_DIR");
    if (chosen != nullptr && *chosen != '\0') {
        candidates = {chosen};
    }
    std::error_code error;
    for (const fs::path& candidate : candidates) {
        if (fs::is_directory(candidate / "chips", error)) {
            return candidate;
        }
    }
    return std::nullopt;
}

fs::path file_of(const fs::path& folder, const ChipName& chip) {
    return folder / "chips" / (std::string(chip.full) + ".json");
}

bool looks_like_path(const std::string& text) {
    return text.find('/') != std::string::npos || fs::path(text).extension() == ".json";
}

}  // namespace

std::vector<std::string> chip_names() {
    std::vector<std::string> names;
    names.reserve(kChips.size());
    for (const ChipName& chip : kChips) {
        names.emplace_back(chip.brief);
    }
    return names;
}

std::string find_chip_file(const std::string& name_or_path) {
    if (looks_like_path(name_or_path)) {
        return name_or_path;
    }
    const auto* chip = std::find_if(kChips.begin(), kChips.end(), [&](const ChipName& each) {
        return each.brief == name_or_path || each.full == name_or_path;
    });
    if (chip == kChips.end()) {
        throw ConfigError(
            fmt::format("{}: no such chip; chips are {}, or the path of a chip JSON file",
                        name_or_path,
                        fmt::join(chip_names(), ", ")));
    }
    const std::optional<fs::path> folder = config_folder();
    if (!folder) {
        throw ConfigError(
            fmt::format("{}: the folder of chip configurations is not there; set TRNSIM_CONFIG_DIR "
                        "to the folder "
                        "that contains chips/{}.json",
                        name_or_path,
                        chip->full));
    }
    return file_of(*folder, *chip).string();
}

bool is_shipped(const std::string& path) {
    const std::optional<fs::path> folder = config_folder();
    return folder && std::any_of(kChips.begin(), kChips.end(), [&](const ChipName& chip) {
               std::error_code error;
               return fs::equivalent(file_of(*folder, chip), path, error);
           });
}

std::string read_config_file(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
        throw ConfigError(path + ": is a folder; give the path of a chip JSON file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw ConfigError(path + ": cannot be opened; check the path and its permissions");
    }
    constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
    std::string text;
    while (file && text.size() <= kFileBytesMax) {
        const std::size_t before = text.size();
        text.resize(before + kBlockBytes);
        file.read(text.data() + before, static_cast<std::streamsize>(kBlockBytes));
        text.resize(before + static_cast<std::size_t>(file.gcount()));
    }
    if (text.size() > kFileBytesMax) {
        throw ConfigError(path + ": is larger than 1 MiB; a chip file has about 40 KiB");
    }
    return text;
}

}  // namespace trnsim::spec
