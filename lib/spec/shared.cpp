// Rules of the specifications for all stages and for tensor graphs (tinygrad uop/spec.py: shared_spec, movement_ops,
// _tensor_spec, tensor_spec).
#include <algorithm>

#include "lib/spec/tables.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

using namespace pat;

constexpr DTypeSet kBool{Scalar::Bool}, kVoid{Scalar::Void}, kIndex{Scalar::Index},
    kIntOrIndex{Scalar::Int32, Scalar::Index};

// Returns true if the CONST's arg has the Python type of its dtype: type(arg) is type(as_const(arg, dtype)).
bool const_has_the_type_of_its_dtype(UOp u) {
  Arg arg = u.arg();
  Const held = dtypes::as_const(arg.to_const(), u.dtype());
  return arg.is_int() ? held.is_int() : arg.kind() == Arg(held).kind();
}

bool variable_has_integer_bounds(UOp u) { return u.arg()[1].is_integral() && u.arg()[2].is_integral(); }

bool all_sources_from(UOp u, size_t from, auto holds) {
  return std::all_of(u.src().begin() + ptrdiff_t(from), u.src().end(), holds);
}

bool is_valid_range(UOp u) {
  auto items = u.arg().items();
  return u.dtype() == u.src(0).dtype() && items.size() >= 2 && items.back().kind() == Arg::Kind::AxisType &&
         std::all_of(items.begin(), items.end() - 1, [](Arg a) { return a.is_integral(); });
}

bool has_dtype_of_source(UOp u) { return u.dtype() == u.src(0).dtype(); }

}  // namespace

bool has_index_sources(UOp u) {
  return all_sources_from(u, 1, [](UOp s) { return s.dtype() == dtypes::index; });
}

const RuleSet& shared_spec() {
  static const RuleSet set(
      "shared_spec",
      {
          allow_rule("sink", node(Op::SINK).of(kVoid)),
          require_rule("const", leaf_node(Op::CONST), const_has_the_type_of_its_dtype),
          require_rule("define-var", node(Op::DEFINE_VAR), variable_has_integer_bounds),
          // math: result and operands have the same dtype, except conditions, comparisons, shift amounts and casts
          require_rule("where", node(Op::WHERE, anything().of(kBool), anything(), anything()),
                       [](UOp u) { return u.dtype() == u.src(1).dtype() && u.src(1).dtype() == u.src(2).dtype(); }),
          require_rule("compare", node(ops::Comparison, anything(), anything()).of(kBool),
                       [](UOp u) { return u.src(0).dtype().base() == u.src(1).dtype().base(); }),
          require_rule("shift", node({Op::SHL, Op::SHR}, anything(), anything()),
                       [](UOp u) {
                         DType by = u.src(1).dtype();
                         return u.dtype() == u.src(0).dtype() && (by == u.dtype() || by == dtypes::uint32);
                       }),
          decide_rule("div-mod-of-integers", node({Op::IDIV, Op::MOD}),
                      [](UOp u) { return dtypes::is_int(u.dtype()) ? SpecAnswer::Decline : SpecAnswer::No; }),
          require_rule("alu", node(ops::ALU),
                       [](UOp u) {
                         return all_sources_from(u, 0, [&](UOp s) { return s.dtype().base() == u.dtype().base(); });
                       }),
          require_rule("cast", node({Op::BITCAST, Op::CAST}, anything()), [](UOp u) { return u.arg().is_none(); }),
          require_rule("range", any_len(Op::RANGE, anything()), is_valid_range),
          decide_rule("index-by-index", any_len(Op::INDEX, anything()),
                      [](UOp u) { return has_index_sources(u) ? SpecAnswer::Yes : SpecAnswer::Decline; }),
          allow_rule("end-one-range", node(Op::END, anything(), node(Op::RANGE))),
      });
  return set;
}

const RuleSet& movement_spec() {
  static const RuleSet set("movement_ops", {
      allow_rule("reshape-expand", node({Op::RESHAPE, Op::EXPAND}, anything(), anything().of(kIndex))),
      allow_rule("pad-shrink", node({Op::PAD, Op::SHRINK}, anything(), anything().of(kIndex), anything().of(kIndex))),
      require_rule("permute-flip", node({Op::PERMUTE, Op::FLIP}, anything()), [](UOp u) { return u.arg().is_tuple(); }),
      allow_rule("sizes", node({Op::VECTORIZE, Op::VCONST}).of(kIndex)),
      allow_rule("size-arithmetic", node({Op::ADD, Op::MUL, Op::IDIV}).of(kIndex)),
      allow_rule("after-movement", any_len(Op::AFTER, node(ops::Movement | OpSet{Op::MULTI, Op::CONTIGUOUS}))),
      allow_rule("custom-kernel", node(Op::CUSTOM_KERNEL)),
  });
  return set;
}

