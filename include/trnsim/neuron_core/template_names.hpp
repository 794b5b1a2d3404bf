// SPDX-License-Identifier: Apache-2.0
// What people call an issue template.
#pragma once

#include "trnsim/neuron_core/queued_instruction.hpp"

#include <cstdint>
#include <string>

namespace trnsim::neuron_core {

/// Names and places of templates, for people.
class TemplateNames {
public:
    TemplateNames() = default;
    TemplateNames(const TemplateNames&) = delete;
    TemplateNames& operator=(const TemplateNames&) = delete;
    virtual ~TemplateNames() = default;
    /// "kernel.py:52"
    [[nodiscard]] virtual std::string source_text(const IssueTemplate& what) const = 0;
    /// "dst f32 psum [128 x 512], stationary …"
    [[nodiscard]] virtual std::string details(const IssueTemplate& what) const = 0;
    /// Per partition, of the largest operand on chip that it streams: of LoadStationary the
    /// stationary one, of MultiplyMoving the moving one or the result.
    [[nodiscard]] virtual std::int64_t elements(const IssueTemplate& what) const = 0;

    /// "kernel.py:52 nc_matmul" for messages; "template 3 nc_matmul" without a source.
    [[nodiscard]] virtual std::string line(const IssueTemplate& what) const {
        return source_text(what) + " " + what.name;
    }
};

}  // namespace trnsim::neuron_core
