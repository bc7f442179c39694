// How a port's own JSON of a graph reads as ours, by a small table, a line a mapping:
//
//   member nodes NAME      where the nodes are; and so op, dtype, src, arg, id (of a node), root (the last is the root)
//   op Add ADD             what an op, a dtype or an enum's value is called there, and here
//   dtype f32 dtypes.float
//   value Loop AxisType.LOOP
//   arg KIND JSON          what an arg {"kind":KIND,...} is in our JSON (README.md), see below; of an object without a
//                          kind, KIND is the names of its members: axis,op
//   lower op               ops are called as ours in another case there
//   release 0.14           whose graphs they are; else a release of their own
//
// A node is known by its position or by its id, a dtype may be an object (its "name" or first text counts, and
// "count", "size"), and an arg any JSON: one without an `arg` line of its kind is kept as a record of its members.
//
// In the JSON of an `arg` line a text "$NAME" stands for that member, which is read as an arg itself; "$NAME..." in a
// list for its items; "$NAME=VALUE" for the value VALUE (of an enum, say) where the member is null, "$NAME='TEXT'" for
// a text; "$NAME?" for null where it is an empty list; "$NAME:dtype", "$NAME:f64" (the bits of a double, in
// hexadecimal) and "$NAME:node" (a node's id) for one that is to be read so. "{NAME}" inside a text is the member's own
// text. A member called "NAME?" is left out where it would be null or false, one called "NAME?VALUE" where it would be
// that value, and so is a {"value":...} of null.
// testdata/maps/svod.map is such a table.
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
  std::map<std::string, std::string, std::less<>> members_, ops_, dtypes_, values_, args_;
};

}  // namespace tgc
