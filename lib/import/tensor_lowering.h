// The state of the import of a tensor graph. Private to lib/import.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "lib/import/affine.h"
#include "lib/import/tensor_graph.h"
#include "lib/import/upgrade.h"

namespace tgc::import {

// Shapes, devices and loops of a tensor graph's nodes. Variables have values, so symbolic sizes are numbers.
class TensorFacts {
 public:
  TensorFacts(Graph& graph, const TensorVariables& variables) : graph_(graph), variables_(variables) {}

  // The sources of `u` must have facts already. Throws Refusal if the facts cannot be computed.
  void add_node(UOp u);

  bool has_shape(UOp u) const { return facts_of_node(u).shape.has_value(); }
  const Sizes& shape(UOp u) const;  // throws Refusal if `u` has no shape
  // Returns the number of devices that have a value of `u` of their own; 1 if all have the same value.
  int64_t num_devices(UOp u) const { return facts_of_node(u).num_devices; }
  bool reads_memory(UOp u) const { return facts_of_node(u).reads_memory; }
  // Returns the RANGEs that are open at `u`: `u` depends on them, and not only by nodes that end them.
  const std::vector<UOp>& loops_of_node(UOp u) const { return facts_of_node(u).loops; }

  // Returns nullopt if the value of `u` is no constant integer.
  std::optional<int64_t> integer_value(UOp u) const;
  // Returns the elements of `u`. Throws Refusal if one of them is no constant integer.
  Sizes integer_values(UOp u) const;
  Sizes numbers_on_first_device(UOp u) const;  // as integer_values(), on device 0
  CheckedList<UOp> index_elements(UOp u) const;
  // The first index of each axis of a SHRINK, or the padding before each axis of a PAD.
  CheckedList<UOp> index_offsets(UOp u) const { return index_elements(u.src(1)); }
  // Sets expands_front_axes() and takes_result_sizes() from a whole graph, because commits between releases may have
  // forms of the later one.
  void detect_op_forms(const std::vector<UOp>& nodes);
  bool expands_front_axes() const { return expands_front_axes_; }  // EXPAND adds axes before those of its source
  // SHRINK and PAD have the sizes of the result, not the ends (SHRINK) or the padding behind (PAD)
  bool takes_result_sizes() const { return takes_result_sizes_; }
  // Returns true if the REDUCE removes its axes, as since 0.14, instead of keeping them with size 1.
  static bool drops_axes(UOp reduce) {
    return reduce.arg().is_tuple() && reduce.arg().items().size() > 1 && !reduce.arg()[1].is_tuple();
  }
  Sizes reduced_axes(UOp u) const;
  Op reduced_op(UOp u) const;

 private:
  struct NodeFacts {
    std::optional<Sizes> shape;
    int64_t num_devices = 1;
    bool reads_memory = false;
    std::vector<UOp> loops;
  };
  const NodeFacts& facts_of_node(UOp u) const {
    auto it = facts_.find(u);
    if (it == facts_.end()) throw Refusal{"its source " + std::string(printed_op_name(u)) + " is unknown"};
    return it->second;
  }
  std::optional<int64_t> make_number(UOp u) const;
  void check_size(const NodeFacts& facts) const;
  std::optional<Sizes> make_shape(UOp u) const;
  int64_t count_devices(UOp u) const;

  Graph& graph_;
  bool expands_front_axes_ = graph_.release() >= Release::v0_14, takes_result_sizes_ = expands_front_axes_;
  const TensorVariables& variables_;
  std::unordered_map<UOp, NodeFacts> facts_;
  mutable std::optional<int64_t> assumed_device_number_;
  mutable std::unordered_map<UOp, std::optional<int64_t>> known_numbers_;
};

// Ops that make a view of a buffer. An AFTER that is ordered after a view is ordered after the view's buffer.
inline constexpr OpSet kViewOps =
    ops::Movement | OpSet{Op::UNSHARD, Op::MULTI, Op::BITCAST, Op::INDEX, Op::MSELECT, Op::NOOP};

bool is_memory(UOp u);  // an array in global memory: a BUFFER, PARAM or DEFINE_GLOBAL

bool can_be_stored(DType dtype);   // tgc's IR has arrays of this dtype
std::vector<UOp> nodes_in_order(UOp root);  // nodes, sources first, without the bodies of calls

struct CompareById {
  bool operator()(UOp a, UOp b) const { return a.id() < b.id(); }
};

class TensorLowering {
 public:
  // `graph` holds the tensor graph, and gets new nodes.
  TensorLowering(Graph& graph, const TensorVariables& variables)
      : graph_(graph), facts_(graph, variables), affine_math_(graph) {}

