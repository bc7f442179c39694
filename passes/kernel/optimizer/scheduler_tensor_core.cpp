// The TC opt of Scheduler::apply_opt: turns a matrix product into tensor core instructions (tinygrad
// codegen/opt/postrange.py:_apply_tc_opt).
//
// Splits the product's axes N, M and K by 2, repeatedly. Unless use_tensor_cores is 2, the operands then read the new
// axes in the order of the tensor core's swizzles, and the REDUCE becomes a WMMA between CONTRACTs and an UNROLL.
#include <algorithm>
#include <bit>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/debug.h"
#include "lib/uop/facts.h"
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {
namespace {

std::vector<UOp> sort_by_id_descending(std::vector<UOp> ranges) {
  for (UOp r : ranges)
    if (!r.is(Op::RANGE)) throw Failure("a tensor core can only reduce over RANGEs");
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](UOp a, UOp b) { return axis_ids(a)[0].as_int() > axis_ids(b)[0].as_int(); });
  return ranges;
}

std::vector<UOp> exclusive_ranges(UOp u, UOp other) {
  std::vector<UOp> out;
  for (UOp r : u.ranges())
    if (!is_inside_range(other, r)) out.push_back(r);
  return sort_by_id_descending(out);
}

// Formats ranges as "[(2, 64), (1, 32)]" (axis id, size), for DEBUG=3.
std::string ids_and_sizes_text(const std::vector<UOp>& ranges) {
  std::string out;
  for (UOp r : ranges)
    out += (out.empty() ? "(" : ", (") + axis_ids(r)[0].str() + ", " + (r.vmax().as_int() + 1).str() + ")";
  return "[" + out + "]";
}

UOp without_cast(UOp u) { return u.is(Op::CAST) ? u.src(0) : u; }

int64_t int64_arg(Arg arg, const char* what) { return arg.as_int().int64_or_throw(what); }

}  // namespace

std::vector<UOp> Scheduler::apply_tc(const Opt& opt) {
  check_opt(applied_opts_.empty(), "tensor core opts must be first");
  check_opt(opt.axis.has_value(), "tensor core opts must have an axis");
  check_opt(opt.arg.is_tuple() && opt.arg.items().size() == 3 && opt.arg[0].is_integral() && opt.arg[1].is_integral() &&
            opt.arg[2].is_integral(),
            "tensor core opts must have valid arg");
  int64_t select = int64_arg(opt.arg[0], "tc_select"), tc_opt = int64_arg(opt.arg[1], "tc_opt"),
          use = int64_arg(opt.arg[2], "use_tensor_cores");
  auto all = target_->tensor_cores;
  check_opt(-1 <= select && select < int64_t(all.size()), "tensor core opts must have valid tc_select");
  check_opt(0 <= tc_opt && tc_opt <= 2, "tensor core opts must have valid tc_opt");
  check_opt(0 < use && use <= 2, "use_tensor_cores value is not valid");

  UOp reduceop = this->reduceop();
  check_opt(bool(reduceop), "no reduce ops for TensorCore");
  UOp mul = without_cast(reduceop.src(0));
  check_opt(reduceop.arg().is(Op::ADD) && mul.is(Op::MUL), "no tensor core available");
  UOp a = mul.src(0), b = mul.src(1);
  bool nvidia = target_->device == "CUDA" || target_->device == "NV";
  for (const TensorCore& tc : select == -1 ? all : all.subspan(size_t(select), 1)) {
    if (nvidia && tc.dtype_in == dtypes::float32 && !graph().settings().ALLOW_TF32) continue;
    if (tc.dtype_in != a.dtype().scalar() || tc.dtype_in != b.dtype().scalar() ||
        tc.dtype_out != reduceop.dtype().scalar())
      continue;
    auto axes = choose_tc_axes(reduceop, a, b, *opt.axis);
    if (!axes) continue;
    set_ast(substitute(ast_, {{reduceop, reduceop.rtag(graph().str("TC"))}}));
    if (!pad_tc_axes(tc, *axes, tc_opt)) continue;
    auto split = split_tc_axes(tc, *axes);
    if (use != 2) emit_wmma(tc, split);
    tensor_core_ = &tc;
    return {axes->begin(), axes->end()};
  }
  throw KernelOptError("no tensor core available");
}

// Returns axes N, M and K. Each combination of a range of B only (N), a range of A only (M) and a reduced range (K) has
// a number; `choice` is this number, or, if negative, counts from the last. Returns nullopt if there is no combination
// or `choice` is past the last one. Throws KernelOptError if `choice` is before the first one.
std::optional<std::array<UOp, 3>> Scheduler::choose_tc_axes(UOp reduceop, UOp a, UOp b, int64_t choice) const {
  auto m = exclusive_ranges(a, b), n = exclusive_ranges(b, a),
       k = sort_by_id_descending({reduceop.src().begin() + 1, reduceop.src().end()});
  if (has_debug_level(graph(), 3))
    print_debug_line("TC(" + std::to_string(choice) + "): " + ids_and_sizes_text(m) + " " + ids_and_sizes_text(n) +
                     " " + ids_and_sizes_text(k));
  int64_t choices = int64_t(n.size() * m.size() * k.size());
  if (choices == 0 || choice >= choices) return std::nullopt;
  if (choice < 0) choice += choices;
  check_opt(choice >= 0, "the axis of TC is out of range");
  size_t at = size_t(choice);
  return std::array{n[at / k.size() / m.size()], m[at / k.size() % m.size()], k[at % k.size()]};
}

