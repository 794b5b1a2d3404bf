// SPDX-License-Identifier: Apache-2.0
// Writing a trace: one canonical line for each record.
#include "trnsim/program/writer.hpp"

#include "attribute_members.hpp"
#include "index_reference.hpp"
#include "json_writer.hpp"
#include "trace_names.hpp"

#include <variant>

namespace trnsim::program {
namespace {

/// Writes the records of one program.
class TraceWriter {
public:
    TraceWriter(const Program& program, std::ostream& output)
        : program_(program), output_(output) {}

    void write() {
        write_header();
        for (std::size_t id = 0; id < program_.files.size(); ++id) {
            begin("file").member("id", as_integer(id)).member("path", program_.files[id]);
            end();
        }
        for (const Note& note : program_.notes) {
            begin("note").member("kind", name(note.kind)).member("text", note.text);
            source(note.source);
            end();
        }
        std::int64_t instructions = program_.instruction_count;
        const auto first_ends = [this](std::size_t core) {
            return core < program_.other_cores.size()
                       ? std::pair{program_.other_cores[core].first_buffer,
                                   program_.other_cores[core].first_template}
                       : std::pair{program_.buffers.size(), program_.templates.size()};
        };
        write_core(0, {0, 0}, first_ends(0), program_.nodes);
        for (std::size_t i = 0; i < program_.other_cores.size(); ++i) {
            const Part& part = program_.other_cores[i];
            write_core(
                i + 1, {part.first_buffer, part.first_template}, first_ends(i + 1), part.nodes);
            instructions += part.instruction_count;
        }
        begin("summary").member("instructions", instructions);
        end();
    }

private:
    using Declarations = std::pair<std::size_t, std::size_t>;  ///< Buffers, templates.

    void write_core(std::size_t core,
                    Declarations begin_at,
                    Declarations end_at,
                    const std::vector<Node>& nodes) {
        if (program_.header.cores > 1) {
            begin("core").member("core", as_integer(core));
            end();
        }
        for (std::size_t id = begin_at.first; id < end_at.first; ++id) {
            write_buffer(id);
        }
        for (std::size_t id = begin_at.second; id < end_at.second; ++id) {
            write_template(id);
        }
        for (const Node& node : nodes) {
            write_node(node);
        }
    }

    static std::int64_t as_integer(std::size_t value) { return static_cast<std::int64_t>(value); }

    JsonWriter& begin(std::string_view record) {
        json_.clear();
        return json_.begin_object().member("record", record);
    }

    void end() {
        json_.end_object();
        output_ << json_.text() << '\n';
    }

    void write_header() {
        const Header& header = program_.header;
        begin("header").member("format", "nkt").member("version", 1);
        json_.member("form", name(header.form));
        text_unless_empty("producer", header.producer);
        json_.member("target", header.target).member("kernel", header.kernel);
        text_unless_empty("source_sha256", header.source_sha256);
        json_.member("api", header.api);
        if (header.cores > 1) {
            json_.member("cores", std::int64_t{header.cores});
        }
        if (!header.arguments.empty()) {
            json_.key("arguments").begin_array();
            for (const std::string& argument : header.arguments) {
                json_.value(argument);
            }
            json_.end_array();
        }
        end();
    }

    void write_buffer(std::size_t id) {
        const Buffer& buffer = program_.buffers[id];
        begin("buffer").member("id", as_integer(id)).member("name", buffer.name);
        json_.member("space", name(buffer.space));
        if (buffer.kind != BufferKind::Internal) {
            json_.member("kind", name(buffer.kind));
        }
        json_.member("dtype", name(buffer.dtype)).key("shape").begin_array();
        for (const std::int64_t size : buffer.shape) {
            json_.value(size);
        }
        json_.end_array();
        if (buffer.address) {
            json_.key("address").begin_array();
            json_.value(std::int64_t{buffer.address->first}).value(buffer.address->second);
            json_.end_array();
        }
        text_unless_empty("shared", buffer.shared);
        source(buffer.source);
        end();
    }

    void write_template(std::size_t id) {
        const InstructionTemplate& instruction = program_.templates[id];
        begin("template").member("id", as_integer(id)).member("op", name(instruction.op));
        json_.key("engines").begin_array();
        for (const Engine engine : instruction.engines) {
            json_.value(name(engine));
        }
        json_.end_array().key("operands").begin_array();
        for (const Operand& operand : instruction.operands) {
            write_operand(instruction, operand);
        }
        json_.end_array();
        write_attributes(instruction);
        if (instruction.ring) {
            json_.member("ring", std::int64_t{*instruction.ring});
        }
        source(instruction.source);
        end();
    }

    void write_operand(const InstructionTemplate& instruction, const Operand& operand) {
        json_.begin_object().member("role", name(operand.role));
        json_.member("access", name(operand.access));
        const bool is_lowered = program_.header.form == Form::Lowered;
        if (is_lowered) {
            json_.member("space", name(operand.space));
        } else {
            json_.member("buffer", std::int64_t{operand.buffer});
        }
        if (is_lowered || operand.dtype != program_.buffers[operand.buffer].dtype) {
            json_.member("dtype", name(operand.dtype));
        }
        if (operand.space != Space::Hbm) {
            json_.member("partitions", std::int64_t{operand.partitions});
        }
        json_.key("pattern").begin_array();
        for (const PatternDim& dim : operand.pattern.dims()) {
            json_.begin_array().value(dim.stride).value(dim.count).end_array();
        }
        json_.end_array();
        if (operand.indirect) {
            std::visit([&](auto value) { indirect(value); }, index_reference(instruction, operand));
        }
        json_.end_object();
    }