const RuleSet& untagged_tensor_spec() {
  static const RuleSet own(
      "_tensor_spec",
      {
          allow_rule("unique", leaf_node(Op::UNIQUE).of(kVoid)),
          allow_rule("lunique", leaf_node(Op::LUNIQUE).of(kVoid)),
          require_rule("device", leaf_node(Op::DEVICE).of(kVoid),
                       [](UOp u) {
                         Arg a = u.arg();
                         return a.is_str() ||
                                (a.is_tuple() && std::ranges::all_of(a.items(), [](Arg s) { return s.is_str(); }));
                       }),
          require_rule("buffer", any_len(Op::BUFFER, node({Op::LUNIQUE, Op::UNIQUE}), node(Op::DEVICE)),
                       [](UOp u) { return u.arg().is_integral(); }),
          require_rule("buffer-view", node(Op::BUFFER_VIEW, node(Op::BUFFER)),
                       [](UOp u) {
                         Arg a = u.arg();
                         return a.is_tuple() && a.items().size() == 2 &&
                                std::ranges::all_of(a.items(), [](Arg s) { return s.is_integral() || s.is_uop(); });
                       }),
          allow_rule("buffer-view-of-stack", node(Op::BUFFER_VIEW, each(Op::MSTACK, node(Op::BUFFER)))),
          // KERNEL: its sources are buffers (also views, selections or earlier results of buffers), CONTIGUOUS and BIND
          allow_rule("kernel", each(Op::KERNEL, node({Op::BUFFER, Op::BUFFER_VIEW, Op::AFTER, Op::MSELECT, Op::MSTACK,
                                                      Op::BIND, Op::CONTIGUOUS}))),
          // ASSIGN: a target, a value, and other ASSIGNs that must come first
          require_rule(
              "assign", node(Op::ASSIGN),
              [](UOp u) { return u.num_src() >= 2 && all_sources_from(u, 2, [](UOp s) { return s.is(Op::ASSIGN); }); }),
          require_rule("mselect", node(Op::MSELECT),
                       [](UOp u) {
                         Arg devices = device_of(u.src(0));
                         return devices.is_tuple() && u.arg().is_integral() &&
                                u.arg().as_int() < Int(int64_t(devices.items().size()));
                       }),
          require_rule("mstack", node(Op::MSTACK),
                       [](UOp u) { return all_sources_from(u, 0, [](UOp s) { return device_of(s).is_str(); }); }),
          allow_rule(
              "bind",
              node(Op::BIND, node(Op::DEFINE_VAR), node({Op::CONST, Op::VCONST}).of(kIntOrIndex)).of(kIntOrIndex)),
          allow_rule("bind-without-value", node(Op::BIND, node(Op::DEFINE_VAR)).of(kIntOrIndex)),
          allow_rule("const-on-device", node(Op::CONST, node(Op::DEVICE))),
          allow_rule("unique-const", node(Op::CONST, node(Op::DEVICE), node({Op::LUNIQUE, Op::UNIQUE}))),
          require_rule("contiguous", node({Op::DETACH, Op::CONTIGUOUS, Op::CONTIGUOUS_BACKWARD}, anything()),
                       has_dtype_of_source),
          require_rule("contiguous-over-ranges", any_len(Op::CONTIGUOUS, anything()),
                       [](UOp u) {
                         return has_dtype_of_source(u) && all_sources_from(u, 1, [](UOp s) { return s.is(Op::RANGE); });
                       }),
          require_rule("copy", node(Op::COPY, anything(), node(Op::DEVICE)), has_dtype_of_source),
          require_rule("allreduce", node(Op::ALLREDUCE, anything(), node(Op::DEVICE)),
                       [](UOp u) { return has_dtype_of_source(u) && u.arg().is_op(); }),
          require_rule("multi", node(Op::MULTI),
                       [](UOp u) {
                         return all_sources_from(u, 0, [&](UOp s) { return s.dtype() == u.dtype(); }) &&
                                u.arg().is_integral();
                       }),
          require_rule("encdec", node(Op::ENCDEC), [](UOp u) { return u.num_src() >= 2; }),
          require_rule("reduce-axis", node(Op::REDUCE_AXIS),
                       [](UOp u) {
                         Arg a = u.arg();
                         return a.is_tuple() && a.items().size() >= 2 &&
                                (a[0].is(Op::ADD) || a[0].is(Op::MUL) || a[0].is(Op::MAX));
                       }),
          require_rule("reduce-outer", any_len(Op::REDUCE, anything()), has_index_sources),
          // an AFTER of a buffer, which exists once the scheduler has created kernels
          allow_rule("after-buffer", any_len(Op::AFTER, node({Op::BUFFER, Op::AFTER}))),
          allow_rule("bind-range", node(Op::BIND, node(Op::DEFINE_VAR), node(Op::RANGE)).of(kIntOrIndex)),
          allow_rule("store", node(Op::STORE, anything(), anything())),
      });
  static const RuleSet set("_tensor_spec", {&own, &movement_spec(), &shared_spec()});
  return set;
}

const RuleSet& tensor_spec() {
  static const RuleSet own(
      "tensor_spec", {
                         // reject a node with a tag, because only stages set tags
                         decide_rule("no-tags", node(OpSet::all()),
                                     [](UOp u) { return u.tag().is_none() ? SpecAnswer::Decline : SpecAnswer::No; }),
                     });
  static const RuleSet set("tensor_spec", {&own, &untagged_tensor_spec()});
  return set;
}

}  // namespace tgc
