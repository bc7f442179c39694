// Ops that are described as data, because tgc does not know them or because they changed: the known op that replaces
// the op, its sources and its arg. An import replaces each such node as described. A user describes ops with
// --upgrades=FILE; `tgc help upgrades` says how. A description cannot make an op whose arg is executed, such as CUSTOM.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Reads descriptions from the JSON text `json`. All imports of this process use them, and prefer them to the built-in
// ones. Must be called before the first import. `file` is the file's name for messages. Fails if the JSON is malformed,
// or not as the help says: for example, if a member or an op is unknown.
Status use_op_upgrades(std::string_view json, const std::string& file);

// Returns the message for `u`, a node whose op neither tgc nor a description knows: the reason, and what to do.
std::string unknown_op_reason(UOp u);

// Replaces the nodes of one graph whose ops are described, by use_op_upgrades() or in tgc itself.
class KnownOps {
 public:
  // Returns `root` with the nodes of described ops replaced by new nodes of the same graph.
  UOp replace_nodes(UOp root);
  // Returns the recorded node that this object replaced by `u`; `u` itself if it replaced none by `u`.
  UOp original(UOp u) const;

 private:
  UOp replacement_of(UOp u);
  std::unordered_map<UOp, UOp> replacements_, originals_;  // recorded node -> its replacement, and back
};

}  // namespace tgc
