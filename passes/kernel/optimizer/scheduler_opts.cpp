// Scheduler::apply_opt: checks and applies each opt (tinygrad codegen/opt/postrange.py: real_axis, apply_opt).
// The TC opt is in scheduler_tensor_core.cpp.
#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

using namespace pat;

namespace {

constexpr AxisTypeSet kReduces{AxisType::REDUCE, AxisType::UNROLL, AxisType::GROUP_REDUCE};

bool is_group_opt(OptOps op) { return op == OptOps::GROUP || op == OptOps::GROUPTOP; }
bool is_split_opt(OptOps op) {
  return is_group_opt(op) || op == OptOps::LOCAL || op == OptOps::UPCAST || op == OptOps::UNROLL ||
         op == OptOps::THREAD;
}

AxisType split_axis_type(OptOps op) {
  switch (op) {
    case OptOps::LOCAL: return AxisType::LOCAL;
    case OptOps::UPCAST: return AxisType::UPCAST;
    case OptOps::UNROLL: return AxisType::UNROLL;
    case OptOps::THREAD: return AxisType::THREAD;
    default: return AxisType::GROUP_REDUCE;
  }
}

// Returns list[i] with Python's indexing: negative numbers count from the end.
template <class T>
const T& at_python_index(const std::vector<T>& list, int64_t i, const char* what) {
  if (i < 0) i += int64_t(list.size());
  if (i < 0 || i >= int64_t(list.size())) throw KernelOptError(std::string(what) + " is out of range");
  return list[size_t(i)];
}

int64_t int_arg(const Opt& opt) {
  if (!opt.arg.is_integral())
    throw KernelOptError("the arg of " + std::string(name_of(opt.op)) + " is an integer, not " + opt.arg.repr());
  return opt.arg.as_int().int64_or_throw("the arg of an Opt");
}

Int num_steps(UOp rng) { return rng.vmax().as_int() + 1; }

}  // namespace

// SWAP tags the ranges that it has replaced, so that they are not replaced again.
const RuleSet& swap_remove_tags() {
  static const RuleSet set("swap remove tags",
                           {
                               rule("remove-tag", node(OpSet::all()).as(x),
                                    with(x, [](UOp x) { return x.tag().is_none() ? UOp() : x.rtag(Arg()); })),
                           });
  return set;
}

int64_t Scheduler::real_axis(const Opt& opt) const {
  if (!opt.axis || opt.op == OptOps::TC) return -1;
  if (opt.op == OptOps::UNROLL) return int64_t(at_python_index(unrollable_dims(), *opt.axis, "the axis of UNROLL"));
  if (is_group_opt(opt.op))
    return int64_t(at_python_index(axes_of({AxisType::REDUCE}), *opt.axis, "the axis of a group"));
  if (*opt.axis >= int64_t(rngs().size()))
    throw KernelOptError("invalid axis " + std::to_string(*opt.axis) + " of " + std::string(name_of(opt.op)) +
                         ", the kernel has " + std::to_string(rngs().size()));
  return *opt.axis;
}

// Throws KernelOptError if the local buffer of a grouped reduce exceeds the limit of shared memory.
void Scheduler::check_shared_memory(const Opt& opt, int64_t amount) const {
  UOp reduce = reduceop();
  if (!reduce || !(is_group_opt(opt.op) || has_axis_of_type({AxisType::GROUP_REDUCE}))) return;
  Int bytes = Int(amount) * Int(reduce.dtype().itemsize());
  for (size_t i : axes_of({AxisType::UPCAST, AxisType::WARP, AxisType::LOCAL, AxisType::GROUP_REDUCE}))
    bytes *= full_shape()[i].int64_or_throw("the size of a local axis");
  if (bytes > Int(target_->shared_max))
    throw KernelOptError("exceeds maximum shared memory size: needs " + bytes.str() + ", max " +
                         std::to_string(target_->shared_max));
}

void Scheduler::check_split(const Opt& opt, UOp rng, int64_t amount) const {
  check_shared_memory(opt, amount);
  AxisType type = axis_type(rng);
  if (is_group_opt(opt.op)) {
    auto& reduces = facts().reduceops;
    auto reduce = std::find_if(reduces.begin(), reduces.end(), [&](UOp r) {
      return std::any_of(r.src().begin() + 1, r.src().end(), [&](UOp ended) { return is_inside_range(ended, rng); });
    });
    if (reduce == reduces.end()) {
      if (reduceop()) throw Failure("no reduce ends the range that " + std::string(name_of(opt.op)) + " splits");
    } else {
      auto around = reduce->ranges();
      check_opt(std::none_of(around.begin(), around.end(), [](UOp r) { return kReduces.contains(axis_type(r)); }),
                "cannot have a GROUP_REDUCE inside another reduce");
    }
  }
  switch (opt.op) {
    case OptOps::UNROLL:
      check_opt(amount <= 32, "don't unroll more than 32");
      check_opt(type == AxisType::GROUP_REDUCE || type == AxisType::REDUCE, "unroll is for GROUP_REDUCE/REDUCE");
      break;
    case OptOps::UPCAST:
      check_opt(amount <= 16, "don't upcast more than 16");
      check_opt(type == AxisType::GLOBAL || type == AxisType::LOCAL || type == AxisType::LOOP,
                "upcast is for GLOBAL/LOCAL/LOOP");
      break;
    case OptOps::LOCAL:
      check_opt(!dont_use_locals_, "can't use locals");
      check_opt(type == AxisType::GLOBAL || type == AxisType::LOOP, "local is for globals");
      break;
    case OptOps::THREAD:
      check_opt(target_->has_threads, "target does not support threads");
      check_opt(target_->global_max && amount <= (*target_->global_max)[0], "too many threads");
      check_opt(!has_axis_of_type({AxisType::THREAD}), "already threaded");
      check_opt(is_globalizable(rng), "can't apply range to this dim");
      break;
    default:
      check_opt(
          std::none_of(applied_opts_.begin(), applied_opts_.end(), [](const Opt& o) { return o.op == OptOps::TC; }),
          "no grouping with tensor cores");
      check_opt(!dont_use_locals_, "can't use locals");
      check_opt(type == AxisType::REDUCE, "group is for reduce");
  }
}

