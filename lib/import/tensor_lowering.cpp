#include "lib/import/tensor_lowering.h"

#include <algorithm>

#include "lib/support/deadline.h"
#include "lib/text/repr.h"
#include "lib/uop/graph.h"
#include "lib/uop/wellformed.h"

namespace tgc::import {

namespace {

constexpr int64_t kMostShared = int64_t(1) << 24;  // most elements of a value that is stored to be computed only once
constexpr size_t kMostKernels = 10000;
constexpr int kDeepest = 40;  // a value is stored if its expression is nested deeper
constexpr OpSet kAlwaysStored{Op::CONTIGUOUS, Op::REDUCE, Op::REDUCE_AXIS, Op::STAGE, Op::BUFFERIZE, Op::ALLREDUCE};
constexpr OpSet kNeverStored = ops::Movement | OpSet{Op::UNSHARD, Op::MULTI, Op::AFTER, Op::ASSIGN, Op::CONST,
                                                     Op::RANGE, Op::STACK, Op::VECTORIZE, Op::BUFFER, Op::PARAM,
                                                     Op::DEFINE_GLOBAL, Op::INDEX, Op::SINK, Op::STORE, Op::END};

constexpr OpSet kCalls{Op::CALL, Op::FUNCTION};

}  // namespace

std::vector<UOp> nodes_in_order(UOp root) {
  std::vector<UOp> out;
  UOpSet done(root.graph());
  struct Frame {
    UOp node;
    size_t next;
  };
  auto frame = [](UOp u) { return Frame{u, u.in(kCalls) && u.num_src() ? size_t(1) : 0}; };
  std::vector<Frame> stack{frame(root)};
  while (!stack.empty()) {
    auto& [u, next] = stack.back();
    if (next < u.num_src()) {
      UOp s = u.src(next++);
      if (!done.contains(s)) stack.push_back(frame(s));
      continue;
    }
    if (done.insert(u)) out.push_back(u);
    stack.pop_back();
  }
  return out;
}

bool can_be_stored(DType dtype) {
  return dtype.is_value() && dtype.count() == 1 && dtype.scalar_kind() != Scalar::Other && !(dtype == dtypes::index) &&
         !(dtype == dtypes::void_);
}

namespace {

class Inliner {
 public:
  UOp inline_node(UOp root, UOpSpan arguments) {
    if (++nesting_depth_ > 100) throw Refusal{"its calls are nested too deep"};
    std::unordered_map<UOp, UOp> made;
    for (UOp u : nodes_in_order(root)) {
      if (++num_inlined_nodes_ > kMaxInlinedNodes) throw Refusal{"its calls have too many nodes"};
      throw_if_late();
      is_list_ = root.is(Op::LINEAR);
      made[u] = inline_node(u, arguments, made);
    }
    nesting_depth_--;
    return made.at(root);
  }

 private:
  UOp inline_node(UOp u, UOpSpan arguments, const std::unordered_map<UOp, UOp>& made) {
    if (u.is(Op::PARAM) && !arguments.empty()) {
      const Arg slot = slot_of_param(u);
      const int64_t i = slot.is_int() ? checked_integer(slot) : 0;
      if (i < 0) return u;  // a variable, no parameter of the function
      if (!slot.is_int() || size_t(i) >= arguments.size())
        throw Refusal{"no argument is passed for PARAM " + slot.repr()};
      return view_as_shrink(arguments[size_t(i)]);
    }
    // A BUFFER in the body of a schedule is memory that only its kernels use. The tag distinguishes it from a BUFFER
    // with the same number among the arguments.
    if (u.is(Op::BUFFER) && (is_list_ || nesting_depth_ == 1) && !arguments.empty()) return u.rtag("between kernels");
    CheckedList<UOp> src;
    for (size_t i = 0; i < u.num_src(); i++) src.push_back(i == 0 && u.in(kCalls) ? u.src(0) : made.at(u.src(i)));
    if (u.in(kCalls) && !is_body_of_kernel(u.src(0)) && u.src(0).in({Op::SINK, Op::TUPLE, Op::LINEAR}))
      return inline_node(u.src(0), UOpSpan(std::span<const UOp>(src).subspan(1)));
    if (u.is(Op::GETTUPLE) && src[0].is(Op::TUPLE)) return src[0].src(axis(checked_integer(u.arg()), src[0].num_src()));
    return view_as_shrink(std::ranges::equal(src, u.src()) ? u : u.with_src(src));
  }

