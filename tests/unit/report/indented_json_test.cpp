// SPDX-License-Identifier: Apache-2.0
// Every value is spelled as nlohmann::json spells it.
#include "../../../src/report/indented_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace trnsim::report {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
std::string text_of(const T& item) {
    IndentedJson json;
    json.value(item);
    return json.text();
}

TEST(IndentedJsonTest, SpellsNumbersAsNlohmannDoes) {
    constexpr std::array kNumbers{0.0,
                                  -0.0,
                                  1.0,
                                  -3.0,
                                  0.1,
                                  1e-5,
                                  123456.789,
                                  999999999999999.0,
                                  1e15,
                                  1e22,
                                  -1e300,
                                  std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()};
    for (const double number : kNumbers) {
        EXPECT_EQ(text_of(number), Json(number).dump());
    }
    EXPECT_EQ(text_of(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(text_of(true), "true");
}

TEST(IndentedJsonTest, EscapesStringsAsNlohmannDoes) {
    for (const std::string text :
         {"", "plain text", "a \"quote\"", "back\\slash", "\n\x01", "µs"}) {
        EXPECT_EQ(text_of(text), Json(text).dump());
    }
    EXPECT_EQ(text_of(std::string("no \xFF UTF-8")), "\"no \xEF\xBF\xBD UTF-8\"");
}

TEST(IndentedJsonTest, IndentsAsNlohmannDoes) {
    const Json tree{{"empty", Json::object()},
                    {"none", Json::array()},
                    {"list", {1, 2}},
                    {"inner", {{"a", nullptr}, {"b", {{"c", 0.5}}}}}};
    IndentedJson json;
    json.object([&] {
        json.key("empty").object([] {});
        json.key("none").array(std::vector<int>{}, [](int) {});
        json.key("list").array(std::vector{1, 2}, [&json](int item) { json.value(item); });
        json.key("inner").raw(tree["inner"].dump(1));
    });
    EXPECT_EQ(json.text(), tree.dump(1));
}

}  // namespace
}  // namespace trnsim::report
