// How a port's own JSON of a graph reads as ours, by a small table, a line a mapping:
//
//   member nodes NAME      where the nodes are; and so op, dtype, src, arg, id (of a node), root (the last is the root)
//   op Add ADD             what an op, a dtype or an enum's value is called there, and here
//   dtype f32 dtypes.float
//   value Loop AxisType.LOOP
//   lower op               ops are called as ours in another case there
//   release 0.14           whose graphs they are; else a release of their own
//
// A node is known by its position or by its id, a dtype may be an object (its "name" or first text counts, and
// "count", "size"), and an arg any JSON: an object is kept as a record of its members.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class GraphMap {
 public:
  GraphMap() = default;
  // Errors: a line that is no mapping.
  static Result<GraphMap> read(std::string_view text, std::string_view file);
  bool empty() const { return !given_; }

  // The graph in tgc's JSON (graph_json.h), of the producer "port". Errors: no JSON, or nodes that lack what they need.
  Result<std::string> to_tgc(std::string_view json) const;

 private:
  friend class MappedGraph;
  bool given_ = false, upper_ops_ = false;
  std::string producer_ = "port";
  std::map<std::string, std::string, std::less<>> members_, ops_, dtypes_, values_;
};

}  // namespace tgc
