// Finds the source of a rule: in the folders that the editor names, or on the web.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

class JsonWriter;

// A line of a rule's file: "codegen/simplify.py" in tinygrad, or "passes/symbolic/simple.cpp" in tgc.
struct RulePlace {
  std::string file;
  int64_t line = 0;  // the first line is 1
};
// Returns the place that `text`, "FILE:LINE", names; a place without a file if `text` is anything else. The file is a
// relative path that ends in .py, .cpp or .h and has no other dot, because recordings are not trusted.
RulePlace parse_rule_place(std::string_view text);

// Returns the path of the place's file below one of `folders`: a checkout of tinygrad or tgc, or an installed package
// tinygrad. Returns "" if no folder has the file.
std::string file_of_rule(const RulePlace& place, const std::vector<std::string>& folders);
// Returns the address of the place in tinygrad's repository; "" if the place is in tgc, or if `producer` is no release
// such as "tinygrad 0.14.0".
std::string web_address(const RulePlace& place, std::string_view producer);

// Writes the lines of `places`, "FILE:LINE", in files of these folders, as locations of the protocol.
void write_rule_sources(JsonWriter& json, const std::vector<std::string>& places,
                        const std::vector<std::string>& folders);

// Return the path of a "file:" URI, "" for other URIs, and the URI of a path.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace tgc
