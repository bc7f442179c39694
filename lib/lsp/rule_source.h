// Finds the source of a rule: the file in one of the folders that the editor names, or the web address.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

class JsonWriter;

// The file and line of a rule. The file is as "codegen/simplify.py" in tinygrad, or "passes/symbolic/simple.cpp" in
// tgc.
struct RulePlace {
  std::string file;
  int64_t line = 0;  // the first line is 1
};
// Parses `text`, "FILE:LINE". Returns an empty place if the text has another form. Because recordings are not trusted,
// FILE must be a relative path of letters, digits, underscores and slashes that ends in .py, .cpp or .h.
RulePlace parse_rule_place(std::string_view text);

// Returns the path of the place's file in one of `folders`, each of which is a checkout of tinygrad or tgc, or the
// folder of an installed tinygrad; "" if none has the file.
std::string file_of_rule(const RulePlace& place, const std::vector<std::string>& folders);
// Returns the web address of the place in tinygrad's repository; "" if the place is in tgc, or if `producer` is not a
// release such as "tinygrad 0.14.0".
std::string web_address(const RulePlace& place, std::string_view producer);

// Writes those of `places` ("FILE:LINE") whose files are in `folders`, as locations of the protocol.
void write_rule_sources(JsonWriter& json, const std::vector<std::string>& places,
                        const std::vector<std::string>& folders);

// path_of_uri() returns the path of a "file:" URI, "" for other URIs. uri_of_path() returns the URI of a path.
std::string path_of_uri(std::string_view uri);
std::string uri_of_path(std::string_view path);

}  // namespace tgc
