// SPDX-License-Identifier: Apache-2.0
// Names of the enumerations that only traces have.
#pragma once

#include "trnsim/isa/name_table.hpp"
#include "trnsim/program/program.hpp"

namespace trnsim::program {

inline constexpr NameTable<Form, 2> kFormNames{{"program", "lowered"}};
inline constexpr NameTable<BufferKind, 4> kBufferKindNames{
    {"internal", "input", "output", "constant"}};
inline constexpr NameTable<LoopKind, 5> kLoopKindNames{
    {"affine", "sequential", "static", "python", "runtime"}};
inline constexpr NameTable<NoteKind, 3> kNoteKindNames{{"assumption", "unsupported", "warning"}};

inline std::string_view name(Form form) {
    return kFormNames.name(form);
}
inline std::string_view name(BufferKind kind) {
    return kBufferKindNames.name(kind);
}
inline std::string_view name(LoopKind kind) {
    return kLoopKindNames.name(kind);
}
inline std::string_view name(NoteKind kind) {
    return kNoteKindNames.name(kind);
}
inline std::optional<Form> form_from_name(std::string_view name) {
    return kFormNames.find(name);
}
inline std::optional<BufferKind> buffer_kind_from_name(std::string_view name) {
    return kBufferKindNames.find(name);
}
inline std::optional<LoopKind> loop_kind_from_name(std::string_view name) {
    return kLoopKindNames.find(name);
}
inline std::optional<NoteKind> note_kind_from_name(std::string_view name) {
    return kNoteKindNames.find(name);
}

}  // namespace trnsim::program
