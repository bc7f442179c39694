// The rule sets and stages that compile a kernel.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rules.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"
#include "lib/uop/uop.h"

namespace tgc {

struct KernelJob;

// Rules that flatten, split, merge and cut the loop ranges of a kernel (tinygrad codegen/simplify.py).
const RuleSet& pm_flatten_range();     // replaces expressions in the range list of END, REDUCE, STORE by their RANGEs
const RuleSet& pm_simplify_ranges();   // merges ranges of an END or REDUCE if this adds no division or remainder
const RuleSet& check_merge();
const RuleSet& pm_split_store();       // CPU only: cuts a loop at the constants that its range is compared with

// Splits each range r that is used as r % c into r / c and r % c, if c divides the constant size of r and r does not
// index an image that is stored to.
const RuleSet& pm_split_ranges();
struct SplitRangesContext {
  // Each marked range and the constant to split it by; the empty UOp if the range must not be split.
  std::vector<std::pair<UOp, UOp>> marked_ranges;
};

const RuleSet& split_ranges();
const RuleSet& initial_symbolic();

// The expander (tinygrad codegen/late/expander.py): turns UPCAST and UNROLL ranges into vectors. A RANGE of such an
// axis becomes an UNROLL of the vector 0..n-1. An UNROLL moves from the sources of an op to its result, so that the op
// computes all elements of the axis at once. A CONTRACT removes axes from an UNROLL and makes them vector elements.
const RuleSet& pm_pre_expander();      // RANGE -> UNROLL; adds CONTRACT to a REDUCE or STORE over unrolled axes
const RuleSet& pm_group_for_reduce();  // computes a REDUCE over GROUP_REDUCE axes through a local buffer
const RuleSet& expander();
const RuleSet& expander_stage();

// The stage "remove_reduce": replaces every REDUCE by arithmetic, with an accumulator register if it is over ranges
// (tinygrad codegen/late/devectorizer.py:pm_reduce).
struct ReduceContext {
  int64_t num_accumulators = 0;
};

const RuleSet& pm_reduce();            // context: ReduceContext
const RuleSet& remove_reduce_stage();
UOp remove_reduce(UOp sink);

// Rules that remove reductions that need no loop (tinygrad codegen/simplify.py: reduce_unparented to pm_load_collapse).
const RuleSet& pm_reduce_unparented();     // drops ranges that the reduced value does not depend on
const RuleSet& pm_reduce_collapse();       // replaces a sum over one range by arithmetic
const RuleSet& pm_reduce_load_collapse();  // pm_reduce_collapse, and sums that select the one element with idx == range
const RuleSet& pm_reduce_simplify();       // pm_reduce_unparented; tries pm_reduce_collapse on every sum
// The stage "load collapse": pm_reduce_load_collapse for sums over one range; x + y < c -> x < c - y for a loaded x.
const RuleSet& pm_load_collapse();

// `reduce` is a REDUCE that sums `u` over ranges. Returns an equal expression without these ranges, if `rules` can
// remove them one by one; else the empty UOp.
UOp reduce_collapse(UOp reduce, UOp u, const RuleSet& rules = pm_reduce_collapse());

// The stage "add gpudims": replaces the ranges of the launch grid by SPECIALs, grouped or split to fit the target's
// limits (tinygrad codegen/gpudims.py).
using GridLimits = std::optional<std::array<int64_t, 3>>;

// Returns one index expression for each of `dims`, built from SPECIALs named prefix0, prefix1, ... Groups or splits
// dims that exceed `limits`, as tinygrad does. With `reverse`, the first SPECIAL is for the last dim. Throws Failure if
// it finds no groups or factors, or if it is unknown whether a symbolic dim fits.
std::vector<UOp> get_grouped_dims(Graph& graph, std::string_view prefix, std::vector<Sint> dims,
                                  const GridLimits& limits, bool reverse = false);

const RuleSet& pm_add_gpudims();  // context: const Target

// Rules that lower INDEX nodes to loads and stores of widths that the target supports (tinygrad
// codegen/late/devectorizer.py).

inline std::vector<int64_t> consecutive_numbers(int64_t first, int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; i++) numbers.push_back(first + i);
  return numbers;
}

const RuleSet& pm_add_loads();        // INDEX of a value -> pointer INDEX and LOAD, except as the address of a STORE
const RuleSet& load_store_indexing(); // simplifies gated indices; drops true gates and, for images, redundant clauses
const RuleSet& load_store_folding();  // merges accesses of neighbouring elements into vector accesses
// splits accesses into the target's widths, addresses images by pixel; context: const Target
const RuleSet& correct_load_store();

// The stage "early movement ops": an INDEX of a movement op or of a pointer INDEX becomes an INDEX of the buffer
// (tinygrad codegen/__init__.py).
const RuleSet& pm_syntactic_sugar();  // merges an INDEX of a pointer INDEX into one INDEX
const RuleSet& early_movement_ops();

// The devectorizer (tinygrad codegen/late/devectorizer.py).

// Rewrites op(x, y) on vectors to {op(x.0, y.0), op(x.1, y.1), ...}. Returns the empty UOp (declines) for scalars and
// for a gated index.
UOp no_vectorized_alu(UOp alu);

