// SPDX-License-Identifier: Apache-2.0
// A result as a flat list of values with the keys by which two results are joined.
#include "flat_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace trnsim::report {
namespace {

using Json = ResultFile::Json;

/// Collects values; the position of each key is remembered to sum repeated ones.
class Collector {
public:
    explicit Collector(const ResultFile& result) : result_(result) {}

    void add(FlatKey key, const Json& value) {
        const auto [found, is_new] = position_.try_emplace(key, values_.size());
        if (is_new) {
            values_.emplace_back(std::move(key), value);
        } else if (Json& sum = values_[found->second].second;
                   sum.is_number() && value.is_number()) {
            sum = sum.get<double>() + value.get<double>();
        }
    }

    /// Members of an object as keys; members of its members, and elements of its lists, as fields.
    void add_object(const std::string& section, const Json& object) {
        for (const auto& [key, value] : object.items()) {
            if (value.is_object()) {
                add_fields(section, key, value);
            } else if (value.is_primitive()) {
                add({section, key, ""}, value);
            } else {
                add_numbers(section, key, value);
            }
        }
    }

    /// Primitive elements of a list as fields of one key, by their position.
    void add_numbers(const std::string& section, const std::string& key, const Json& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].is_primitive()) {
                add({section, key, std::to_string(i)}, list[i]);
            }
        }
    }

    /// Members of an object as fields of one key; of an object within it, "outer: inner".
    void add_fields(const std::string& section, const std::string& key, const Json& object) {
        for (const auto& [field, value] : object.items()) {
            if (value.is_object()) {
                for (const auto& [inner, inner_value] : value.items()) {
                    add({section, key, fmt::format("{}: {}", field, inner)}, inner_value);
                }
            } else if (value.is_primitive()) {
                add({section, key, field}, value);
            }
        }
    }

    /// Elements of a list of objects; `key_of` gives the key of the element at a pointer, from
    /// members that are not compared.
    template <typename KeyOf>
    void add_list(const std::string& pointer, const std::vector<std::string>& names, KeyOf key_of) {
        const std::string section = pointer.substr(1, pointer.find('/', 1) - 1);
        const std::size_t size = result_.json().at(Json::json_pointer(pointer)).size();
        for (std::size_t i = 0; i < size; ++i) {
            const std::string place = fmt::format("{}/{}", pointer, i);
            const std::string key = key_of(place);
            Json rest = result_.json().at(Json::json_pointer(place));
            for (const std::string& name : names) {
                rest.erase(name);
            }
            add_fields(section, key, rest);
        }
    }

    void add_texts(const std::string& section) {
        for (const std::string& text : result_.texts("/" + section)) {
            add({section, text, ""}, Json(true));
        }
    }

    [[nodiscard]] FlatValues take() { return std::move(values_); }

private:
    const ResultFile& result_;
    FlatValues values_;
    std::map<FlatKey, std::size_t> position_;
};

}  // namespace

FlatValues flat_values(const ResultFile& result) {
    const Json& json = result.json();
    Collector collector(result);
    for (const char* key : {"trnsim_version", "chip", "kernel", "input", "api", "source_sha256"}) {
        collector.add({"subject", key, ""}, json.at(key));
    }
    collector.add({"subject", "arguments", ""},
                  Json(fmt::format("{}", fmt::join(result.texts("/arguments"), ", "))));
    Json run = json.at("run");
    collector.add({"subject", "method", ""}, result.text("/run/method"));
    run.erase("method");
    collector.add({"subject", "neuron_cores", ""}, Json(json.at("cores").size()));
    for (const char* section :
         {"config", "policies", "summary", "roofline", "engines", "dma", "memory"}) {
        collector.add_object(section, json.at(section));
    }
    collector.add_object("run", run);
    if (json.at("dma").contains("rings")) {
        collector.add_list("/dma/rings", {"ring"}, [&result](const std::string& place) {
            return fmt::format("ring {:.0f}", result.number(place + "/ring"));
        });
    }
    collector.add_list(
        "/attribution", {"source", "op", "engine"}, [&result](const std::string& place) {
            return fmt::format("{} {} ({})",
                               result.text(place + "/source"),
                               result.text(place + "/op"),
                               result.text(place + "/engine"));
        });
    collector.add_list("/critical_path", {"what"}, [&result](const std::string& place) {
        return result.text(place + "/what");
    });
    if (json.contains("compiler") && json.at("compiler").is_object()) {
        Json counts = json.at("compiler");
        for (const char* key : {"policies", "buffers", "left_alone"}) {
            counts.erase(key);
        }
        collector.add_object("compiler", counts);
    }
    collector.add_texts("warnings");
    collector.add_texts("assumptions");
    return collector.take();
}

}  // namespace trnsim::report
