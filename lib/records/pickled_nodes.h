// Converts UOps of an untrusted Python pickle (profile.pkl, rewrites.pkl) to lines of tgc's JSON. Pickles store ops and
// enum values as numbers, which differ between releases. Functions of PickledNodeWriter throw Failure if the input is
// malformed.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/support/pickle.h"
#include "lib/uop/release.h"

namespace tgc {

// The fields of nodes by the nodes' numbers: the dict uop_fields of rewrites.pkl.
using PickledFields = std::unordered_map<int64_t, PickleValue>;

// The numbers of ops and enum members in the pickles of a release, or of a range of other commits.
struct PickleDialect {
  Release release;
  std::string producer;
  std::vector<std::string_view> ops;  // names of ops, by number
  size_t axis_type_table_index = 0;
};

class PickledNodeWriter {
 public:
  // `fields` (or null) and `dialect` must outlive this object.
  explicit PickledNodeWriter(const PickleDialect& dialect, const PickledFields* fields = nullptr)
      : pickle_dialect_(dialect), pickled_fields_(fields) {}

  // Adds a node, an object of class UOp, and the nodes that it depends on. Returns the number of its line.
  size_t add_node(PickleValue node);
  // Adds the node that has this number in `fields`. Returns the number of its line.
  size_t add_numbered_node(int64_t number);
  // The nodes' JSON, one line per node, sources first.
  const std::vector<std::string>& lines() const { return node_lines_; }

  // Returns the JSON of a value in an arg or tag, and adds the nodes in it.
  std::string value_text(PickleValue v, int depth = 0);
  std::string op_name(PickleValue op) const;

 private:
  struct NodeKey {  // an object of the pickle, or a number in `fields`
    int64_t id;
    bool is_field_number;
    bool operator==(const NodeKey&) const = default;
  };
  struct KeyHash {
    size_t operator()(const NodeKey& k) const { return std::hash<int64_t>()(k.id * 2 + k.is_field_number); }
  };
  size_t add_key(NodeKey key);
  PickleValue fields_of(NodeKey key) const;
  NodeKey source_key_of(PickleValue source) const;
  void write_node(NodeKey key);
  std::string enum_name(PickleValue v) const;
  std::string dtype_text(PickleValue v) const;
  std::string object_text(PickleValue v, int depth);

  const PickleDialect& pickle_dialect_;
  const PickledFields* pickled_fields_;
  PickledFields added_objects_;
  PickleBudget pickle_budget_;
  int arg_nesting_ = 0;
  // the number of a node's line; kOpen while the node's sources are written
  std::unordered_map<NodeKey, size_t, KeyHash> node_numbers_;
  std::vector<std::string> node_lines_;
};

// Returns the kernel's AST under `root` as tgc's JSON (graph_json.h). Fails if the graph is malformed, and as
// find_fitting_dialect().
Result<std::string> pickled_graph_json(PickleValue root);

// Returns the dialect whose numbers of ops fit the nodes: an ADD must have two sources, and so on. Throws Failure if
// none fits, or if several fit and read the nodes differently. `nodes` are UOp objects or values of uop_fields;
// `kernel` is a kernel's AST among them.
const PickleDialect& find_fitting_dialect(const std::vector<PickleValue>& nodes,
                                          std::optional<PickleValue> kernel = {});

}  // namespace tgc
