// SPDX-License-Identifier: Apache-2.0
// Since which NeuronCore generation an operation or a type exists.
#include "generations.hpp"

namespace trnsim::neuron_core {

NeuronCoreVersion first_generation(Opcode op) {
    switch (op) {
        case Opcode::NcMatmulSparse:
        case Opcode::RangeSelect:
        case Opcode::RandGetState:
        case Opcode::RandSetState:
        case Opcode::NonzeroWithCount:
        case Opcode::Topk:
        case Opcode::CoreBarrier:
        case Opcode::Sendrecv:
            return NeuronCoreVersion::V3;
        case Opcode::NcMatmulMx:
        case Opcode::Exponential:
        case Opcode::Activate2:
        case Opcode::Rand2:
        case Opcode::QuantizeMx:
            return NeuronCoreVersion::V4;
        default:
            return NeuronCoreVersion::V2;
    }
}

NeuronCoreVersion first_generation(Dtype dtype) {
    switch (dtype) {
        case Dtype::Float8E4m3fn:
        case Dtype::Float8E5m2X4:
        case Dtype::Float8E4m3fnX4:
        case Dtype::Float4E2m1fnX4:
        case Dtype::Float8E8m0:
            return NeuronCoreVersion::V4;
        default:
            return NeuronCoreVersion::V2;
    }
}

std::string_view chips_since(NeuronCoreVersion version) {
    switch (version) {
        case NeuronCoreVersion::V4:
            return "trn3";
        case NeuronCoreVersion::V3:
            return "trn2 and trn3";
        default:
            return "inf2, trn1, trn2 and trn3";
    }
}

}  // namespace trnsim::neuron_core
