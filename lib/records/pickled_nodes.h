// Converts UOps of a Python pickle (profile.pkl, rewrites.pkl) to lines of tgc's JSON, as the exporter writes them
// (python/tgc/export/graphs.py). A pickle stores ops and enum values as numbers, which differ between releases. The
// pickle is untrusted: the functions of PickledNodes throw a Failure that says what is wrong.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/support/pickle.h"
#include "lib/uop/release.h"

namespace tgc {

// The fields of nodes, by the numbers of the nodes: the dict uop_fields of rewrites.pkl.
using PickledFields = std::unordered_map<int64_t, PickleValue>;

// The numbers of ops and of enum members in the pickles of a release, or of commits between two releases.
struct PickleDialect {
  Release release;
  std::string producer;               // "tinygrad 0.14.0"
  std::vector<std::string_view> ops;  // names of ops, indexed by their number
  size_t axis_type_table = 0;         // index of the release's AxisType in the table of its versions
};

class PickledNodes {
 public:
  // `fields`, which may be null, and `dialect` must outlive this object.
  explicit PickledNodes(const PickleDialect& dialect, const PickledFields* fields = nullptr)
      : dialect_(dialect), fields_(fields) {}

  // Adds a node and all nodes that it depends on. Returns the number of its line. `node` is an object of class UOp.
  size_t add_node(PickleValue node);
  // Adds the node that has this number in `fields`. Returns the number of its line.
  size_t add_numbered_node(int64_t number);
  // Returns the JSON of the nodes, one line per node, sources first.
  const std::vector<std::string>& lines() const { return lines_; }

  // Returns the JSON of a value in an arg or tag. Adds the nodes in the value.
  std::string value_text(PickleValue v, int depth = 0);
  std::string op_name(PickleValue op) const;

 private:
  struct Key {  // identifies a node: an object of the pickle or, if is_field_number, a number in `fields`
    int64_t id;
    bool is_field_number;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return std::hash<int64_t>()(k.id * 2 + k.is_field_number); }
  };
  size_t add_key(Key key);
  PickleValue fields_of(Key key) const;
  Key source_of(PickleValue source) const;
  void write_node(Key key);
  std::string enum_name(PickleValue v) const;
  std::string dtype_text(PickleValue v) const;
  std::string object_text(PickleValue v, int depth);

  const PickleDialect& dialect_;
  const PickledFields* fields_;
  PickledFields objects_;         // the added UOp objects, by their PickleValue::id
  PickleBudget budget_;
  int arg_nesting_ = 0;               // depth of nodes within args of nodes
  // maps a node to the number of its line; to kOpen while its sources are being written
  std::unordered_map<Key, size_t, Hash> node_numbers_;
  std::vector<std::string> lines_;
};

// Returns the graph under `root`, a kernel's AST, as tgc's JSON (graph_json.h). Returns an error if a node is
// malformed; other errors are those of fitting_dialect().
Result<std::string> pickled_graph(PickleValue root);

// Returns the dialect whose numbers of ops fit all nodes of a pickle: a node with a KernelInfo must be a SINK, a RANGE
// must have an AxisType, an ADD two sources, and so on. Throws Failure if no dialect fits, or if several fit and read
// the nodes differently. `nodes` are UOp objects, or the values of uop_fields. `kernel` is the one that is a kernel's
// AST.
const PickleDialect& fitting_dialect(const std::vector<PickleValue>& nodes, std::optional<PickleValue> kernel = {});

}  // namespace tgc