std::vector<UOp> Scheduler::apply_split(const Opt& opt, UOp rng) {
  int64_t amount = int_arg(opt);
  if (amount == 0) amount = num_steps(rng).int64_or_throw("the size of an axis");
  check_split(opt, rng, amount);
  auto [rest, made] =
      shift_to(rng, amount, split_axis_type(opt.op), opt.op == OptOps::GROUPTOP || opt.op == OptOps::THREAD);
  return {rest, made};
}

// Pads the axis to a multiple of the opt's amount. Accesses in the padding become Invalid.
void Scheduler::apply_padto(const Opt& opt, UOp rng) {
  check_opt(rng.src(0).is_const(), "only pad const axes");
  AxisType type = axis_type(rng);
  check_opt(type != AxisType::UPCAST && type != AxisType::UNROLL, "cannot pad upcasted");
  check_opt(type != AxisType::THREAD, "cannot pad thread");
  if (UOp r = reduceop(); r && (type == AxisType::GROUP_REDUCE || type == AxisType::REDUCE)) {
    // zero padding preserves a sum if all ops that compute its terms map 0 to 0
    bool safe = r.arg().is(Op::ADD) && std::none_of(r.src().begin(), r.src().end(), [](UOp s) {
                  return op_in_backward_slice_with_self(s, ops::UnsafePad);
                });
    check_opt(safe, "cannot pad a reduce that zeros would change");
  }
  Int size = num_steps(rng), multiple = int_arg(opt);
  Int new_size = floor_div(size + multiple - 1, multiple) * multiple;
  check_opt(size > floor_div(new_size, 4), "pad adds more than quadruple the work");

  UOp padded = graph().range(graph().constant(dtypes::index, new_size), rng.arg().items());
  UOp valid = padded.lt(size);
  Substitution replaces{{rng, padded}};
  for (UOp b : bufs()) {
    UOp idx = b.src(1).get_idx();
    if (in_backward_slice_with_self(idx, rng))
      replaces.emplace_back(b, b.with_src({b.src(0), (valid & b.src(1).get_valid()).where(idx, graph().invalid())}));
  }
  set_ast(substitute(ast_, replaces, nullptr, "padto"));
}

void Scheduler::apply_swap(const Opt& opt, UOp rng) {
  UOp other = at_python_index(rngs(), int_arg(opt), "the other axis of SWAP");
  check_opt(axis_type(rng) == AxisType::GLOBAL && axis_type(other) == AxisType::GLOBAL, "swap only for globals");
  Substitution swap{{rng, rng.replace({.arg = other.arg(), .tag = Arg(1)})},
                    {other, other.replace({.arg = rng.arg(), .tag = Arg(1)})}};
  set_ast(substitute(ast_, swap, nullptr, "swap"));
  set_ast(graph_rewrite(ast_, swap_remove_tags()));
}

std::vector<UOp> Scheduler::apply_opt(const Opt& opt, bool should_record) {
  std::vector<UOp> out;
  if (opt.op == OptOps::NOLOCALS) {
    check_opt(!has_axis_of_type({AxisType::WARP, AxisType::LOCAL, AxisType::GROUP_REDUCE}),
              "no locals can't have locals");
    dont_use_locals_ = true;
  } else if (opt.op == OptOps::TC) {
    out = apply_tc(opt);
  } else {
    if (is_group_opt(opt.op) || opt.op == OptOps::LOCAL) check_opt(target_->has_local, "locals needed for opt");
    int64_t axis = real_axis(opt);
    if (axis < 0) throw KernelOptError(std::string(name_of(opt.op)) + " needs an axis");
    UOp rng = rngs()[size_t(axis)];
    if (is_split_opt(opt.op)) out = apply_split(opt, rng);
    else if (opt.op == OptOps::PADTO) apply_padto(opt, rng);
    else apply_swap(opt, rng);
  }
  if (should_record) applied_opts_.push_back(opt);
  return out;
}

}  // namespace tgc
