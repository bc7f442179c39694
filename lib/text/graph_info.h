// What a file of a graph says besides the graph: members of tgc's JSON, and of the comment that tgc writes above texts.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class JsonScanner;

// Each may be empty.
struct GraphInfo {
  std::string producer = {};  // whose graph it is, "tinygrad 0.14.0"; empty: 0.12.0's
  std::string name;                             // of the kernel or record
  std::string stage;                            // whose result this is: tinygrad's name; empty or "ast": no stage yet
  std::string target;
  std::map<std::string, std::string> settings;  // that were set

  bool operator==(const GraphInfo&) const = default;
};

// "name":"E_4","stage":"expander",... as members of a JSON object, those that are not empty.
std::string info_members(const GraphInfo& info);
// Reads the value of the member `key` into `info`; false, with nothing read, when it is none of these. Throws Failure.
bool read_info_member(JsonScanner& in, std::string_view key, GraphInfo& info);

// The comment above a text that tgc wrote, with its line end:
//   # tgc: {"name":"E_4","stage":"expander","target":"CPU:LLVM"}
// A text below one says all of its graph, in its letters or in comments: its reader infers nothing.
std::string text_header(const GraphInfo& info);
bool has_header(std::string_view text);
// A text with comments that say what the letters of its format lose.
struct CompleteText {
  std::string text;
  bool lost = false;  // without a header it would be read as another graph
};

// What the header of `text` says; nullopt when it has none. `file` names the input in messages.
Result<std::optional<GraphInfo>> read_header(std::string_view text, std::string_view file = {});
// The text with that name in its header; as it is where it has none that can be read.
std::string with_name(std::string text, std::string_view name);

}  // namespace tgc
