#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

class JsonWriter;

// A line of a file such as "codegen/simplify.py" of tinygrad or "passes/symbolic/simple.cpp" of tgc.
struct RuleLocation {
  std::string file;
  int64_t line = 0;  // from 1
};
// Parses "FILE:LINE"; returns an empty place for another text. Because recordings are not trusted, FILE must be a
// relative path of letters, digits, underscores and slashes that ends in .py, .cpp or .h.
RuleLocation parse_rule_location(std::string_view text);

// Returns the path of the file in one of `folders`, such as a checkout of tinygrad, or "".
std::string find_rule_file(const RuleLocation& place, const std::vector<std::string>& folders);
// Returns the place's page on GitHub; "" for a place in tgc, or if `producer` is no release such as "tinygrad 0.14.0".
std::string rule_web_address(const RuleLocation& place, std::string_view producer);

// Writes those of `rule_locations` ("FILE:LINE") whose files are in `folders`.
void write_rule_sources(JsonWriter& json, const std::vector<std::string>& rule_locations,
                        const std::vector<std::string>& folders);

// path_of_uri() returns "" unless `uri` begins with "file:///".
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace tgc
