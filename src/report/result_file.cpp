// SPDX-License-Identifier: Apache-2.0
// A result that was written to a file, read back for comparing.
#include "trnsim/report/result_file.hpp"

#include "schema_version.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/report/json_text.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace trnsim::report {
namespace {

using Type = ResultFile::Json::value_t;

/// The keys that are compared, beside schema_version.
constexpr std::array<std::pair<const char*, Type>, 20> kKeys{{{"trnsim_version", Type::string},
                                                              {"chip", Type::string},
                                                              {"kernel", Type::string},
                                                              {"input", Type::string},
                                                              {"arguments", Type::array},
                                                              {"api", Type::string},
                                                              {"source_sha256", Type::string},
                                                              {"config", Type::object},
                                                              {"policies", Type::object},
                                                              {"summary", Type::object},
                                                              {"roofline", Type::object},
                                                              {"engines", Type::object},
                                                              {"dma", Type::object},
                                                              {"memory", Type::object},
                                                              {"run", Type::object},
                                                              {"cores", Type::array},
                                                              {"attribution", Type::array},
                                                              {"critical_path", Type::array},
                                                              {"warnings", Type::array},
                                                              {"assumptions", Type::array}}};

constexpr std::string_view kAdvice = "give a file that trnsim run --json wrote";

}  // namespace

ResultFile::ResultFile(std::string name, std::string_view text) : name_(std::move(name)) {
    try {
        json_ = Json::parse(text);
    } catch (const Json::parse_error& error) {
        throw UserError(fmt::format("{}: no JSON from byte {} on; {}", name_, error.byte, kAdvice));
    } catch (const Json::out_of_range&) {  // The only one that parsing raises.
        throw UserError(fmt::format("{}: has a number that is too large; {}", name_, kAdvice));
    }
    check_is_result();
}

ResultFile ResultFile::read(const std::string& path) {
    return {path, read_json_text(path, kAdvice)};
}

double ResultFile::number(const std::string& pointer) const {
    const Json& value = at(pointer);
    if (!value.is_number()) {
        throw UserError(fmt::format("{}: {}: type {}, but a number is needed; {}",
                                    name_,
                                    pointer,
                                    value.type_name(),
                                    kAdvice));
    }
    return value.get<double>();
}

std::string ResultFile::text(const std::string& pointer) const {
    const Json& value = at(pointer);
    if (!value.is_string()) {
        throw UserError(fmt::format("{}: {}: type {}, but a string is needed; {}",
                                    name_,
                                    pointer,
                                    value.type_name(),
                                    kAdvice));
    }
    return value.get<std::string>();
}

std::vector<std::string> ResultFile::texts(const std::string& pointer) const {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < at(pointer).size(); ++i) {
        result.push_back(text(fmt::format("{}/{}", pointer, i)));
    }
    return result;
}

const ResultFile::Json& ResultFile::at(const std::string& pointer) const {
    const Json::json_pointer place(pointer);
    if (!json_.contains(place)) {
        throw UserError(fmt::format("{}: {}: is missing; {}", name_, pointer, kAdvice));
    }
    return json_.at(place);
}

void ResultFile::check_is_result() const {
    if (!json_.is_object() || !json_.contains("schema_version")) {
        throw UserError(fmt::format(
            "{}: no result: the key \"schema_version\" is missing; {}", name_, kAdvice));
    }
    const Json& version = json_["schema_version"];
    if (version != kSchemaVersion) {
        throw UserError(fmt::format(
            "{}: schema_version: {}, but this trnsim reads {}; write the file again with it",
            name_,
            version.dump(),
            kSchemaVersion));
    }
    for (const auto& [key, type] : kKeys) {
        if (!json_.contains(key)) {
            throw UserError(
                fmt::format("{}: no result: the key \"{}\" is missing; {}", name_, key, kAdvice));
        }
        if (json_[key].type() != type) {
            throw UserError(fmt::format("{}: /{}: type {}, but type {} is needed; {}",
                                        name_,
                                        key,
                                        json_[key].type_name(),
                                        Json(type).type_name(),
                                        kAdvice));
        }
    }
}

}  // namespace trnsim::report
