// Turns UOps of a Python pickle (profile.pkl, rewrites.pkl) into lines of tgc's JSON, as the exporter writes them
// (python/tgc/export/graphs.py). A pickle names ops and enum values by numbers, which differ between releases. The
// pickle is untrusted: errors name what is wrong.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/support/pickle.h"
#include "lib/uop/release.h"

namespace tgc {

// The fields of nodes by number: the dict uop_fields of rewrites.pkl.
using PickledFields = std::unordered_map<int64_t, PickleValue>;

// The numbers of ops in the pickles of a release, or of commits between two releases.
struct PickleDialect {
  Release release;
  std::string producer;                // "tinygrad 0.14.0"
  std::vector<std::string_view> ops;   // by number
  size_t axis_types = 0;               // index in the table of AxisType's members
};

class PickledNodes {
 public:
  // `fields`, which may be null, and `dialect` must outlive this object.
  explicit PickledNodes(const PickleDialect& dialect, const PickledFields* fields = nullptr)
      : dialect_(dialect), fields_(fields) {}

  // Adds a node and all that it depends on. Returns the number of its line. `node` is an object of class UOp.
  size_t add(PickleValue node);
  // Adds the node with a number of `fields`.
  size_t add_number(int64_t number);
  // The JSON of the nodes, each after its sources.
  const std::vector<std::string>& lines() const { return lines_; }

  // Returns a value that is no node as JSON.
  std::string value(PickleValue v, int depth = 0);
  std::string op_name(PickleValue op) const;

 private:
  struct Key {  // a node: an object of the pickle, or a number of `fields`
    int64_t id;
    bool is_number;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return std::hash<int64_t>()(k.id * 2 + k.is_number); }
  };
  size_t add(Key key);
  PickleValue fields_of(Key key) const;
  Key source_of(PickleValue source) const;
  void write(Key key);
  std::string enum_name(PickleValue v) const;
  std::string dtype(PickleValue v) const;
  std::string object(PickleValue v, int depth);

  const PickleDialect& dialect_;
  const PickledFields* fields_;
  PickledFields objects_;         // UOps by pickle id
  PickleBudget budget_;
  int nesting_ = 0;               // depth of nodes within args of nodes
  std::unordered_map<Key, size_t, Hash> known_;       // kOpen: its sources are being written
  std::vector<std::string> lines_;
};

// Returns the graph under `root`, a kernel's AST, as tgc's JSON (graph_json.h). Fails if the numbers of its
// ops fit no version of tinygrad, or several.
Result<std::string> pickled_graph(PickleValue root);

// Returns the dialect whose numbers of ops fit all nodes of a pickle: a node with a KernelInfo is a SINK, a RANGE has
// an AxisType, an ADD has two sources, and so on. Throws Failure if none fits, or if several do and read the nodes
// differently. `nodes` are UOp objects, or the values of uop_fields. `kernel` is one of them that is a kernel's AST.
const PickleDialect& fitting_dialect(const std::vector<PickleValue>& nodes, std::optional<PickleValue> kernel = {});

}  // namespace tgc