  // Returns a BUFFER_VIEW (0.13 and older), whose arg is the number of elements and the index of the first one, as a
  // SHRINK; other nodes as they are.
  static UOp view_as_shrink(UOp view) {
    if (!view.is(Op::BUFFER_VIEW) || view.num_src() != 1 || !is_memory(view.src(0))) return view;
    const int64_t size = checked_integer(tuple_item(view.arg(), 0)), first = checked_integer(tuple_item(view.arg(), 1));
    UOp buffer = view.src(0);
    Graph& g = buffer.graph();
    if (!(buffer.dtype().base() == view.dtype())) buffer = g.node(Op::BITCAST, view.dtype(), {buffer});
    auto number = [&](int64_t n) { return g.node(Op::CONST, dtypes::index, {}, n); };
    return g.node(Op::SHRINK, view.dtype(), {buffer, number(first), number(checked_add(first, size))});
  }

  static constexpr int64_t kMaxInlinedNodes = 1 << 22;
  int nesting_depth_ = 0;
  int64_t num_inlined_nodes_ = 0;  // of all bodies so far; a body counts once for each of its calls
  bool is_list_ = false;  // true if the innermost body that is being inlined is a LINEAR
};

}  // namespace

size_t TensorLowering::new_memory(DType dtype, int64_t size, int64_t devices) {
  const int64_t all = checked_mul(size, devices);
  if (checked_mul(all, dtype.itemsize()) > kMaxBufferBytes) throw Refusal{"its array is too large"};
  program_.memories.push_back({.dtype = dtype, .num_elements = all, .num_devices = devices});
  return program_.memories.size() - 1;
}

size_t TensorLowering::memory_of_buffer(UOp buffer) {
  if (auto it = buffer_memories_.find(buffer); it != buffer_memories_.end()) return it->second;
  const DType dtype = buffer.dtype().base();
  if (!can_be_stored(dtype)) throw Refusal{"its dtype " + std::string(dtype.repr()) + " has no array"};
  const size_t memory = new_memory(dtype, product(facts_.shape(buffer)), facts_.num_devices(buffer));
  program_.memories[memory].buffer = buffer;
  return buffer_memories_[buffer] = memory;
}

size_t TensorLowering::array_as_dtype(size_t memory, DType dtype) {
  const TensorMemory whole = program_.memories[memory];
  if (whole.dtype == dtype) return memory;
  auto [it, is_new] = arrays_by_dtype_.try_emplace({memory, dtype.base()});
  if (!is_new) return it->second;
  const int64_t bytes = whole.num_elements * whole.dtype.itemsize();
  if (!can_be_stored(dtype) || bytes % dtype.itemsize()) throw Refusal{"its buffer is no array of its dtype"};
  const size_t view = new_memory(dtype, bytes / dtype.itemsize(), 1);
  program_.memories[view].num_devices = whole.num_devices;
  program_.memories[view].view_of = whole.view_of ? whole.view_of : memory;
  program_.memories[view].view_offset = whole.view_offset;
  return it->second = view;
}

size_t TensorLowering::version_of_target(UOp target) {
  while (!is_memory(target)) {
    const bool is_view = buffer_views_.contains(target) || (target.is(Op::BITCAST) && is_memory(view_base(target)));
    if (auto it = buffer_memories_.find(target); it != buffer_memories_.end()) return it->second;
    if (auto it = value_arrays_.find(target); it != value_arrays_.end() && !is_view) return it->second;
    if (!target.num_src()) throw Refusal{"it stores to no buffer"};
    target = target.src(0);
  }
  return memory_of_buffer(target);
}

AffineExpr TensorLowering::make_loop(int64_t size, std::vector<UOp>& loops) {
  if (size == 1) return {};
  constexpr int64_t kFirstLoopNumber = 1000000;  // assumed to be larger than the number of any recorded RANGE
  UOp range = graph_.node(Op::RANGE, dtypes::index, graph_.constant(dtypes::index, size),
                          graph_.tuple({kFirstLoopNumber + current_kernel_.num_loops++, AxisType::LOOP}));
  loops.push_back(range);
  return affine_math_.index(range, 0, std::max<int64_t>(size - 1, 1));
}

UOp TensorLowering::address(size_t memory, const AffineExpr& index, UOp valid) {
  auto& define = current_kernel_.memory_nodes[memory];
  if (!define) {
    const TensorMemory& m = program_.memories[memory];
    define = graph_.node(Op::DEFINE_GLOBAL, m.dtype.ptr(m.num_elements), {}, int64_t(current_kernel_.memories.size()));
    current_kernel_.memories.push_back(memory);
  }
  UOp i = affine_math_.make_node(index);
  if (valid) i = valid.where(i, graph_.invalid());
  return graph_.node(Op::INDEX, program_.memories[memory].dtype, {define, i});
}

void TensorLowering::finish_kernel(UOp store, const std::vector<UOp>& loops) {
  if (program_.kernels.size() >= kMostKernels) throw Refusal{"it needs too many kernels"};
  UOp root = graph_.sink(loops.empty() ? store : graph_.node(Op::END, dtypes::void_, prepend(store, loops)));
  Graph own(graph_.settings());  // of this kernel only, because an import takes memory for each node of a graph
  NonImportableNode why;
  auto imported = import_graph(copy_into(own, root), {}, graph_.settings(), &why);
  if (!imported) throw Refusal{why.reason.empty() ? imported.diag().message : why.reason};
  program_.graphs.push_back(imported->graph);
  program_.kernels.push_back({imported->root, std::move(current_kernel_.memories), {}});
  current_kernel_ = {};
}

void TensorLowering::store_all_values(size_t memory, UOp u) {
  if (program_.memories[memory].num_elements == 0) return;
  std::vector<UOp> loops;
  ElementPoint p;
  if (facts_.num_devices(u) > 1) p.device = make_loop(facts_.num_devices(u), loops);
  if (u.in({Op::STAGE, Op::BUFFERIZE})) {
    // the ranges of a STAGE are its first axes
    const Sizes& shape = facts_.shape(u);
    for (UOp s : sources_from(u, 1)) {
      if (!s.is(Op::RANGE)) { p.place.push_back({}); continue; }
      UOp range = value(s, {});
      p.place.push_back(affine_math_.index(range, 0, std::max<int64_t>(shape[p.place.size()] - 1, 1)));
      loops.push_back(range);
    }
    ElementPoint q{.device = p.device};
    for (size_t axis = p.place.size(); axis < shape.size(); axis++) q.place.push_back(make_loop(shape[axis], loops));
    p.place.insert(p.place.end(), q.place.begin(), q.place.end());
    UOp to = address(memory, flat_index(u, p), {});
    return finish_kernel(graph_.node(Op::STORE, dtypes::void_, {to, value(u.src(0), q)}), loops);
  }
  for (int64_t size : facts_.shape(u)) p.place.push_back(make_loop(size, loops));
  UOp to = address(memory, flat_index(u, p), {});
  finish_kernel(graph_.node(Op::STORE, dtypes::void_, {to, make_value(u, p)}), loops);
}

void TensorLowering::copy_memory(size_t from, size_t to) {
  std::vector<UOp> loops;
  const AffineExpr i = make_loop(program_.memories[from].num_elements, loops);
  UOp target = address(to, i, {});
  finish_kernel(graph_.node(Op::STORE, dtypes::void_, {target, address(from, i, {})}), loops);
}

void TensorLowering::count_uses(const std::vector<UOp>& nodes) {
  // a use of a movement op counts as a use of the value that it moves
  for (UOp u : nodes) {
    if (u.in(ops::Movement | OpSet{Op::UNSHARD, Op::MULTI})) continue;
    for (UOp s : u.src()) {
      while (s.in(ops::Movement | OpSet{Op::UNSHARD, Op::MULTI}) && s.num_src()) s = s.src(0);
      use_counts_[s]++;
    }
  }
}

bool TensorLowering::is_stored(UOp u) const {
  if (u.in(kNeverStored) || !can_be_stored(u.dtype()) || !facts_.has_shape(u)) return false;
  if (!facts_.reads_memory(u) || !facts_.loops_of_node(u).empty()) return false;
  if (u.in(kAlwaysStored)) return true;
  const int64_t size = checked_mul(product(facts_.shape(u)), facts_.num_devices(u));
  if (size > kMostShared) return false;
  auto uses = use_counts_.find(u), depth = value_depths_.find(u);
  return (uses != use_counts_.end() && uses->second > 1) || (depth != value_depths_.end() && depth->second > kDeepest);
}

void TensorLowering::lower_node(UOp u) {
  current_node = u;
  throw_if_late();
  facts_.add_node(u);
  int deepest = 0;
  for (UOp s : u.src()) deepest = std::max(deepest, value_depths_[s]);
  value_depths_[u] = deepest + 1;
  if (u.in({Op::AFTER, Op::ASSIGN}) && u.num_src() > 1) {
    if (u.is(Op::AFTER)) note_other_stores(u);
    UOp buffer = view_base(u.src(0));
    if (is_variable(buffer) || !facts_.has_shape(buffer)) return;
    if (!is_memory(buffer)) array_of_value(buffer);  // the target is a value, such as a copy: give it an array
    size_t version = version_of_target(u.src(0));
    apply_version(u, buffer, version);
    buffer_memories_[u] = version;
    value_depths_[u] = 0;
    if (u.is(Op::AFTER)) note_invalid_state(u);
    return;
  }
  if (u.is(Op::CONTIGUOUS)) note_view(u);
  if (u.is(Op::STORE)) note_stage_of_target(u.src(0));
  const bool is_wide_bitcast = u.is(Op::BITCAST) && u.dtype().itemsize() != u.src(0).dtype().itemsize();
  if (is_wide_bitcast) {  // use the source's array as an array of the other dtype
    UOp from = u.src(0);
    const size_t memory = array_of_value(from);
    const TensorMemory whole = program_.memories[memory];
    const size_t view = new_memory(u.dtype(), product(facts_.shape(u)), whole.num_devices);
    program_.memories[view].view_of = memory;
    value_arrays_[u] = view;
    value_depths_[u] = 0;
    return;
  }
  if (!is_stored(u) && !has_nested_loops(u)) return;
  array_of_value(u);
  value_depths_[u] = 0;
}

// Returns true for a reduction of a value that is itself computed with a loop at each use, if the reduction can be
// stored: nested loops multiply. Adds other nodes that need a loop to `looping_values_`.
bool TensorLowering::has_nested_loops(UOp u) {
  const bool is_reduction = u.in({Op::REDUCE, Op::REDUCE_AXIS});
  const bool has_loop = std::ranges::any_of(u.src(), [&](UOp s) { return looping_values_.contains(s); });
  if (is_reduction && has_loop && can_be_stored(u.dtype()) && facts_.loops_of_node(u).empty() &&
      product(facts_.shape(u)) <= kMostShared)
    return true;
  if (is_reduction || has_loop) looping_values_.insert(u);
  return false;
}

size_t TensorLowering::array_of_value(UOp u) {
  if (auto it = value_arrays_.find(u); it != value_arrays_.end()) return it->second;
  if (!can_be_stored(u.dtype())) throw Refusal{"its dtype " + std::string(u.dtype().repr()) + " has no array"};
  const size_t memory = new_memory(u.dtype(), product(facts_.shape(u)), facts_.num_devices(u));
  store_all_values(memory, u);
  return value_arrays_[u] = memory;
}

TensorProgram TensorLowering::lower_program(UOp root, const TensorImportOptions& what) {
  current_node = root;
  invalid_number_ = what.invalid_value;
  UOpSpan arguments = what.arguments;
  if (root.in(kCalls) && root.num_src()) facts_.detect_op_forms(nodes_in_order(root.src(0)));
  if (root.in(kCalls) && root.num_src() && !is_body_of_kernel(root.src(0)))
    {
      if (arguments.size() + 1 != root.num_src()) arguments = root.src().subspan(1);
      root = root.src(0);
    }
  auto is_argument = [](UOp u) {
    const Arg slot = u.is(Op::PARAM) ? slot_of_param(u) : Arg();
    return slot.is_int() && slot.small_int() >= 0;
  };
  if (std::ranges::none_of(nodes_in_order(root), is_argument)) arguments = {};
  root = Inliner().inline_node(root, arguments);
  const std::vector<UOp> nodes = nodes_in_order(root);
  facts_.detect_op_forms(nodes);
  count_uses(nodes);
  for (UOp u : nodes)
    if (!(u == root)) lower_node(u);
  if (root.is(Op::LINEAR)) run_calls(root);
  else
    for (size_t i = 0; i < root.num_src(); i++) {
      if (what.should_output_values) add_value(root.src(i), i);
      else add_output(root.src(i));
    }
  for (UOp u : nodes) {
    auto other = other_stores_.find(u);
    if (other == other_stores_.end()) continue;
    for (UOp buffer : other->second) add_stores_of_after(u, buffer);
  }
  if (what.should_output_values)
    for (UOp u : nodes)
      if (buffer_memories_.contains(u) && !is_memory(u) && is_memory(view_base(u))) add_stored_output(u);
  // a buffer that is read without an op of kPerDevice above it has the same content on each device
  constexpr OpSet kPerDevice{Op::UNSHARD, Op::MULTI, Op::ALLREDUCE, Op::MSELECT, Op::CALL};
  UOpSet whole(graph_);
  for (UOp u : toposort(root, [](UOp u) { return !u.in(kPerDevice); }))
    if (is_memory(u)) whole.insert(u);
  for (TensorMemory& m : program_.memories) m.is_replicated = m.num_devices > 1 && m.buffer && whole.contains(m.buffer);
  check_program();
  return std::move(program_);
}

// Parts must lie within their arrays, and a kernel needs an array for each of its slots. Throws Refusal if not.
void TensorLowering::check_program() const {
  auto bytes = [](const TensorMemory& m) { return checked_mul(m.num_elements, m.dtype.itemsize()); };
  for (const TensorMemory& m : program_.memories) {
    if (!m.view_of) continue;
    const TensorMemory& whole = program_.memories.at(*m.view_of);
    if (m.view_offset < 0 || checked_add(m.view_offset, bytes(m)) > bytes(whole))
      throw Refusal{"a part of an array is outside"};
  }
  for (const TensorKernel& kernel : program_.kernels)
    for (UOp u : toposort(kernel.ast))
      if (u.is(Op::DEFINE_GLOBAL)) axis(checked_slot(u.arg()), kernel.memories.size());
}

// If an earlier source of the sink stores to the same buffer, the output of both sources is the content after all of
// their stores.
void TensorLowering::add_stored_output(UOp after) {
  const UOp buffer = view_base(after);
  auto last = std::ranges::find(program_.outputs, buffer, &TensorOutput::buffer);
  size_t version = buffer_memories_.at(after);
  if (last != program_.outputs.end() &&
      !std::ranges::includes(applied_effects_[version], applied_effects_[last->memory_index])) {
    version = last->memory_index;
    apply_effect(after, buffer, version, {});
  }
  for (TensorOutput& o : program_.outputs)
    if (o.buffer == buffer) o.memory_index = version;
  program_.outputs.push_back({version, {program_.memories[version].num_elements}, buffer});
}

void TensorLowering::add_value(UOp u, size_t number) {
  current_node = u;
  if (!facts_.has_shape(u)) return add_output(u);
  if (!can_be_stored(u.dtype())) {  // a weak number: compute it in the widest dtype of its kind
    u = graph_.node(Op::CAST, is_float_of_any_release(u.dtype()) ? dtypes::float64 : dtypes::int64, u);
    facts_.add_node(u);
  }
  auto it = value_arrays_.find(u);
  const size_t memory = it != value_arrays_.end() ? it->second
                                            : new_memory(u.dtype(), product(facts_.shape(u)), facts_.num_devices(u));
  if (it == value_arrays_.end()) store_all_values(memory, u);
  program_.outputs.push_back({memory, facts_.shape(u), {}, number});
}

void TensorLowering::add_output(UOp u) {
  current_node = u;
  UOp stored = u;
  while (stored.in(kViewOps) && stored.num_src()) stored = stored.src(0);
  if (auto it = buffer_memories_.find(stored); it != buffer_memories_.end() && !is_memory(stored)) {
    add_stored_output(stored);
    return;
  }
  program_.outputs.push_back({array_of_value(u), facts_.shape(u), {}});
}

}  // namespace tgc::import

namespace tgc {

Result<UOp> inline_calls(UOp root) {
  return catch_failures([&]() -> UOp {
    try {
      return import::Inliner().inline_node(root, {});
    } catch (const import::Refusal& refusal) {
      throw Failure(refusal.reason);
    }
  });
}

Result<TensorProgram> import_tensor_graph(UOp sink, const TensorVariables& variables, NonImportableNode* why,
                                          const TensorImportOptions& what) {
  return catch_failures([&]() -> TensorProgram {
    import::TensorLowering lowering(sink.graph(), variables);
    NonImportableNode details;
    KnownOps known;
    auto refuse = [&](std::string reason) -> Diag {
      const UOp at = known.original(lowering.current_node);
      details = {at, std::string(printed_op_name(at)), std::move(reason)};
      if (why) *why = details;
      return Diag{.message = details.text()};
    };
    try {
      return lowering.lower_program(known.replace_nodes(sink), what);
    } catch (const import::Refusal& refusal) {
      throw Failure(refuse(refusal.reason));
    } catch (const Failure& failure) {
      if (!lowering.current_node) throw;
      throw Failure(refuse(failure.diag().text()));
    }
  });
}

}  // namespace tgc