// Pads the axes that the tensor core's dimensions do not divide. Returns false if an axis needs padding but tc_opt < 2,
// or if the padding does not fit.
bool Scheduler::pad_tc_axes(const TensorCore& tc, std::array<UOp, 3>& axes, int64_t tc_opt) {
  for (size_t i = 0; i < 3; i++) {
    size_t axis = axis_of(axes[i]);
    if (floor_mod(axes[i].vmax().as_int() + 1, tc.dims[i]) == Int(0)) continue;
    if (tc_opt < 2) return false;
    try {
      apply_opt({OptOps::PADTO, int64_t(axis), tc.dims[i]}, false);
    } catch (const KernelOptError&) {
      return false;
    }
    axes[i] = rngs()[axis];
  }
  return true;
}

// Splits N and M by 2 according to the tensor core's opts, then K by 2 for each of its reduce axes. Returns the
// new axes in this order. The new local axes are the binary digits of one WARP range.
std::vector<UOp> Scheduler::split_tc_axes(const TensorCore& tc, std::array<UOp, 3>& axes) {
  UOp warp = graph().range(tc.threads, -1, AxisType::WARP);
  std::vector<UOp> made;
  auto split = [&](UOp& axis, AxisType type, UOp new_axis = {}) {
    auto [rest, new_rng] = shift_to(axis, 2, type, false, new_axis);
    axis = rest;
    made.push_back(new_rng);
  };
  for (TcAxis opt : parse_tc_axes(tc.opts)) {
    if (opt.letter == 'l') {
      split(axes[size_t(opt.number)], AxisType::LOCAL, warp % 2);
      warp = warp / 2;
    } else {
      split(axes[size_t(opt.number)], AxisType::UPCAST);
    }
  }
  for (int i = 0; i < tc.num_reduce_axes(); i++) split(axes[2], AxisType::UNROLL);
  return made;
}

// Replaces the REDUCE tagged "TC" by the tensor core's WMMA.
void Scheduler::emit_wmma(const TensorCore& tc, const std::vector<UOp>& split) {
  Graph& g = graph();
  std::vector<UOp> tagged;
  for (UOp r : facts().reduceops)
    if (r.tag() == g.str("TC")) tagged.push_back(r);
  if (tagged.size() != 1)
    throw Failure("the kernel has " + std::to_string(tagged.size()) + " reduces for the tensor core, expected 1");
  UOp reduceop = tagged[0];

  // Permute the split axes in the operands. Tags mark the new axes, so that no axis is replaced twice.
  Substitution to_tagged;
  for (UOp u : split) to_tagged.emplace_back(u, u.rtag(Arg(1)));
  UOp mul = without_cast(substitute(reduceop, to_tagged).src(0));
  auto permutes = tc.permutes(tc.base_shape());
  auto operand = [&](size_t i) {
    Substitution permuted;  // replaces axis permutes[i][j] by axis j
    for (size_t j = 0; j < split.size(); j++) permuted.emplace_back(to_tagged[permutes[i][j]].second, split[j]);
    return substitute(mul.src(i), permuted);
  };
  UOp srcs[2] = {operand(0), operand(1)};

  auto shape = shape_str();
  auto id_of = [&](TcAxis axis) {
    auto it = std::find(shape.begin(), shape.end(), axis);
    if (it == shape.end()) throw KernelOptError("the kernel lacks an axis of the tensor core");
    return axis_ids(rngs()[size_t(it - shape.begin())])[0];
  };
  std::vector<Arg> reduce_ids, base;
  for (int i = 0; i < tc.num_reduce_axes(); i++) reduce_ids.push_back(id_of({'r', i}));
  for (TcAxis axis : tc.base_upcast_axes()) base.push_back(g.tuple({id_of(axis), Arg(2)}));
  Arg upcast_axes[3];  // for each of A, B and C, its log2(elements per thread) upcast axes as pairs (axis id, 2)
  for (size_t i = 0; i < 3; i++)
    upcast_axes[i] = g.tuple(std::span(base).first(size_t(std::bit_width(uint64_t(tc.elements_per_thread[i])) - 1)));

  DType out = tc.dtype_out.vec(tc.elements_per_thread[2]);
  auto contract = [&](size_t i) {
    return g.node(Op::CONTRACT, srcs[i].dtype().vec(tc.elements_per_thread[i]), {srcs[i]}, upcast_axes[i], Arg(1));
  };
  Arg arg = g.tuple({g.str(tc.str()), g.ints(tc.dims), Arg(tc.dtype_in), Arg(tc.dtype_out), g.str(target_->device),
                     Arg(tc.threads), g.tuple(upcast_axes), g.tuple({})});
  UOp wmma = g.node(Op::WMMA, out, {contract(0), contract(1), g.constant(out, 0.0)}, arg, Arg(1));
  UOp result = g.node(Op::UNROLL, tc.dtype_out, {wmma}, upcast_axes[2], Arg(1));

  std::vector<UOp> other_ranges;
  for (UOp r : toposort(g.sink(reduceop.src().subspan(1))))
    if (r.is(Op::RANGE) && std::find(reduce_ids.begin(), reduce_ids.end(), axis_ids(r)[0]) == reduce_ids.end())
      other_ranges.push_back(r);
  if (!other_ranges.empty()) result = result.reduce(other_ranges, Op::ADD);
  set_ast(substitute(ast_, {{reduceop, result}}));
}

}  // namespace tgc
