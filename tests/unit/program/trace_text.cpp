// SPDX-License-Identifier: Apache-2.0
// The sample traces of the reader's tests.
#include "trace_text.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/program/reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

namespace trnsim::program {

Program read_text(const std::string& text) {
    std::istringstream input(text);
    return read(input, "t.nkt");
}

std::string error_of(const std::string& text) {
    try {
        static_cast<void>(read_text(text));
    } catch (const TraceError& error) {
        return error.what();
    }
    return "no error";
}

std::string edited(std::string text, std::string_view from, std::string_view to) {
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << "not in the sample: " << from;
    if (place != std::string::npos) {
        EXPECT_EQ(text.find(from, place + 1), std::string::npos) << "twice in the sample: " << from;
        text.replace(place, from.size(), to);
    }
    return text;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

std::string sample() {
    return R"({"record":"header","format":"nkt","version":1,"form":"program","producer":"test","target":"trn2","kernel":"sample","api":"trace","arguments":["bfloat16[256,512]"]}
{"record":"file","id":0,"path":"kernel.py"}
{"record":"file","id":1,"path":"library.py"}
{"record":"buffer","id":0,"name":"input","space":"hbm","kind":"input","dtype":"bfloat16","shape":[256,512]}
{"record":"buffer","id":1,"name":"tile","space":"sbuf","dtype":"bfloat16","shape":[128,512],"source":[1,7,0,41]}
{"record":"buffer","id":2,"name":"sums","space":"psum","dtype":"float32","shape":[128,512],"address":[0,2048]}
{"record":"template","id":0,"op":"dma_copy","engines":["dma"],"operands":[{"role":"dst","access":"write","buffer":1,"partitions":128,"pattern":[[1,512]]},{"role":"src","access":"read","buffer":0,"pattern":[[512,128],[1,512]]}],"source":[0,42]}
{"record":"template","id":1,"op":"activation","engines":["scalar"],"operands":[{"role":"dst","access":"update","buffer":2,"partitions":128,"pattern":[[1,256]]},{"role":"data","access":"read","buffer":1,"partitions":128,"pattern":[[2,256]]},{"role":"reduce_result","access":"write","buffer":2,"partitions":128,"pattern":[]}],"attributes":{"function":"exp","reduce_op":"add"}}
{"record":"loop","index":"m","count":2,"kind":"affine","source":[0,40]}
{"record":"alloc","buffer":1}
{"record":"alloc","buffer":2}
{"record":"run","template":0,"at":[{"instance":{"m":1}},{"offset":{"m":65536}}]}
{"record":"run","template":1,"at":[{"instance":{"m":1}},{"instance":{"m":1},"offset":1},{"instance":{"m":1},"offset":511}]}
{"record":"end"}
{"record":"summary","instructions":4}
)";
}

std::string lowered_sample() {
    return R"({"record":"header","format":"nkt","version":1,"form":"lowered","target":"trn2","kernel":"sample","api":"trace"}
{"record":"template","id":0,"op":"dma_copy","engines":["dma"],"operands":[{"role":"dst","access":"write","space":"sbuf","dtype":"float32","partitions":32,"pattern":[[1,512]]},{"role":"src","access":"read","space":"hbm","dtype":"float32","pattern":[[1,16384]]}],"attributes":{"dge":"none"},"ring":3}
{"record":"template","id":1,"op":"tensor_copy","engines":["vector"],"operands":[{"role":"dst","access":"write","space":"psum","dtype":"float32","partitions":32,"pattern":[[1,512]]},{"role":"data","access":"read","space":"sbuf","dtype":"float32","partitions":32,"pattern":[[-1,512]]}]}
{"record":"loop","index":"i","count":3,"kind":"sequential"}
{"record":"run","template":0,"at":[{"address":2048,"partition":{"i":32}},{"address":{"i":65536}}],"signal":[{"semaphore":17,"add":16}]}
{"record":"run","template":1,"at":[{"partition":32},{"address":4092}],"wait":[{"semaphore":17,"at_least":{"base":16,"i":16}}],"signal":[{"semaphore":4,"add":1,"when":"read"},{"semaphore":5,"add":2}]}
{"record":"end"}
{"record":"summary","instructions":6}
)";
}

std::string around_template(std::string_view op,
                            std::string_view engines,
                            std::string_view operands,
                            std::string_view attributes) {
    return fmt::format(
        R"({{"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"one","api":"trace"}}
{{"record":"buffer","id":0,"name":"h","space":"hbm","dtype":"float32","shape":[1048576]}}
{{"record":"buffer","id":1,"name":"s","space":"sbuf","dtype":"float32","shape":[128,32768]}}
{{"record":"buffer","id":2,"name":"p","space":"psum","dtype":"float32","shape":[128,4096]}}
{{"record":"template","id":0,"op":"{}","engines":[{}],"operands":[{}]{}}}
{{"record":"summary","instructions":0}}
)",
        op,
        engines,
        operands,
        attributes.empty() ? "" : fmt::format(",\"attributes\":{{{}}}", attributes));
}

std::string with_memset_run(std::string_view value, std::string_view rest) {
    return fmt::format(
        R"({{"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"one","api":"trace"}}
{{"record":"buffer","id":0,"name":"s","space":"sbuf","dtype":"float32","shape":[128,64]}}
{{"record":"template","id":0,"op":"memset","engines":["vector"],"operands":[{}],"attributes":{{"value":{}}}}}
{{"record":"alloc","buffer":0}}
{{"record":"loop","index":"m","count":2,"kind":"affine"}}
{{"record":"run","template":0,"at":[{{}}]{}}}
{{"record":"end"}}
{{"record":"summary","instructions":2}}
)",
        edited(dst('s', 128, 64), "\"buffer\":1", "\"buffer\":0"),
        value,
        rest);
}

std::string fault_of(const std::string& text) {
    const std::string message = error_of(text);
    const std::string place = "t.nkt:5: template 0 ";
    return message.starts_with(place) ? message.substr(place.size()) : message;
}

std::string operand(
    std::string_view role, char space, int partitions, int elements, std::string_view access) {
    const std::string on_chip = space == 'h' ? "" : fmt::format("\"partitions\":{},", partitions);
    return fmt::format(R"({{"role":"{}","access":"{}","buffer":{},{}"pattern":[[1,{}]]}})",
                       role,
                       access,
                       space == 'h'   ? 0
                       : space == 's' ? 1
                                      : 2,
                       on_chip,
                       elements);
}

std::string dst(char space, int partitions, int elements) {
    return operand("dst", space, partitions, elements, "write");
}

}  // namespace trnsim::program