  // `root`: a SINK of values and stores, a LINEAR list of calls of kernels, or a call of these.
  TensorProgram lower_program(UOp root, const TensorImportOptions& what = {});
  TensorSidesProgram lower_sides(UOp before, UOp after);
  TensorPairsProgram lower_pairs(UOp before, UOp after, const std::vector<UOp>& stages);
  UOp current_node;

 private:
  using AxisIndices = CheckedList<AffineExpr>;  // an index for each axis of a value
  struct ElementPoint {           // the element of a value that is computed
    AxisIndices place;
    AffineExpr device;
    UOp valid;  // the element is used where this holds; empty: everywhere
  };

  struct RangedPoint : ElementPoint {
    std::vector<UOp> loops;  // the loops on which the place depends, the outermost first
  };
  struct RangedPair {
    UOp before, after;
    UOp culprit;  // its rewrite is wrong if this pair is the first that differs
    RangedPoint point;
    bool compares_use = false;    // compare which elements of stored nodes are loaded, not how they are computed
    bool compares_place = false;  // both nodes are targets of stores: compare their places
  };

  // ---- choice of the values that are stored in arrays, and outputs (tensor_lowering.cpp)
  bool is_stored(UOp u) const;
  bool has_nested_loops(UOp u);
  void count_uses(const std::vector<UOp>& nodes);
  void lower_node(UOp u);
  void add_output(UOp u);
  void add_value(UOp u, size_t number);
  void add_stored_output(UOp after);

  // ---- arrays and kernels (tensor_lowering.cpp)
  struct Kernel {
    std::vector<size_t> memories;
    std::unordered_map<size_t, UOp> memory_nodes;
    std::map<std::vector<uint32_t>, UOp> known_scalars;
    int64_t num_loops = 0;
  };
  void check_program() const;
  size_t new_memory(DType dtype, int64_t size, int64_t devices);
  size_t memory_of_buffer(UOp buffer);
  size_t array_as_dtype(size_t memory, DType dtype);
  size_t array_of_value(UOp value);  // the first call makes the kernel that stores it
  size_t version_of_target(UOp target);  // the array of the buffer below `target`, after the stores below `target`
  AffineExpr make_loop(int64_t size, std::vector<UOp>& loops);
  UOp address(size_t memory, const AffineExpr& index, UOp valid);
  void store_all_values(size_t memory, UOp value);
  void copy_memory(size_t from, size_t to);
  void finish_kernel(UOp store, const std::vector<UOp>& loops);

  // ---- stores (tensor_stores.cpp)
  void apply_effect(UOp effect, UOp buffer, size_t& version, std::vector<UOp> loops);
  void apply_version(UOp u, UOp buffer, size_t& version);
  template <class Apply>
  void apply_effect_once(UOp effect, size_t& version, Apply apply);
  void apply_store(UOp store, size_t& version, const std::vector<UOp>& loops);
  bool repeats_elements(UOp view) const;  // several elements of the view are one element of its buffer
  UOp state_below_target(UOp target) const;
  void note_other_stores(UOp after);
  void note_invalid_state(UOp after);
  void add_stores_of_after(UOp after, UOp buffer);

  // ---- calls of kernels (tensor_calls.cpp)
  struct CallArgument {
    size_t memory;
    UOp buffer;  // the BUFFER, PARAM or DEFINE_GLOBAL below the argument; empty if it is a value
  };
  void apply_call(UOp u, UOp buffer, size_t& version);
  using StoredArrays = std::map<UOp, size_t, CompareById>;  // by buffer: its content after a call
  StoredArrays run_call(UOp call, UOp only, size_t version);
  size_t stored_part(StoredArrays& stored, const CallArgument& to, size_t before);
  void run_calls(UOp list);
  CallArgument call_argument(UOp u, int64_t device, int64_t devices);
  size_t part_of_memory(size_t memory, int64_t number, int64_t parts);