const RuleSet& devectorize_buf_and_index();  // local and register buffers of vectors -> buffers of scalars
const RuleSet& devectorize();
const RuleSet& pm_render();                  // vectors and masked loads -> the form that renderers print

// Returns the rules of the stage "devectorize" for the setting DEVECTORIZE.
const RuleSet* devectorize_stage(const KernelJob& job);

// The stage "lower all index dtypes": expressions of dtype index become int32, or, except variables and SPECIALs, a
// wider dtype if their bounds or operands require it (tinygrad uop/ops.py:pm_lower_index_dtype). A cast to index marks
// the border between lowered sources and users that are not lowered yet. The casts move towards the users, until a user
// such as a comparison, INDEX or SINK removes them.
const RuleSet& pm_lower_index_dtype();
const RuleSet& lower_index_dtype_stage();

// Decompositions (tinygrad uop/decompositions.py): replace ops that the target cannot render by ops that it can, and
// some ops by cheaper ones, for example integer divisions by constants by multiplications and shifts.

// Selects which of the late rules apply.
struct LateRuleOptions {
  OpSet target_ops;                   // the ops that the target renders (Target::code_for_op)
  bool is_transcendental_forced = false;  // expand exp2, log2 and sin even if the target renders them
  bool uses_fast_idiv = true;  // replace division by a constant with multiplication and shift if `target_ops` has SHR
  friend bool operator==(const LateRuleOptions&, const LateRuleOptions&) = default;
};

// Returns the late rules in tinygrad's order (get_late_rewrite_patterns), cached per choice. Context: const Target.
const RuleSet& late_rewrite_patterns(const LateRuleOptions& choice);

const RuleSet* decompositions_stage(const KernelJob& job);
const RuleSet* final_rewrite_stage(const KernelJob& job);

// Returns (m, s) with x / d == (x * m) >> s for all 0 <= x <= vmax, if d <= vmax + 1 (Hacker's Delight, chapter 10).
// Throws Failure if `vmax` is negative, `d` is not positive, or one of them needs more than 64 bits.
std::pair<Int, int> magicgu(Int vmax, Int d);
// Computes x / d by multiplication and shift, in a wider dtype if the product needs one and `dont_cast` is false.
// Returns the empty UOp if the product fits no allowed dtype. Throws Failure unless 0 < d < 2**64.
FoldingResult fast_idiv(const Target& target, UOp x, Int d, bool dont_cast = false);

// Encrypts the uint64 `x` with the uint64 `key` by the Threefry 2x32 cipher, in uint32 arithmetic.
UOp threefry2x32(UOp x, UOp key);

// The renderer-specific rules: dtypes that the renderer lacks, vectors that it cannot print, addressing of memory
// (tinygrad's Renderer.extra_matcher). renderer_rules/ has one file per renderer family.

// Returns the rules of the target's renderer, for the stage "final rewrite".
const RuleSet& extra_matcher(const Target& target);

// The stage "add control flow": orders the loops (tinygrad codegen/late/linearizer.py:CFGContext, pm_add_control_flow).

// The order of loops: sibling loops (directly inside the same loop, or outside all loops) run one after another in an
// order that respects their dependencies. The first sibling follows the RANGE of the enclosing loop.
class CfgContext {
 public:
  // Throws Failure if a loop would have to run both before and after another or itself, or if it has to order an END
  // without a range.
  explicit CfgContext(UOp sink);

  // Returns the node that `range` must come after: the END of the previous sibling, or the enclosing RANGE if `range`
  // is the first sibling; the empty UOp if there is neither.
  UOp predecessor_of(UOp range) const;
  // All pairs of a RANGE and the node that it must come after; if a RANGE has several pairs, the last one is used.
  std::span<const std::pair<UOp, UOp>> control_edges() const { return control_edges_; }

 private:
  std::vector<std::pair<UOp, UOp>> control_edges_;  // sorted by the ids of the RANGEs
};

const RuleSet& add_control_flow_rules();  // pm_add_control_flow; context: const CfgContext

// Runs the stage: adds to each RANGE, as a source, the node that the RANGE must come after, if any.
UOp add_control_flow(UOp sink);

// Splits an END of several ranges into one END per range. The innermost END is that of the range with the greatest arg
// (tinygrad codegen/late/linearizer.py:pm_split_ends).
const RuleSet& pm_split_ends();

// The linearizer: orders the nodes of a kernel's graph into the list that a renderer prints (tinygrad
// codegen/late/linearizer.py:linearize; codegen/__init__.py:line_rewrite, pm_linearize_cleanups).

// Returns every node under `sink` once, sources before users. Within that constraint, nodes are ordered by how often
// they run, then by the priority of their op, then parameters by their arg, then, with TUPLE_ORDER, by tinygrad's sort
// key tuplize (op, arg, dtype, sources).
std::vector<UOp> linearize(UOp sink);

// Formats a list with its sort keys as tinygrad does under DEBUG_LINEARIZE=1. Each line contains the number, op and
// ranges of a node and its (run count, priority, extra), where extra is the arg of a parameter.
std::string linearize_listing(std::span<const UOp> list);

// Puts each gated store of `list` between an IF and an ENDIF. Throws Failure if `list` contains an IF or ENDIF.
std::vector<UOp> wrap_gated_stores(const std::vector<UOp>& list);

}  // namespace tgc
