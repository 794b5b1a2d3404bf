// SPDX-License-Identifier: Apache-2.0
// A result that was written to a file, read back for comparing.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::report {

/// The JSON object of a result file; its keys are those of configs/schema/result.schema.json.
class ResultFile {
public:
    using Json = nlohmann::ordered_json;

    /// `name` is for messages: the file's name.
    /// \throws UserError if the text is no JSON, no result, or a result of another schema_version
    ResultFile(std::string name, std::string_view text);

    /// \throws UserError if the file cannot be read, or as the constructor
    [[nodiscard]] static ResultFile read(const std::string& path);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const Json& json() const { return json_; }

    // One value by its JSON pointer: "/summary/latency_us". \throws UserError if it is missing or
    // of another type
    [[nodiscard]] double number(const std::string& pointer) const;
    [[nodiscard]] std::string text(const std::string& pointer) const;
    [[nodiscard]] std::vector<std::string> texts(const std::string& pointer) const;

private:
    [[nodiscard]] const Json& at(const std::string& pointer) const;
    void check_is_result() const;

    std::string name_;
    Json json_;
};

}  // namespace trnsim::report
