// Scheduler: a kernel that is being optimized. It lists the kernel's axes and applies opts by substitutions in the
// graph. Mirrors tinygrad codegen/opt/postrange.py.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/target/target.h"
#include "lib/target/tensor_core.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"

namespace tgc {

// One step of the optimizer (tinygrad codegen/opt/__init__.py:Opt).
struct Opt {
  OptOps op;
  // The number of the axis: among the unrollable axes for UNROLL, among the REDUCE axes for GROUP and GROUPTOP, among
  // the choices of N, M and K for TC, among all axes for other ops.
  std::optional<int64_t> axis = {};
  // The amount (to split an axis, 0 means the whole axis); for SWAP, the number of the other axis; for TC, (tc_select,
  // tc_opt, use_tensor_cores).
  Arg arg = {};
};

// Convert between Opt and the record in the IR, Opt(op=..., axis=..., arg=...).
// opt_from_arg throws Failure if `record` is not a valid Opt record.
Arg opt_to_arg(Graph& graph, const Opt& opt);
Opt opt_from_arg(Arg record);

// Thrown for an opt that does not fit the kernel.
class KernelOptError : public Failure {
 public:
  using Failure::Failure;
};

inline void check_opt(bool fits, const char* message) {
  if (!fits) [[unlikely]] throw KernelOptError(message);
}

class AxisTypeSet {
 public:
  constexpr AxisTypeSet(std::initializer_list<AxisType> types) {
    for (AxisType t : types) type_bits_ |= 1u << int(t);
  }
  constexpr bool contains(AxisType t) const { return type_bits_ >> int(t) & 1; }

 private:
  uint32_t type_bits_ = 0;
};

AxisType axis_type(UOp range);                // the type, which is the last element of a RANGE's arg
std::span<const Arg> axis_ids(UOp range);     // the ids: the elements before the type

class Scheduler {
 public:
  // Data derived from the current AST. An axis number is an index into `rngs`, `shape` and `types`.
  struct AstFacts {
    std::vector<UOp> nodes;
    // the ranges with more than one step, sorted by the position of their axis type (axis_to_pos), then by id
    std::vector<UOp> rngs;
    std::vector<Sint> shape;
    std::vector<AxisType> types;
    std::vector<UOp> bufs;         // the INDEX nodes, in reverse toposort order
    std::vector<UOp> reduceops, wheres, bufferizes;
  };

  Scheduler(UOp ast, const Target& target);
  Scheduler(Scheduler&&) = default;
  Scheduler& operator=(Scheduler&&) = default;
  Scheduler copy() const;  // in the copy, the ids of new axes begin after the largest first id of an axis

  UOp ast() const { return ast_; }
  Graph& graph() const { return ast_.graph(); }
  const Target& target() const { return *target_; }
  const std::vector<Opt>& applied_opts() const { return applied_opts_; }
  const TensorCore* tensor_core() const { return tensor_core_; }  // chosen by a TC opt; null without one
  bool dont_use_locals() const { return dont_use_locals_; }

  const AstFacts& facts() const;
  const std::vector<UOp>& rngs() const { return facts().rngs; }
  const std::vector<Sint>& full_shape() const { return facts().shape; }
  const std::vector<UOp>& bufs() const { return facts().bufs; }
  UOp reduceop() const { return facts().reduceops.empty() ? UOp() : facts().reduceops[0]; }
  size_t axis_of(UOp rng) const;  // throws KernelOptError if `rng` is not an axis of the kernel

  std::vector<size_t> axes_of(AxisTypeSet types) const;
  std::vector<UOp> ranges_of(AxisTypeSet types) const;
  std::vector<size_t> upcastable_dims() const;  // GLOBAL, LOCAL and LOOP axes of constant size above 1
  std::vector<size_t> unrollable_dims() const;  // GROUP_REDUCE and REDUCE axes of constant size above 1
  Int upcast_size() const;                      // product of UPCAST and UNROLL sizes; throws Failure if one is symbolic
  bool has_axis_of_type(AxisTypeSet types) const;
  std::vector<TcAxis> shape_str() const;        // a letter and a number for each axis: "g0 g1 l0 R0 u0"

  // Returns true if the axis's range is in the backward slice of `u`, excluding `u` itself.
  bool depends_on(UOp u, size_t axis) const;
  // Returns the numbers of the axes on which `u` depends, as depends_on() says, in ascending order.
  std::vector<size_t> axes_used_by(UOp u) const;

  // Returns the number of opt's axis among all axes; a negative number for a TC or without an axis. For an axis that
  // does not exist, throws KernelOptError or returns a negative number.
  int64_t real_axis(const Opt& opt) const;

  // Returns true if `rng` can become a GLOBAL or THREAD axis: it is a LOOP that an output ends, and every BUFFERIZE is
  // inside it.
  bool is_globalizable(UOp rng) const;

  // Turns the globalizable loops into GLOBAL axes, if the target has local axes.
  void convert_loop_to_global();

  // Applies one opt. Records the opt if `should_record` is true. Returns the rest of the axis and the new axis for an
  // opt that splits an axis, the axes N, M and K for TC, and an empty list for other opts. Throws KernelOptError if the
  // opt does not fit; the kernel is then unchanged, except after TC.
  std::vector<UOp> apply_opt(const Opt& opt, bool should_record = true);

  // Returns the finished kernel: flattens the ranges, sets the KernelInfo, and tags the kernel as optimized. Without
  // `name`, makes a name from the axes, with a number if `kernel_name_counts` has the name already.
  UOp make_optimized_ast(std::optional<std::string_view> name, std::map<std::string, int>& kernel_name_counts);

 private:
  struct AxesBelow;

  Scheduler(const Scheduler&) = default;  // for copy(), which sets next_range_

  void set_ast(UOp ast);
  int64_t first_free_range() const;
  std::vector<UOp> output_rngs() const;
  std::vector<UOp> globalizable_rngs() const;
  std::vector<std::string_view> colors() const;
  std::string colored_shape() const;
  std::string kernel_name(std::map<std::string, int>& kernel_name_counts) const;

  std::pair<UOp, UOp> shift_to(UOp rng, int64_t amount, AxisType type, bool top = false, UOp new_rng = {});
  void check_shared_memory(const Opt& opt, int64_t amount) const;
  void check_split(const Opt& opt, UOp rng, int64_t amount) const;
  std::vector<UOp> apply_split(const Opt& opt, UOp rng);
  void apply_padto(const Opt& opt, UOp rng);
  void apply_swap(const Opt& opt, UOp rng);
  std::vector<UOp> apply_tc(const Opt& opt);
  std::optional<std::array<UOp, 3>> choose_tc_axes(UOp reduceop, UOp a, UOp b, int64_t choice) const;
  bool pad_tc_axes(const TensorCore& tc, std::array<UOp, 3>& axes, int64_t tc_opt);
  std::vector<UOp> split_tc_axes(const TensorCore& tc, std::array<UOp, 3>& axes);
  void emit_wmma(const TensorCore& tc, const std::vector<UOp>& split);

  UOp ast_;
  const Target* target_;
  bool dont_use_locals_ = false;
  std::vector<Opt> applied_opts_;
  const TensorCore* tensor_core_ = nullptr;
  int64_t next_range_;
  mutable std::shared_ptr<const AstFacts> ast_facts_;  // facts of ast_, computed when they are first needed
  mutable std::shared_ptr<const AxesBelow> axes_of_nodes_;
};

}  // namespace tgc
