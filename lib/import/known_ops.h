// Descriptions of ops as data: which known op replaces an op, with which sources, arg and dtype. `tgc help upgrades`
// says how users describe ops.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Reads descriptions, which later imports prefer to the built-in ones. Must be called before the first import. `file`
// is for messages. Fails if the text does not follow `tgc help upgrades`.
Status load_op_upgrades(std::string_view json, const std::string& file);

// `u` has an op that neither tgc nor a description knows. Returns why `u` cannot be imported, and what users can do.
std::string unknown_op_reason(UOp u);

class KnownOps {
 public:
  // Returns `root` with the nodes of described ops replaced by new nodes of the same graph.
  UOp replace_nodes(UOp root);
  // Returns the recorded node that `u` replaces, or else `u`.
  UOp original(UOp u) const;

 private:
  UOp replacement_of_node(UOp u);
  std::unordered_map<UOp, UOp> replacements_, originals_;  // recorded node -> its replacement, and back
};

}  // namespace tgc
