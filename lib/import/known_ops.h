// Ops that tgc does not know, or that have another form, described as data: this op is that op, with these sources and
// this argument. An import puts the described node in place of the recorded one. A user describes ops with
// --upgrades=FILE; `tgc help upgrades` says how. The description never decides what is executed.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// Reads descriptions from JSON and uses them for all graphs that this process imports from now on, before those that
// come with tgc. Call it before any graph is imported. `file` is the file's name in messages. Errors: an unknown
// member, op or form.
Status use_op_upgrades(std::string_view json, const std::string& file);

// Returns why `u` cannot be imported, whose op neither tgc nor a description knows, and what to do.
std::string unknown_op_reason(UOp u);

// Replaces the described nodes of one graph.
class KnownOps {
 public:
  // Returns `root` with the described nodes replaced, in the graph of `root`. Nodes with no such node below them stay.
  UOp of(UOp root);
  // Returns the recorded node for which of() made `u`, or `u`.
  UOp original(UOp u) const;

 private:
  UOp made_for(UOp u);
  std::unordered_map<UOp, UOp> known_, originals_;
};

}  // namespace tgc
