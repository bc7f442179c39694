// Metadata of a graph file: members of tgc's JSON, or of the header comment that tgc writes above a text.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class JsonScanner;

// Metadata of a graph. Any field may be empty.
struct GraphInfo {
  std::string producer = {};  // tinygrad release that made the graph, such as "tinygrad 0.14.0"; empty for 0.12.0
  std::string name;                             // name of the kernel or record
  std::string stage;  // tinygrad's name of the last stage applied to the graph; empty or "ast" before the first stage
  std::string target;
  std::map<std::string, std::string> settings;  // the settings that were set explicitly

  bool operator==(const GraphInfo&) const = default;
};

// Returns the nonempty fields as members of a JSON object: "name":"E_4","stage":"expander",...
std::string info_members(const GraphInfo& info);
// Reads the value of the JSON member `key` into `info`. Returns false and reads nothing if `key` is no field of
// GraphInfo. Throws Failure if the value is malformed.
bool read_info_member(JsonScanner& in, std::string_view key, GraphInfo& info);

// Returns the header: a comment line, with its newline, that tgc writes above a text, such as
//   # tgc: {"name":"E_4","stage":"expander","target":"CPU:LLVM"}
// A pyrender or repr text below a header, or a listing of 0.12.0 below one, states in comments all facts that its
// format cannot express. So its reader infers nothing.
std::string text_header(const GraphInfo& info);
bool has_header(std::string_view text);
// The text of a graph, with comments that state the facts which the text's format cannot express.
struct CompleteText {
  std::string text;
  bool needs_header = false;  // true if the text would be read as a different graph without a header
};

// Parses the header of `text`. Returns nullopt if `text` has no header, an error if the header is malformed. `file` is
// the name of the input in messages.
Result<std::optional<GraphInfo>> read_header(std::string_view text, std::string_view file = {});
// Returns `text` with `name` as the name in its header; returns `text` unchanged if it has no readable header.
std::string with_name(std::string text, std::string_view name);

}  // namespace tgc