    void indirect(Role role) { json_.member("indirect", name(role)); }
    void indirect(std::int64_t number) { json_.member("indirect", number); }

    /// Writes what the operation requires, and what differs from the default.
    void write_attributes(const InstructionTemplate& instruction) {
        bool any = false;
        for (const AttributeRule& rule : rule_of(instruction.op).attributes.span()) {
            if (rule.required || !is_default(instruction.attributes, rule.attribute)) {
                if (!any) {
                    json_.key("attributes").begin_object();
                    any = true;
                }
                json_.key(name(rule.attribute));
                std::visit([&](auto member) { attribute(instruction.attributes.*member); },
                           member_of(rule.attribute));
            }
        }
        if (any) {
            json_.end_object();
        }
    }

    static bool is_default(const Attributes& given, Attribute attribute) {
        return std::visit([&given](auto member) { return given.*member == Attributes{}.*member; },
                          member_of(attribute));
    }

    void attribute(const std::string& value) { json_.value(value); }
    void attribute(bool value) { json_.boolean(value); }
    void attribute(OneZero value) { json_.value(name(value)); }
    void attribute(MatmulPerfMode value) { json_.value(name(value)); }
    void attribute(const PeTile& value) { integers(*value); }
    void attribute(std::optional<double> value) {
        if (value) {
            json_.real(*value);
        } else {
            json_.value("run");
        }
    }
    void attribute(const std::vector<std::int32_t>& value) { integers(value); }
    void attribute(const std::vector<std::vector<std::int32_t>>& value) {
        json_.begin_array();
        for (const std::vector<std::int32_t>& entry : value) {
            integers(entry);
        }
        json_.end_array();
    }
    void attribute(std::int64_t value) { json_.value(value); }
    void attribute(DgeMode value) { json_.value(name(value)); }
    void attribute(std::optional<Engine> value) { json_.value(name(*value)); }

    void write_node(const Node& node) {
        switch (node.kind) {
            case Node::Kind::Run:
                return write_run(program_.runs[node.index]);
            case Node::Kind::Alloc:
                begin("alloc").member("buffer", std::int64_t{node.index});
                break;
            case Node::Kind::Loop: {
                const Loop& loop = program_.loops[node.index];
                begin("loop").member("index", loop.index).member("count", loop.count);
                json_.member("kind", name(loop.kind));
                if (loop.is_in_order) {
                    json_.key("in_order").boolean(true);
                }
                source(loop.source);
                open_loops_.push_back(&loop);
                break;
            }
            case Node::Kind::End:
                begin("end");
                open_loops_.pop_back();
                break;
        }
        end();
    }

    void write_run(const Run& run) {
        begin("run").member("template", std::int64_t{run.instruction}).key("at").begin_array();
        for (const Position& position : run.at) {
            json_.begin_object();
            affine_unless_zero("instance", position.instance);
            const bool is_lowered = program_.header.form == Form::Lowered;
            affine_unless_zero(is_lowered ? "address" : "offset", position.offset);
            affine_unless_zero("partition", position.partition);
            json_.end_object();
        }
        json_.end_array();
        if (run.value) {
            json_.key("value");
            affine(*run.value);
        }
        write_edges(run);
        write_semaphores(run);
        end();
    }

    void write_edges(const Run& run) {
        if (run.producer) {
            json_.key("producer");
            affine(*run.producer);
        }
        if (!run.depends_on.empty()) {
            json_.key("depends_on").begin_array();
            for (const Affine& producer : run.depends_on) {
                affine(producer);
            }
            json_.end_array();
        }
    }

    void write_semaphores(const Run& run) {
        if (!run.waits.empty()) {
            json_.key("wait").begin_array();
            for (const SemaphoreWait& wait : run.waits) {
                json_.begin_object().member("semaphore", std::int64_t{wait.semaphore});
                json_.key("at_least");
                affine(wait.at_least);
                json_.end_object();
            }
            json_.end_array();
        }
        if (!run.signals.empty()) {
            json_.key("signal").begin_array();
            for (const SemaphoreSignal& signal : run.signals) {
                json_.begin_object().member("semaphore", std::int64_t{signal.semaphore});
                json_.member("add", signal.add);
                if (signal.at_read) {
                    json_.member("when", "read");
                }
                json_.end_object();
            }
            json_.end_array();
        }
    }

    void affine_unless_zero(std::string_view key, const Affine& value) {
        if (value != Affine{}) {
            json_.key(key);
            affine(value);
        }
    }

    void affine(const Affine& value) {
        if (value.terms.empty()) {
            json_.value(value.base);
            return;
        }
        json_.begin_object();
        if (value.base != 0) {
            json_.member("base", value.base);
        }
        for (const Affine::Term& term : value.terms) {
            json_.member(open_loops_[static_cast<std::size_t>(term.depth)]->index,
                         term.coefficient);
        }
        json_.end_object();
    }

    template <typename Integers>
    void integers(const Integers& values) {
        json_.begin_array();
        for (const std::int64_t value : values) {
            json_.value(value);
        }
        json_.end_array();
    }

    void text_unless_empty(std::string_view key, const std::string& text) {
        if (!text.empty()) {
            json_.member(key, text);
        }
    }

    void source(const std::vector<SourceFrame>& frames) {
        if (frames.empty()) {
            return;
        }
        json_.key("source").begin_array();
        for (const SourceFrame& frame : frames) {
            json_.value(std::int64_t{frame.file}).value(std::int64_t{frame.line});
        }
        json_.end_array();
    }

    const Program& program_;
    std::ostream& output_;
    JsonWriter json_;
    std::vector<const Loop*> open_loops_;
};

}  // namespace

void write(const Program& program, std::ostream& output) {
    TraceWriter(program, output).write();
}

}  // namespace trnsim::program
