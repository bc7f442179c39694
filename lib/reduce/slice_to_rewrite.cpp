#include "lib/reduce/slice_to_rewrite.h"

#include <algorithm>
#include <deque>

#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/watchers.h"
#include "lib/reduce/cuts.h"
#include "lib/reduce/steps.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr OpSet kMemoryOps = {Op::LOAD, Op::INDEX, Op::REDUCE, Op::WMMA};

// Returns the number of levels of a pattern. The root counts as a level; alternatives are no level of their own.
size_t pattern_levels(const pat::PatNode* p) {
  size_t below = 0;
  for (const pat::PatNode* child : p->children) below = std::max(below, pattern_levels(child));
  return below + (p->has_alternatives ? 0 : 1);
}

// Returns true if the node computes integers or bools without any of the ops kMemoryOps. A slice keeps such nodes,
// because rules depend on their bounds.
bool is_integer_arithmetic(UOp u) {
  DType scalar = u.dtype().scalar();
  bool counts = scalar.is(Scalar::Index) || dtypes::is_int(scalar) || dtypes::is_bool(scalar);
  return counts && !op_in_backward_slice_with_self(u, kMemoryOps);
}

struct SliceRegion {
  std::vector<UOp> loops;
  std::vector<UOp> parts;  // the lowest nodes of the region, which loads may replace
};

// Returns the region below `root`: all nodes down to `depth` levels below it, and those below that cannot be replaced.
SliceRegion region_below(UOp root, size_t depth) {
  SliceRegion out;
  UOpSet seen(root.graph());
  std::deque<std::pair<UOp, size_t>> next = {{root, 0}};
  while (!next.empty()) {
    auto [u, at] = next.front();
    next.pop_front();
    if (!seen.insert(u)) continue;
    if (u.in({Op::RANGE, Op::SPECIAL})) out.loops.push_back(u);
    bool may_go = is_storable(u) && u.dtype().count() == 1 && u.num_src() > 0;  // vectors stay in the region
    if (at >= depth && may_go && !is_integer_arithmetic(u)) {
      out.parts.push_back(u);
      continue;
    }
    for (UOp s : u.src()) next.emplace_back(s, at + 1);
  }
  return out;
}

// Returns a kernel of `u` alone; if `u` is a value, the kernel stores it to buffer number `buffer`. Returns the empty
// UOp if there is no such kernel.
UOp make_kernel(UOp u, int64_t buffer, DType index) {
  Graph& g = u.graph();
  if (u.is(Op::SINK)) return u;
  if (is_storable(u)) return single_store_kernel(u, buffer, index);
  if (u.is(Op::INDEX) && u.dtype().is_ptr()) u = u.store(g.constant(u.dtype().base(), int64_t(1)));
  if (!u.in({Op::STORE, Op::END, Op::GROUP})) return {};
  std::vector<UOp> ends;
  for (UOp loop : ranges_of(u))
    if (loop.is(Op::RANGE)) ends.push_back(loop);
  return g.sink(ends.empty() ? u : u.end(ends));
}

// Returns true if `u`, a node from the middle of a stage, can be in an input of the stage. It cannot if it contains
// UNROLLs, CONTRACTs, CATs or PTRCATs, which the stage makes, and the stage's real input `input` has none.
bool is_valid_stage_input(UOp u, UOp input) {
  constexpr OpSet kMadeByExpander = {Op::UNROLL, Op::CONTRACT, Op::CAT, Op::PTRCAT};
  return op_in_backward_slice_with_self(input, kMadeByExpander) || !op_in_backward_slice_with_self(u, kMadeByExpander);
}

// Compiles the case until `stage` is the next stage to run. Returns nullopt if `stage` is no kernel stage, or the
// compilation does not come to it.
std::optional<Compilation> compile_until(const Session& session, const TestCase& c, const std::string& stage) {
  const StageRow* row = find_stage_row(stage);
  if (!row || !row->kernel) return std::nullopt;
  FaultScope fault(c.fault);
  auto compilation = session.begin(c.input_graph());
  while (compilation && compilation->next_row() && compilation->next_row() != row)
    if (!compilation->run_step()) return std::nullopt;
  if (!compilation || compilation->next_row() != row) return std::nullopt;
  return std::move(*compilation);
}

