// SPDX-License-Identifier: Apache-2.0
// Immutable numbers of one Scalar Engine (Activation).
#pragma once

#include "trnsim/base/units.hpp"

namespace trnsim {

/// One Scalar Engine: one element per partition and cycle, a function table that must be loaded,
/// and an accumulator that takes an instruction of its own to read.
struct ScalarEngineSpec {
    Gigahertz clock_ghz{1.2};
    Cycles issue_overhead_sbuf_cycles{110};  ///< Source in SBUF.
    Cycles issue_overhead_psum_cycles{60};   ///< Source in PSUM.
    Cycles activation_completion_sbuf_cycles{235};
    Cycles activation_completion_psum_cycles{202};
    Cycles copy_completion_sbuf_cycles{228};
    Cycles copy_completion_psum_cycles{190};
    Cycles vector_operand_cycles{109};     ///< Per [P,1] operand, an implicit bias included.
    bool implicit_bias = true;             ///< Functions other than copy read a bias pointer.
    double copy_rate_16bit = 1.0;          ///< Elements per cycle of 16-bit copies (v4: 2).
    bool runs_copies = true;               ///< tensor_copy and tensor_scalar (v3 and later).
    Picoseconds table_load_ns{1'283'000};  ///< ACT_TABLE_LOAD at a change of function set.
    Cycles accumulator_ready_cycles{241};  ///< Issue of N elements to accumulator readable, less N.
    Cycles read_accumulator_issue_cycles{222};
    Cycles read_accumulator_completion_cycles{335};
};

}  // namespace trnsim