  // ---- sides (tensor_sides.cpp)
  void choose_inputs(UOp before, UOp after);
  void add_side(UOp side, const std::vector<UOp>& loops, int64_t devices);

  // ---- values before and after a scheduler gave them loops (tensor_ranges.cpp)
  std::optional<AxisIndices> place_of_loops(std::span<const UOp> loops, const Sizes& shape, bool skips_ones);
  bool stage_has_value(UOp u, UOp stage) const;
  bool pair_values(UOp before, const RangedPoint& p, UOp after, UOp user);
  bool pair_sources(UOp before, const RangedPoint& p, UOp after);
  void pair_stores(UOp before, UOp after);
  void pair_targets(UOp before, UOp after, const RangedPoint& p);
  bool share_input(UOp before, UOp after);
  void add_pair(const RangedPair& pair);

  // ---- values (tensor_values.cpp)
  UOp value(UOp u, const ElementPoint& p);
  UOp make_value(UOp u, const ElementPoint& p);
  UOp value_of_operands(UOp u, const ElementPoint& p);
  UOp value_of_reduce(UOp u, const ElementPoint& p);
  UOp sum_of_equal_numbers(UOp u, const ElementPoint& p, const std::vector<int64_t>& axes);
  UOp choose_value(UOp u, const AffineExpr& index, const CheckedList<UOp>& values);
  UOp value_of_index(UOp u, const ElementPoint& p);
  ElementPoint source_point(UOp u, const ElementPoint& p, UOp& condition);
  AxisIndices place_before_reshape(const AxisIndices& place, const Sizes& to, const Sizes& from);
  AffineExpr affine_value(UOp u, const ElementPoint& p, int64_t size);
  AffineExpr flat_index(UOp u, const ElementPoint& p);
  UOp view_base(UOp target) const;  // the buffer, or else the value, of which `target` is a view
  void note_view(UOp u);
  void note_stage_of_target(UOp target);
  AffineExpr index_in_stage(UOp stage, const ElementPoint& p);
  AffineExpr index_in_buffer(UOp target, const ElementPoint& p, UOp& valid);

  Graph& graph_;
  TensorFacts facts_;
  AffineMath affine_math_;
  TensorProgram program_;
  Kernel current_kernel_;
  // TensorImportOptions::invalid_value; nullopt: Invalid elements stay Invalid
  std::optional<int> invalid_number_;
  std::vector<std::pair<AffineExpr, int64_t>>* padded_axes_ = nullptr;
  using Buffers = std::set<UOp, CompareById>;
  std::unordered_map<UOp, Buffers> other_stores_;  // by AFTER: other buffers to which its sources store
  Buffers invalid_states_;  // AFTERs that store Invalid to the whole buffer
  std::set<UOp, CompareById> buffer_views_;  // CONTIGUOUS and STAGE nodes that are views of buffers
  std::unordered_map<UOp, size_t> value_arrays_;
  std::map<size_t, std::set<uint32_t>> applied_effects_;  // by array: ids of the stores and calls that made its content
  std::map<std::pair<size_t, DType>, size_t> arrays_by_dtype_;
  std::unordered_map<UOp, size_t> buffer_memories_;  // by buffer, AFTER or ASSIGN: the array with its content
  std::unordered_map<UOp, int> use_counts_, value_depths_;
  std::set<UOp, CompareById> looping_values_;  // values that are computed with a loop at each use
  int64_t num_affine_steps_ = 0;
  std::vector<RangedPair> ranged_pairs_;
  std::map<std::vector<uint32_t>, UOp> stage_values_;  // by ids of a STAGE's loops: its value; empty if several differ
  std::set<std::pair<uint32_t, uint32_t>> paired_stores_;
};

}  // namespace tgc::import
