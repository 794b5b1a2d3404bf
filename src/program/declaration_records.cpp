// SPDX-License-Identifier: Apache-2.0
// Records that declare: header, file, buffer, note.
#include "limits.hpp"
#include "records.hpp"
#include "trace_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace trnsim::program {
namespace {

constexpr std::int64_t kVersion = 1;

void read_sha256(const JsonValue& value, std::string& target) {
    constexpr std::size_t kDigits = 64;
    constexpr std::string_view kHexadecimal = "0123456789abcdef";
    target = value.text();
    if (target.size() != kDigits || target.find_first_not_of(kHexadecimal) != std::string::npos) {
        value.fail(fmt::format("{}; write {} lower-case hexadecimal digits, or leave the key out",
                               in_quotes(target),
                               kDigits));
    }
}

void check_api(const JsonValue& value) {
    constexpr std::array<std::string_view, 4> kApis{
        "nki", "neuronxcc.nki", "neuronxcc.nki.as_written", "trace"};
    const std::string_view given = value.text();
    if (std::ranges::find(kApis, given) == kApis.end()) {
        value.fail(
            fmt::format("{}, an unknown name{}", in_quotes(given), suggestion(given, kApis)));
    }
}

void read_shape(const ReaderState& state, const JsonValue& value, Buffer& buffer) {
    std::int64_t elements = 1;
    value.for_each([&](const JsonValue& size) {
        buffer.shape.push_back(size.integer(1, kMaxInteger));
        if (buffer.shape.back() > kMaxInteger / elements) {
            value.fail(fmt::format("more than {} elements in all; split the buffer", kMaxInteger));
        }
        elements *= buffer.shape.back();
    });
    if (buffer.space == Space::Hbm) {
        return;
    }
    if (buffer.shape.empty()) {
        value.fail("empty; in sbuf and psum the first size is the partitions");
    }
    if (buffer.partitions() > kPartitions) {
        state.place.fail(fmt::format("{} has {} partitions, {} has {}; split the tile",
                                     in_quotes(buffer.name),
                                     buffer.partitions(),
                                     name(buffer.space),
                                     kPartitions));
    }
}

void read_address(const ReaderState& state, const JsonValue& value, Buffer& buffer) {
    if (buffer.space == Space::Hbm) {
        state.place.fail("\"address\" is for sbuf and psum only; leave it out");
    }
    std::vector<std::int64_t> pair;
    value.for_each(
        [&pair](const JsonValue& entry) { pair.push_back(entry.integer(0, kMaxInteger)); });
    if (pair.size() != 2) {
        value.fail(fmt::format("an array of {}; write [partition, byte]", pair.size()));
    }
    if (pair[0] > kPartitions - buffer.partitions()) {
        value.fail(
            fmt::format("partition {}, but the buffer has {} and the last one is {}; start at "
                        "{} or lower",
                        pair[0],
                        buffer.partitions(),
                        kPartitions - 1,
                        kPartitions - buffer.partitions()));
    }
    buffer.address.emplace(static_cast<std::int32_t>(pair[0]), pair[1]);
}

void read_shared(const ReaderState& state, const JsonValue& value, Buffer& buffer) {
    buffer.shared = value.nonempty_text();
    if (buffer.space != Space::Hbm || state.program.header.cores == 1) {
        state.place.fail(
            "\"shared\" is for hbm buffers of programs with several cores; leave it out");
    }
    for (std::size_t i = 0; i < state.program.buffers.size(); ++i) {
        const Buffer& other = state.program.buffers[i];
        if (other.shared != buffer.shared) {
            continue;
        }
        if (i >= state.part.first_buffer) {
            value.fail(fmt::format("{}, as buffer {} of this core; name each shared buffer once",
                                   in_quotes(buffer.shared),
                                   i));
        }
        if (other.dtype != buffer.dtype || other.shape != buffer.shape) {
            value.fail(fmt::format("{}, as buffer {}, whose type or shape differs; make them equal",
                                   in_quotes(buffer.shared),
                                   i));
        }
    }
}

void check_kind(const ReaderState& state, const Buffer& buffer) {
    const bool is_argument = buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output;
    if (is_argument && buffer.space != Space::Hbm) {
        state.place.fail(fmt::format("an {} in {}, allowed is hbm; copy it with dma_copy",
                                     name(buffer.kind),
                                     name(buffer.space)));
    }
}

}  // namespace

std::vector<SourceFrame> read_source(const ReaderState& state, const JsonFields& fields) {
    constexpr auto kMaxLine = std::int64_t{std::numeric_limits<std::int32_t>::max()};
    std::vector<SourceFrame> frames;
    if (!fields.has("source")) {
        return frames;
    }
    const JsonValue source = fields["source"];
    bool wants_file = true;
    source.for_each([&](const JsonValue& entry) {
        const std::int64_t value = entry.integer(0, kMaxLine);
        if (!wants_file) {
            frames.back().line = static_cast<std::uint32_t>(value);
        } else if (value < std::ssize(state.program.files)) {
            frames.push_back({static_cast<std::uint32_t>(value), 0});
        } else {
            entry.fail(fmt::format("file {}, past the {} declared so far; declare it before",
                                   value,
                                   state.program.files.size()));
        }
        wants_file = !wants_file;
    });
    if (frames.empty() || !wants_file) {
        source.fail("not made of pairs; write [file, line, …], innermost first");
    }
    return frames;
}

