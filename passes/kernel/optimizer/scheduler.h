// Scheduler: a kernel that is being optimized. It knows the kernel's axes and applies opts to it, each a substitution
// on the graph. Mirrors tinygrad codegen/opt/postrange.py.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/target/target.h"
#include "lib/target/tensor_core.h"
#include "lib/uop/sint.h"
#include "passes/kernel/optimizer/opt.h"

namespace tgc {

// A set of axis types.
class AxisTypes {
 public:
  constexpr AxisTypes(std::initializer_list<AxisType> types) {
    for (AxisType t : types) bits_ |= 1u << int(t);
  }
  constexpr bool contains(AxisType t) const { return bits_ >> int(t) & 1; }

 private:
  uint32_t bits_ = 0;
};

AxisType axis_type(UOp range);                // the last of a RANGE's arg
std::span<const Arg> axis_ids(UOp range);     // what comes before it

class Scheduler {
 public:
  // What can be read off one version of the kernel. Axes are numbered in the order of `rngs`.
  struct Facts {
    std::vector<UOp> nodes;        // below the sink, in tinygrad's order
    // the ranges of more than one step: loops, then globals, locals, upcasts, reduces, unrolls
    std::vector<UOp> rngs;
    std::vector<Sint> shape;       // their sizes, simplified
    std::vector<AxisType> types;
    std::vector<UOp> bufs;         // the INDEX nodes, last first
    std::vector<UOp> reduceops, wheres, bufferizes;
  };

  Scheduler(UOp ast, const Target& target);
  Scheduler(Scheduler&&) = default;
  Scheduler& operator=(Scheduler&&) = default;
  Scheduler copy() const;  // new axes of a copy are numbered from its own graph

  // ---- the kernel as it is
  UOp ast() const { return ast_; }
  Graph& graph() const { return ast_.graph(); }
  const Target& target() const { return *target_; }
  const std::vector<Opt>& applied_opts() const { return applied_opts_; }
  const TensorCore* tensor_core() const { return tensor_core_; }  // that a TC has taken; null: none has
  bool dont_use_locals() const { return dont_use_locals_; }

  const Facts& facts() const;
  const std::vector<UOp>& rngs() const { return facts().rngs; }
  const std::vector<Sint>& full_shape() const { return facts().shape; }
  const std::vector<UOp>& bufs() const { return facts().bufs; }
  // the first, or the empty UOp
  UOp reduceop() const { return facts().reduceops.empty() ? UOp() : facts().reduceops[0]; }
  size_t axis_of(UOp rng) const;  // throws KernelOptError when it is no axis of the kernel

  std::vector<size_t> axes_of(AxisTypes types) const;
  std::vector<UOp> ranges_of(AxisTypes types) const;
  std::vector<size_t> upcastable_dims() const;  // axes of known size above 1 that UPCAST takes
  std::vector<size_t> unrollable_dims() const;  // the same for UNROLL
  Int upcast_size() const;                      // elements of all upcasts and unrolls
  bool has(AxisTypes types) const;
  std::vector<TcAxis> shape_str() const;        // a letter and a number for each axis: "g0 g1 l0 R0 u0"

  // Whether the axis's range is among what `u` is computed from, `u` itself left out (in u.backward_slice).
  bool depends_on(UOp u, size_t axis) const;

  // The number of the opt's axis among all axes; -1 without one. Throws KernelOptError when there is no such axis.
  int64_t real_axis(const Opt& opt) const;

  // Whether the range is a loop that every output has, and can become a global axis or one of threads.
  bool is_globalizable(UOp rng) const;

  // ---- changing it
  // Loops that every output has become global axes, on targets that have local ones.
  void convert_loop_to_global();

  // Applies one opt. Returns what came of the axis: what is left of it and the new axis; for TC the axes N, M and K;
  // else nothing. Throws KernelOptError when the opt does not fit, and leaves the kernel as it was, TC aside.
  std::vector<UOp> apply_opt(const Opt& opt, bool append = true);

  // The finished kernel: ranges flattened, named, tagged as optimized. Without a name it is made from the axes, and
  // `name_counts` tells apart kernels of one name.
  UOp optimized_ast(std::optional<std::string_view> name, std::map<std::string, int>& name_counts);

 private:
  struct Reach;

  Scheduler(const Scheduler&) = default;  // copy() renumbers

  void set_ast(UOp ast);
  int64_t first_free_range() const;
  std::vector<UOp> output_rngs() const;
  std::vector<UOp> globalizable_rngs() const;
  std::vector<std::string_view> colors() const;
  std::string colored_shape() const;
  std::string kernel_name(std::map<std::string, int>& name_counts) const;

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
  mutable std::shared_ptr<const Facts> facts_;  // of ast_, made when first asked for
  mutable std::shared_ptr<const Reach> reach_;  // which axes each node depends on; the same
};

}  // namespace tgc