// Returns the case with the current graph. A seeded fault then affects the next application of its rule.
TestCase current_case(Compilation& compilation, const TestCase& c) {
  TestCase out = c;
  out.graph = std::make_shared<Graph>(c.graph->settings());
  out.root = copy_into(*out.graph, compilation.current_graph());
  if (compilation.last_row()) out.info.stage = compilation.last_row()->name;
  if (out.fault) out.fault->application_number = 1;
  return out;
}

}  // namespace

std::optional<TestCase> case_before_stage(const Session& session, const TestCase& c, const std::string& stage) {
  auto compilation = compile_until(session, c, stage);
  return compilation ? std::optional(current_case(*compilation, c)) : std::nullopt;
}

template <class Find>
std::optional<RewriteSlice> RewriteSlice::find_rewrite_where(const Session& session, const TestCase& c,
                                                             const std::string& stage, Find find) {
  auto compilation = compile_until(session, c, stage);
  if (!compilation) return std::nullopt;
  RewriteSlice out;
  out.input_case_ = current_case(*compilation, c);
  UOp input = compilation->current_graph();
  RewriteLog log;
  ScopedObserver watched(*compilation, log);
  (void)compilation->run_step();
  compilation->set_stage_observer(nullptr);
  auto at = find(log.all_rewrites());
  if (at == log.all_rewrites().end()) return std::nullopt;
  out.pattern_depth_ = pattern_levels(at->rule->left);
  auto outer = std::find_if(at, log.all_rewrites().end(), [](const Rewrite& a) { return a.depth == 0; });
  if (at->depth && outer != log.all_rewrites().end() && is_valid_stage_input(outer->before, input))
    out.outer_node_ = copy_into(*out.input_case_.graph, outer->before);
  if (is_valid_stage_input(at->before, input)) out.rewritten_node_ = copy_into(*out.input_case_.graph, at->before);
  else if (out.outer_node_) return out.outer_slice();
  else return std::nullopt;
  return out;
}

std::optional<RewriteSlice> RewriteSlice::find_rewrite(const Session& session, const TestCase& c,
                                                       const std::string& stage, const std::string& rule,
                                                       uint64_t application_number) {
  return find_rewrite_where(session, c, stage, [&](const std::vector<Rewrite>& list) {
    return std::ranges::find_if(
        list, [&](const Rewrite& a) { return a.rule->name == rule && a.number_in_stage == application_number; });
  });
}

std::optional<RewriteSlice> RewriteSlice::find_last_rewrite(const Session& session, const TestCase& c,
                                                            const std::string& stage) {
  return find_rewrite_where(session, c, stage, [](const std::vector<Rewrite>& list) {
    return list.empty() ? list.end() : std::prev(list.end());
  });
}

std::optional<RewriteSlice> RewriteSlice::outer_slice() const {
  if (!outer_node_) return std::nullopt;
  RewriteSlice out = *this;
  out.rewritten_node_ = outer_node_, out.outer_node_ = UOp(), out.pattern_depth_ = out.graph_depth();
  return out;
}

size_t RewriteSlice::graph_depth() const {
  size_t deepest = 0;
  UOpMap<size_t> below(rewritten_node_.graph());
  for (UOp u : toposort(rewritten_node_)) {
    size_t& n = below[u] = 0;
    for (UOp s : u.src()) n = std::max(n, *below.find(s) + 1);
    deepest = std::max(deepest, n);
  }
  return deepest + 1;
}

TestCase RewriteSlice::case_around_rewrite(size_t depth, const VariableValues& variables,
                                           const ExecuteOptions& in_ref) const {
  DType index = index_dtype_of(input_case_.root);
  std::vector<UOp> kept = region_below(rewritten_node_, depth).loops;
  Replacements fixed;  // replaces loops outside of the region by their first iteration
  for (UOp u : toposort(rewritten_node_))
    if (u.in({Op::RANGE, Op::SPECIAL}) && std::ranges::find(kept, u) == kept.end())
      fixed.emplace_back(u, u.graph().constant(u.dtype(), int64_t(0)));
  UOp before = replace_nodes(rewritten_node_, fixed),
      root = make_kernel(before, first_free_buffer_number(input_case_.root), index);
  if (!root) return {};
  TestCase out = replace_root(input_case_, root);
  out = replace_root(out, root.with_arg(info_without_opts(input_case_)));
  return replace_by_buffers(out, region_below(before, depth).parts, variables, in_ref);
}

}  // namespace tgc