void check_id(const ReaderState& state, const JsonFields& fields, std::size_t next) {
    const std::int64_t id = fields["id"].integer(0, kMaxInteger);
    if (id != static_cast<std::int64_t>(next)) {
        state.place.fail(fmt::format(
            "\"id\" is {}, the next one is {}; count from 0 in order of declaration", id, next));
    }
}

void read_header(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{
        JsonKey{"record"},
        JsonKey{"format"},
        JsonKey{"version"},
        JsonKey{"form"},
        optional_key("producer"),
        JsonKey{"target"},
        JsonKey{"kernel"},
        optional_key("source_sha256"),
        JsonKey{"api"},
        optional_key("cores"),
        optional_key("arguments"),
    };
    const Place::Part part(state.place, "header");
    const JsonFields fields(state.place, record, kKeys);
    if (fields["format"].text() != "nkt") {
        fields["format"].fail(fmt::format("{}, allowed is \"nkt\"; this is another kind of file",
                                          in_quotes(fields["format"].text())));
    }
    const std::int64_t version = fields["version"].integer(0, kMaxInteger);
    if (version != kVersion) {
        fields["version"].fail(
            fmt::format("{}, this program reads {}; write the trace again with its frontend",
                        version,
                        kVersion));
    }
    Header& header = state.program.header;
    header.form = fields["form"].choice(form_from_name, Form::Lowered);
    header.target = fields["target"].nonempty_text();
    header.kernel = fields["kernel"].nonempty_text();
    check_api(fields["api"]);
    header.api = fields["api"].text();
    if (fields.has("cores")) {
        header.cores = static_cast<std::int32_t>(fields["cores"].integer(1, kMaxCores));
    }
    if (fields.has("producer")) {
        header.producer = fields["producer"].text();
    }
    if (fields.has("source_sha256")) {
        read_sha256(fields["source_sha256"], header.source_sha256);
    }
    if (fields.has("arguments")) {
        fields["arguments"].for_each(
            [&header](const JsonValue& entry) { header.arguments.emplace_back(entry.text()); });
    }
    state.has_header = true;
}

void read_file_name(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{JsonKey{"record"}, JsonKey{"id"}, JsonKey{"path"}};
    const std::size_t next = state.program.files.size();
    const Place::Part part(state.place, "file", static_cast<std::int64_t>(next));
    const JsonFields fields(state.place, record, kKeys);
    check_id(state, fields, next);
    state.program.files.emplace_back(fields["path"].nonempty_text());
}

void read_buffer(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{
        JsonKey{"record"},
        JsonKey{"id"},
        JsonKey{"name"},
        JsonKey{"space"},
        optional_key("kind"),
        JsonKey{"dtype"},
        JsonKey{"shape"},
        optional_key("address"),
        optional_key("shared"),
        optional_key("source"),
    };
    const std::size_t next = state.program.buffers.size();
    const Place::Part part(state.place, "buffer", static_cast<std::int64_t>(next));
    if (state.is_lowered()) {
        state.place.fail(
            "a lowered trace has no buffers; give each operand \"space\" and "
            "\"address\", or write \"form\":\"program\"");
    }
    const JsonFields fields(state.place, record, kKeys);
    check_id(state, fields, next);
    Buffer buffer;
    buffer.name = fields["name"].nonempty_text();
    buffer.space = fields["space"].choice(space_from_name, Space::Psum);
    if (fields.has("kind")) {
        buffer.kind = fields["kind"].choice(buffer_kind_from_name, BufferKind::Constant);
    }
    check_kind(state, buffer);
    buffer.dtype = fields["dtype"].choice(dtype_from_name, Dtype::Bool);
    read_shape(state, fields["shape"], buffer);
    if (fields.has("address")) {
        read_address(state, fields["address"], buffer);
    }
    if (fields.has("shared")) {
        read_shared(state, fields["shared"], buffer);
    }
    buffer.source = read_source(state, fields);
    const bool is_argument = buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output;
    state.instances.push_back(is_argument ? 1 : 0);
    state.highest_uses.emplace_back();
    state.program.buffers.push_back(std::move(buffer));
}

void read_note(ReaderState& state, JsonObject record) {
    static constexpr std::array kKeys{
        JsonKey{"record"}, JsonKey{"kind"}, JsonKey{"text"}, optional_key("source")};
    const Place::Part part(state.place, "note");
    const JsonFields fields(state.place, record, kKeys);
    state.program.notes.push_back(
        {.kind = fields["kind"].choice(note_kind_from_name, NoteKind::Warning),
         .text = std::string(fields["text"].nonempty_text()),
         .source = read_source(state, fields)});
}

}  // namespace trnsim::program
