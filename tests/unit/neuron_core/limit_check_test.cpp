// SPDX-License-Identifier: Apache-2.0
// Tiles, types and features that a chip does not take, and the words in which it says so.
#include "instructions.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>

#include <array>

namespace trnsim::neuron_core {
namespace {

using test::chip;
using test::kBf16;
using test::kF32;
using test::kHbm;
using test::kPsum;
using test::kSbuf;
using test::make;
using test::matmul;
using test::tile;
using test::unary;
using testing::HasSubstr;
using testing::StartsWith;

InstructionTemplate on(Engine engine, InstructionTemplate instruction) {
    instruction.engines = {engine};
    return instruction;
}

void expect_accepted(const std::string& name, const InstructionTemplate& instruction) {
    EXPECT_NO_THROW(check_limits(chip(name), instruction, "k.py:7"));
}

void expect_rejected(const ChipSpec& spec,
                     const InstructionTemplate& instruction,
                     const std::string& words) {
    try {
        check_limits(spec, instruction, "k.py:7");
        ADD_FAILURE() << "accepted, expected: " << words;
    } catch (const ProgramError& error) {
        EXPECT_THAT(error.what(), StartsWith("k.py:7: "));
        EXPECT_THAT(error.what(), HasSubstr(words));
    }
}

void expect_rejected(const std::string& name,
                     const InstructionTemplate& instruction,
                     const std::string& words) {
    expect_rejected(chip(name), instruction, words);
}

InstructionTemplate mm(Dtype dtype,
                       std::int64_t n,
                       std::int64_t columns = 128,
                       std::int32_t rows = 128) {
    return on(Engine::Tensor, matmul(dtype, n, columns, rows));
}

InstructionTemplate vector_copy(Space from,
                                Space to,
                                std::int64_t n,
                                std::int32_t partitions = 128) {
    return on(Engine::Vector,
              make(Opcode::TensorCopy,
                   {tile(Role::Dst, to, kF32, n, partitions),
                    tile(Role::Data, from, kF32, n, partitions)}));
}

InstructionTemplate dma(const Operand& dst, const Operand& src, DgeMode mode = DgeMode::Auto) {
    Attributes attributes;
    attributes.dge = mode;
    return on(Engine::Dma, make(Opcode::DmaCopy, {dst, src}, attributes));
}

TEST(MatmulLimits, AcceptFullTiles) {
    for (const char* name : {"inf2", "trn1", "trn2", "trn3"}) {
        expect_accepted(name, mm(kBf16, 512));
        expect_accepted(name, mm(kF32, 1, 1, 1));
    }
}

TEST(MatmulLimits, RejectStationaryTilesOverThePeArray) {
    expect_rejected("trn2",
                    mm(kBf16, 512, 129),
                    "stationary tile is 128x129, but the PE array is 128x128; split the tile");
}

TEST(MatmulLimits, RejectContractionsOverThePeArray) {
    expect_rejected("trn2",
                    mm(kBf16, 512, 128, 129),
                    "stationary tile is 129x128, but the PE array is 128x128; split the tile");
}

TEST(MatmulLimits, RejectMovingTilesOverTheGenerationsSize) {
    expect_rejected("trn2",
                    mm(kBf16, 513),
                    "moving tile has 513 columns, but trn2 takes up to 512 for float32 results");
    expect_accepted("trn3", mm(kBf16, 4096));
    expect_rejected(
        "trn3", mm(kBf16, 4097), "moving tile has 4097 columns, but trn3 takes up to 4096");
}

TEST(MatmulLimits, RejectResultsThatSpanAPsumBankBeforeTrn3) {
    InstructionTemplate strided = mm(kBf16, 512);
    strided.operands[0] = tile(Role::Dst, kPsum, kF32, 512, 128, 2);
    expect_rejected("trn2",
                    strided,
                    "dst spans 4092 bytes of a PSUM partition, but on trn2 one "
                    "matmul writes within a bank of 2048 bytes");
    expect_accepted("trn3", strided);
}

TEST(MatmulLimits, RejectMixed32BitAnd16Bit) {
    InstructionTemplate mixed = mm(kF32, 512);
    mixed.operands[2].dtype = kBf16;
    expect_rejected("trn2",
                    mixed,
                    "stationary is float32 and moving bfloat16, but 32-bit types "
                    "multiply only with each other; cast one of them");
    mixed.operands[2].dtype = Dtype::Tfloat32;
    expect_accepted("trn2", mixed);
}

TEST(MatmulLimits, RejectContractionsOfDifferentSize) {
    InstructionTemplate uneven = mm(kBf16, 512);
    uneven.operands[2].partitions = 64;
    expect_rejected("trn2", uneven, "stationary has 128 partitions and moving 64");
}

TEST(MatmulLimits, RejectResultsOfAnotherSize) {
    InstructionTemplate small = mm(kBf16, 512);
    small.operands[0] = tile(Role::Dst, kPsum, kF32, 256);
    expect_rejected("trn2", small, "dst is 128x256, but the result is 128x512");
}

TEST(MatmulLimits, RejectOperandsInTheWrongMemory) {
    InstructionTemplate misplaced = mm(kBf16, 512);
    misplaced.operands[2].space = kPsum;
    expect_rejected("trn2", misplaced, "operand moving is in PSUM, but the PE array reads SBUF");
    misplaced = mm(kBf16, 512);
    misplaced.operands[0].space = kSbuf;
    expect_rejected("trn2", misplaced, "dst is in SBUF, but the PE array writes PSUM");
}

TEST(MatmulLimits, RejectBf16AccumulationBeforeTrn3) {
    InstructionTemplate accumulating = mm(kBf16, 512);
    accumulating.operands[0].dtype = kBf16;
    expect_accepted("trn2", accumulating);
    accumulating.attributes.start = false;
    expect_rejected(
        "trn2", accumulating, "accumulates bfloat16 in PSUM, which runs on trn3, not on trn2");
    expect_accepted("trn3", accumulating);
}

InstructionTemplate double_row(Dtype dtype) {
    InstructionTemplate pair = mm(dtype, 1024, 256);
    pair.operands[0] = tile(Role::Dst, kPsum, kF32, 512);
    pair.attributes.perf_mode = MatmulPerfMode::DoubleRow;
    return pair;
}

TEST(MatmulLimits, OfDoubleRow) {
    expect_accepted("trn2", double_row(Dtype::Float8E5m2));
    expect_rejected("trn1",
                    double_row(Dtype::Float8E5m2),
                    "perf_mode double_row runs on trn2 and trn3, not on trn1");
    expect_rejected("trn2", double_row(kBf16), "but double_row takes FP8 types");
    InstructionTemplate transposed = double_row(Dtype::Float8E5m2);
    transposed.attributes.is_transpose = true;
    expect_rejected("trn2", transposed, "double_row does not transpose");
    InstructionTemplate tiled = double_row(Dtype::Float8E5m2);
    tiled.operands[0] = tile(Role::Dst, kPsum, kF32, 512, 64);
    tiled.operands[1] = tile(Role::Stationary, kSbuf, Dtype::Float8E5m2, 128);
    tiled.attributes.tile_size = {128, 64};
    expect_rejected("trn2", tiled, "double_row does not go with column tiles");
}

TEST(MatmulLimits, OfMx) {
    InstructionTemplate mx = mm(Dtype::Float8E5m2X4, 512);
    mx.op = Opcode::NcMatmulMx;
    expect_accepted("trn3", mx);
    expect_rejected("trn2", mx, "nc_matmul_mx runs on trn3, not on trn2; choose another chip");
    ChipSpec without = chip("trn3");
    without.neuron_core.tensor_engine.mx_rows_per_pe = 0;
    expect_rejected(without, mx, "nc_matmul_mx is switched off by mx_rows_per_pe of trn3");
    InstructionTemplate odd = mm(Dtype::Float8E5m2X4, 512, 127);
    odd.op = Opcode::NcMatmulMx;
    expect_rejected("trn3", odd, "but nc_matmul_mx takes a multiple of 32 partitions");
    InstructionTemplate plain = mm(Dtype::Float8E5m2, 512);
    plain.op = Opcode::NcMatmulMx;
    expect_rejected("trn3", plain, "but nc_matmul_mx takes packed _x4 types");
    InstructionTemplate tiled = mm(Dtype::Float8E5m2X4, 512, 128, 64);
    tiled.op = Opcode::NcMatmulMx;
    tiled.attributes.tile_position = {64, 0};
    tiled.attributes.tile_size = {64, 128};
    expect_accepted("trn3", tiled);
    tiled.attributes.tile_size = {32, 128};
    expect_rejected("trn3", tiled, "stationary uses 64 rows, but its tile has 32");
}

InstructionTemplate sparse(Dtype dtype, std::int64_t ratio = 4) {
    InstructionTemplate product = mm(dtype, 512 * ratio);
    product.op = Opcode::NcMatmulSparse;
    product.attributes.compress_ratio = ratio;
    product.operands[0] = tile(Role::Dst, kPsum, kF32, 512);
    product.operands.push_back(tile(Role::Tags, kSbuf, Dtype::Uint16, 32));
    return product;
}

TEST(MatmulLimits, OfSparsity) {
    expect_accepted("trn2", sparse(kBf16, 2));
    expect_accepted("trn2", sparse(Dtype::Tfloat32, 3));
    expect_accepted("trn3", sparse(kBf16));
    expect_rejected("trn1", sparse(kBf16), "nc_matmul_sparse runs on trn2 and trn3, not on trn1;");
    ChipSpec changed = chip("trn2");
    changed.neuron_core_version = NeuronCoreVersion::V2;
    expect_rejected(changed,
                    sparse(kBf16),
                    "nc_matmul_sparse runs on trn2 and trn3, not on trn2 with "
                    "neuron_core_version=2; choose another chip or leave it out");
    expect_rejected("trn2", sparse(kBf16, 1), "compress_ratio is 1, but trn2 takes 2 to 4");
    expect_rejected("trn2", sparse(kBf16, 5), "compress_ratio is 5, but trn2 takes 2 to 4");
    expect_accepted("trn2", sparse(Dtype::Float8E5m2));
    expect_rejected("trn3",
                    sparse(Dtype::Float8E5m2),
                    "stationary is float8_e5m2, but nc_matmul_sparse of trn3 takes 16-bit and TF32 "
                    "types; cast it or use nc_matmul");
    expect_rejected("trn2", sparse(kF32), "takes FP8, 16-bit and TF32 types");
    InstructionTemplate wide = sparse(kBf16);
    wide.operands.back().dtype = Dtype::Int32;
    expect_rejected("trn2", wide, "tags are int32, but four of 4 bits are packed in a uint16");
    InstructionTemplate longer = sparse(kBf16);
    longer.operands[0] = tile(Role::Dst, kPsum, kF32, 513);
    longer.operands[2] = tile(Role::Moving, kSbuf, kBf16, 4 * 513L);
    expect_rejected("trn2", longer, "moving tile has 513 columns, but trn2 takes up to 512");
    ChipSpec dense = chip("trn2");
    dense.neuron_core.tensor_engine.sparse_rows_per_pe = 0;
    expect_rejected(
        dense, sparse(kBf16), "nc_matmul_sparse is switched off by sparse_rows_per_pe of trn2");
}

TEST(MatmulLimits, OfTiles) {
    const auto tiled = [](std::array<std::int32_t, 2> size, std::array<std::int32_t, 2> position) {
        InstructionTemplate instruction = mm(kBf16, 512, 32, 32);
        instruction.attributes.tile_size = size;
        instruction.attributes.tile_position = position;
        return instruction;
    };
    expect_accepted("trn2", tiled({32, 64}, {96, 64}));
    expect_rejected(
        "trn1",
        tiled({32, 128}, {0, 0}),
        "row tile size is 32, but trn1 tiles its array by powers of two from 64 to 128");
    expect_rejected("trn2", tiled({48, 128}, {0, 0}), "row tile size is 48");
    expect_rejected("trn2", tiled({64, 128}, {32, 0}), "row tile starts at 32");
    expect_rejected("trn2", tiled({64, 64}, {64, 128}), "column tile starts at 128");
    InstructionTemplate wide = mm(kBf16, 512, 128, 32);
    wide.attributes.tile_size = {32, 64};
    expect_rejected("trn2", wide, "stationary uses 128 columns, but its tile has 64");
}

TEST(TransposeLimits, AcceptBothEnginesOutputs) {
    expect_accepted("trn2", on(Engine::Tensor, test::transpose(kBf16, 128)));
    const auto blocks =
        make(Opcode::NcTranspose,
             {tile(Role::Dst, kSbuf, kF32, 32, 32), tile(Role::Data, kSbuf, kF32, 32, 32)});
    expect_accepted("trn2", on(Engine::Vector, blocks));
    expect_rejected("trn2",
                    on(Engine::Tensor, blocks),
                    "nc_transpose with these operands does not run on the tensor engine of trn2; "
                    "use the vector engine");
}

TEST(MemoryLimits, RejectWhatDoesNotFitAPartition) {
    expect_accepted("trn1", vector_copy(kSbuf, kSbuf, 192L * 256));
    expect_rejected("trn1",
                    vector_copy(kSbuf, kSbuf, 192L * 256 + 1),
                    "operand dst spans 196612 bytes of a partition, but a partition of SBUF has "
                    "196608 bytes; split the tile");
    expect_accepted("trn2", vector_copy(kSbuf, kSbuf, 192L * 256 + 1));
    expect_rejected("trn2", vector_copy(kPsum, kSbuf, 4097), "but a partition of PSUM has 16384");
    expect_rejected("trn2", vector_copy(kSbuf, kSbuf, 8, 129), "spans 129 partitions");
}

TEST(MemoryLimits, RejectComputeOnHbmAndDmaOnPsum) {
    InstructionTemplate from_hbm = vector_copy(kSbuf, kSbuf, 64);
    from_hbm.operands[1].space = kHbm;
    expect_rejected(
        "trn2", from_hbm, "operand data is in HBM, but tensor_copy works on SBUF and PSUM");
    expect_rejected("trn2",
                    dma(tile(Role::Dst, kPsum, kF32, 64), tile(Role::Src, kHbm, kF32, 128L * 64)),
                    "operand dst is in PSUM, but DMA reaches SBUF and HBM only");
}

TEST(MemoryLimits, RejectTwoInputsInPsum) {
    const auto add = on(Engine::Vector,
                        make(Opcode::TensorTensor,
                             {tile(Role::Dst, kSbuf, kF32, 64),
                              tile(Role::Data1, kPsum, kF32, 64),
                              tile(Role::Data2, kPsum, kF32, 64)}));
    expect_rejected("trn2", add, "operands data1 and data2 are both in PSUM");
    auto scaled = unary(Opcode::TensorScalar, kPsum, kF32, kSbuf, kF32, 64);
    scaled.operands.push_back(tile(Role::Operand0, kPsum, kF32, 1));
    scaled.operands.push_back(tile(Role::Operand1, kPsum, kF32, 1));
    expect_accepted("trn2", on(Engine::Vector, scaled));
}

TEST(GenerationLimits, RejectOperationsAndTypesBeforeTheirChip) {
    expect_rejected("trn1",
                    on(Engine::Vector, unary(Opcode::RangeSelect, kSbuf, kF32, kSbuf, kF32, 64)),
                    "range_select runs on trn2 and trn3, not on trn1");
    expect_rejected("trn2",
                    mm(Dtype::Float8E4m3fn, 512),
                    "operand stationary of type float8_e4m3fn runs on trn3, not on trn2");
    expect_accepted("trn3", mm(Dtype::Float8E4m3fn, 512));
}

TEST(GenerationLimits, LetDmaMoveElementsOfAnyType) {
    for (const Dtype type : {Dtype::Float8E4m3fn, Dtype::Float8E5m2X4}) {
        expect_accepted("trn2",
                        dma(tile(Role::Dst, kSbuf, type, 64),
                            tile(Role::Src, kHbm, type, 128L * 64),
                            DgeMode::Hardware));
    }
}

TEST(ElementWiseLimits, OfSingleOperations) {
    const auto simple =
        [](Engine engine, Opcode op, std::int64_t n, std::int32_t partitions = 128) {
            InstructionTemplate instruction = unary(op, kSbuf, kF32, kSbuf, kF32, n);
            for (Operand& operand : instruction.operands) {
                operand.partitions = partitions;
            }
            return on(engine, instruction);
        };
    expect_accepted("trn2", simple(Engine::Vector, Opcode::BnStats, 512));
    expect_rejected("trn2", simple(Engine::Vector, Opcode::BnStats, 513), "takes up to 512");
    expect_rejected("trn2", simple(Engine::Vector, Opcode::BnAggr, 7), "takes a multiple of 3");
    expect_rejected("trn2", simple(Engine::Vector, Opcode::Max8, 7), "takes 8 to 16384");
    expect_rejected("trn2", simple(Engine::Vector, Opcode::Max8, 16385), "takes 8 to 16384");
    expect_accepted("trn2", simple(Engine::Vector, Opcode::Max8, 8));
    expect_rejected("trn3", simple(Engine::Vector, Opcode::QuantizeMx, 64, 16), "a multiple of 32");
    expect_rejected("trn3", simple(Engine::Vector, Opcode::QuantizeMx, 66), "a multiple of 4");
    expect_rejected("trn2", simple(Engine::Gpsimd, Opcode::Topk, 64, 24), "a multiple of 16");
    expect_rejected("trn2", simple(Engine::Gpsimd, Opcode::SequenceBounds, 64), "takes 1");
    InstructionTemplate gather = simple(Engine::Gpsimd, Opcode::LocalGather, 64);
    gather.attributes.elements_per_index = 3;
    expect_rejected("trn2", gather, "elements_per_index is 3, allowed are 1, 2, 4, 8, 16 and 32");
}

TEST(DmaLimits, RejectTransfersThatDoNotAddUp) {
    expect_rejected("trn2",
                    dma(tile(Role::Dst, kSbuf, kF32, 64), tile(Role::Src, kHbm, kF32, 128L * 63)),
                    "src has 8064 elements and dst 8192");
}

TEST(DmaLimits, OfDescriptorGeneration) {
    const Operand dst = tile(Role::Dst, kSbuf, kF32, 64);
    const Operand src = tile(Role::Src, kHbm, kF32, 128L * 64);
    expect_accepted("trn2", dma(dst, src, DgeMode::Hardware));
    expect_rejected("trn1",
                    dma(dst, src, DgeMode::Hardware),
                    "hardware descriptor generation is not on trn1, only on trn2 and trn3; choose "
                    "another dge mode");
    ChipSpec changed = chip("trn2");
    changed.neuron_core.dge.hardware.available = false;
    expect_rejected(changed,
                    dma(dst, src, DgeMode::Hardware),
                    "hardware descriptor generation is not on this trn2 "
                    "(neuron_core.dge.hardware.available); choose another dge mode");
    InstructionTemplate by_vector = dma(dst, src, DgeMode::Hardware);
    by_vector.attributes.trigger = Engine::Vector;
    expect_rejected("trn2",
                    by_vector,
                    "vector cannot trigger a DMA with hardware descriptor generation; sync and "
                    "scalar can");
    by_vector.attributes.dge = DgeMode::Software;
    expect_rejected("trn2",
                    by_vector,
                    "vector cannot trigger a DMA with software descriptor generation; gpsimd can");
    by_vector.attributes.dge = DgeMode::Auto;
    expect_accepted("trn2", by_vector);
    Operand narrow = src;
    narrow.dtype = kBf16;
    expect_rejected(
        "trn2",
        dma(dst, narrow, DgeMode::Hardware),
        "src is bfloat16 and dst float32, but hardware descriptor generation does not cast");
    expect_accepted("trn2", dma(dst, narrow));
    InstructionTemplate indexed = dma(dst, src, DgeMode::Hardware);
    indexed.operands.push_back(tile(Role::Index, kSbuf, Dtype::Uint32, 1));
    expect_accepted("trn2", indexed);
    indexed.operands.back() = tile(Role::Index, kSbuf, Dtype::Uint32, 2);
    expect_rejected("trn2", indexed, "an indexed transfer needs software descriptor generation");
    indexed.operands.insert(indexed.operands.end() - 1, tile(Role::Index, kSbuf, Dtype::Uint32, 1));
    expect_rejected("trn2", indexed, "an indexed transfer needs software descriptor generation");
}

TEST(ExchangeLimits, GpsimdDmaMovesUpTo1024BytesOfFourByteElements) {
    const auto swap = [](Dtype dtype, std::int64_t elements) {
        InstructionTemplate exchange =
            make(Opcode::Sendrecv,
                 {tile(Role::Dst, kSbuf, dtype, elements), tile(Role::Src, kSbuf, dtype, elements)},
                 {.gpsimd_dma = true});
        exchange.engines = {Engine::Dma};
        return exchange;
    };
    expect_accepted("trn2", swap(Dtype::Float32, 256));
    expect_rejected("trn2",
                    swap(Dtype::Float32, 257),
                    "dst is 1028 bytes per partition, but the GpSimd engine's DMA moves up to 1024 "
                    "of float32; split the tile or leave gpsimd_dma out");
    expect_accepted("trn2", swap(Dtype::Bfloat16, 256));
    expect_rejected("trn2", swap(Dtype::Bfloat16, 257), "moves up to 512 of bfloat16");
}

TEST(EngineLimits, NameTheEnginesThatCan) {
    expect_rejected(
        "trn2",
        on(Engine::Gpsimd, vector_copy(kPsum, kSbuf, 64)),
        "tensor_copy with these operands does not run on the gpsimd engine of trn2; use "
        "the vector or scalar engine");
}

TEST(EngineLimits, OneAbleEngineOfSeveralIsEnough) {
    InstructionTemplate copy = vector_copy(kPsum, kSbuf, 64);
    copy.engines = {Engine::Gpsimd, Engine::Scalar};
    expect_accepted("trn2", copy);
}

}  // namespace
}  // namespace trnsim::neuron_core
