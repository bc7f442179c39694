#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class JsonScanner;

// Metadata of a graph: members of tgc's JSON, or of the header of a text. Any field may be empty.
struct GraphInfo {
  std::string producer = {};  // such as "tinygrad 0.14.0"; empty means 0.12.0
  std::string name;
  std::string stage;  // tinygrad's name of the last applied stage; empty or "ast" before the first one
  std::string target;
  std::map<std::string, std::string> settings;  // tinygrad's settings, by name

  bool operator==(const GraphInfo&) const = default;
};

// Returns the nonempty fields as members of a JSON object: "name":"E_4","stage":"expander",...
std::string info_members_json(const GraphInfo& info);
// Returns false and reads nothing if `key` is no field of GraphInfo. Throws Failure if the value is malformed.
bool read_info_member(JsonScanner& in, std::string_view key, GraphInfo& info);

// Returns the comment line, with its newline, that tgc writes above a text, such as
//   # tgc: {"name":"E_4","stage":"expander","target":"CPU:LLVM"}
// Below a header, comments state what a pyrender text, a repr, or a listing of 0.12.0 cannot express.
std::string text_header(const GraphInfo& info);
bool has_header(std::string_view text);
// A text with comments that state the facts which the text's format cannot express.
struct CompleteText {
  std::string text;
  bool is_header_needed = false;  // without a header, the text could be read as a different graph
};

// Returns nullopt if `text` has no header. Fails if the header is malformed. `file` is for messages.
Result<std::optional<GraphInfo>> read_header(std::string_view text, std::string_view file = {});
// Returns `text` with `name` in its header; unchanged if it has no readable header.
std::string text_with_name(std::string text, std::string_view name);

}  // namespace tgc
