// Translates a graph from the JSON of another program (the "port") into tgc's JSON. A table says how, by lines such as:
//
//   member nodes NAME      NAME is the port's name of the member with the list of nodes; likewise for the members op,
//                          dtype, src, arg and id of a node, and for root (the root must be the last node)
//   op Add ADD             the port's name and tgc's name of an op; the next two lines: of a dtype, of an enum value
//   dtype f32 dtypes.float
//   value Loop AxisType.LOOP
//   arg KIND JSON          tgc's JSON (README.md) for an arg {"kind":KIND,...}, as explained below; for an object
//                          without "kind", KIND is the sorted list of its member names: axis,op
//   lower op               op names equal tgc's except for case
//   release 0.14           the tinygrad release of the graphs; without this line, the release is "other" (release.h)
//
// Sources refer to nodes by id or, if no node has an id, by position. A dtype may be an object: its "name" (or else
// "scalar", "base" or "dtype"), "count" and "size" are used. An arg may be any JSON. An object whose kind has no `arg`
// line becomes a record.
//
// In the JSON of an `arg` line:
//
//   "$NAME"                the member NAME, itself translated as an arg
//   "$NAME..."             within a list: the items of the list NAME
//   "$NAME=VALUE"          the value VALUE (of an enum, for instance) if NAME is null; "$NAME='TEXT'" gives a text
//   "$NAME?"               the member NAME, but null if NAME is an empty list
//   "$NAME:dtype"          NAME as a dtype; :f64 as a double's bits in hexadecimal; :node as a node or list of nodes
//   "{NAME}" in a text     the text of member NAME
//   member "NAME?"         left out if its value would be null or false; "NAME?VALUE": also if it would be VALUE
//   {"value":...}          the whole object becomes null if its "value" would be null
//
// testdata/maps/svod.map is an example.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class GraphMap {
 public:
  GraphMap() = default;
  // Fails if a line has another form. Empty lines and comments, which begin with '#', are allowed.
  static Result<GraphMap> read(std::string_view text, std::string_view file);
  bool empty() const { return !is_read_; }  // returns true if read() did not make this object

  // Returns the graph in tgc's JSON (graph_json.h), with the producer "port" if the table has no line `release`. Fails
  // if `json` is not JSON, is nested too deeply, or does not fit the table.
  Result<std::string> to_tgc_json(std::string_view json) const;

 private:
  friend class MappedGraphWriter;
  bool is_read_ = false, has_lowercase_ops_ = false;
  std::string producer_ = "port";
  std::map<std::string, std::string, std::less<>> members_, ops_, dtypes_, values_, arg_names_;
};

}  // namespace tgc
