// Rules of the specifications for kernels, programs and any stage (tinygrad uop/spec.py: shared_codegen_spec,
// kernel_spec, program_spec, full_spec).
#include <algorithm>

#include "lib/spec/tables.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

using namespace pat;

constexpr DTypeSet kBool{Scalar::Bool}, kVoid{Scalar::Void}, kIndex{Scalar::Index};

bool points_to_space(UOp u, AddrSpace space) { return u.dtype().is_ptr() && u.dtype().addrspace() == space; }

bool is_valid_vectorize(UOp u) {
  auto n = int64_t(u.num_src());
  return n > 1 && n == u.dtype().vcount() &&
         std::all_of(u.src().begin(), u.src().end(), [&](UOp s) { return u.dtype() == s.dtype().vec(n); });
}

// Returns true if the index is Invalid, if bounds or a gate that is never true prove that no access is outside of the
// buffer, or if the access cannot be checked. As in tinygrad, accesses are checked only with IGNORE_OOB=0.
bool is_index_in_bounds(UOp u) {
  UOp buffer = u.src(0), i = u.src(1);
  if (i.is_invalid() || u.graph().settings().IGNORE_OOB || buffer.dtype().is_image()) return true;
  if (!buffer.dtype().is_ptr() || buffer.dtype().size() == -1) return true;
  if (!py_less(i.vmin(), 0) && py_less(i.vmax(), buffer.dtype().size())) return true;
  auto opaque = [](UOp x) { return x.is(Op::BITCAST) || (x.is(Op::CAST) && x.src(0).dtype().is_ptr()); };
  for (size_t k = 1; k < u.num_src(); k++)
    for (UOp x : toposort(u.src(k)))
      if (opaque(x)) return true;
  return u.num_src() > 2 && !u.src(2).vmax().truthy();
}

Int num_axis_elements(Arg axes) {
  Int n = 1;
  for (Arg pair : axes.items()) n = n * pair[1].as_int();
  return n;
}

int64_t count_elements(UOp u, int (*of)(DType)) {
  int64_t n = 0;
  for (UOp s : u.src()) n += of(s.dtype());
  return n;
}

bool is_valid_vconst(UOp u) {
  auto items = u.arg().items();
  return items.size() > 1 && items.size() == size_t(u.dtype().vcount()) &&
         std::none_of(items.begin(), items.end(), [](Arg a) { return a.is_invalid(); });
}

}  // namespace

const RuleSet& shared_codegen_spec() {
  static const RuleSet set(
      "shared_codegen_spec",
      {
          require_rule("define-global", node(Op::DEFINE_GLOBAL),
                       [](UOp u) { return points_to_space(u, AddrSpace::GLOBAL); }),
          require_rule("define-local", node(Op::DEFINE_LOCAL),
                       [](UOp u) { return points_to_space(u, AddrSpace::LOCAL); }),
          require_rule("define-reg", leaf_node(Op::DEFINE_REG), [](UOp u) { return u.arg().is_integral(); }),
      // an AFTER has the value of its first source after the other sources were executed
          allow_rule("after-define", any_len(Op::AFTER, node(ops::Defines | Op::AFTER))),
          allow_rule("group", node(Op::GROUP).of(kVoid)),
          require_rule("wmma", node(Op::WMMA, anything(), anything(), anything()),
                       [](UOp u) { return u.arg().is_tuple() && u.arg().items().size() == 8; }),
          require_rule("vectorize", node(Op::VECTORIZE), is_valid_vectorize),
          require_rule("gep", node(Op::GEP, anything()), [](UOp u) { return u.dtype() == u.src(0).dtype().scalar(); }),
          allow_rule("load", node(Op::LOAD, or_casted(node(Op::INDEX, anything(), anything())))),
          allow_rule("store-to-index", node(Op::STORE, or_casted(node(Op::INDEX)), anything())),
          allow_rule("custom", node({Op::CUSTOMI, Op::CUSTOM})),
          require_rule("index-inside", node(Op::INDEX, node(ops::Defines | Op::AFTER), anything()), is_index_in_bounds),
          require_rule("special", node(Op::SPECIAL, anything().of({Scalar::Index, Scalar::Int32})),
                       [](UOp u) { return u.dtype() == u.src(0).dtype() && u.arg().is_str(); }),
          allow_rule("barrier", node(Op::BARRIER).of(kVoid)),
      });
  return set;
}

const RuleSet& kernel_spec() {
  static const RuleSet own(
      "kernel_spec",
      {
      // arithmetic of dtype index, which a later stage lowers to int or long
          allow_rule("index-math", node(ops::Elementwise | OpSet{Op::CONST, Op::RANGE, Op::DEFINE_VAR}).of(kIndex)),
          require_rule("contract", node(Op::CONTRACT),
                       [](UOp u) { return Int(u.dtype().count()) == num_axis_elements(u.arg()); }),
          require_rule("unroll", node(Op::UNROLL),
                       [](UOp u) { return Int(u.src(0).dtype().count()) == num_axis_elements(u.arg()); }),
          allow_rule("end", any_len(Op::END, anything(), anything())),
          allow_rule("bufferize", any_len(Op::BUFFERIZE, anything())),
          require_rule("reduce-over-ranges", any_len(Op::REDUCE, anything()), has_index_sources),
      });
  static const RuleSet set("kernel_spec", {&own, &movement_spec(), &shared_codegen_spec(), &shared_spec()});
  return set;
}

const RuleSet& program_spec() {
  static const RuleSet own(
      "program_spec",
      {
          require_rule("gated-index", node(Op::INDEX, node(ops::Defines | Op::AFTER), anything(), anything().of(kBool)),
                       is_index_in_bounds),
          allow_rule(
              "gated-load",
              node(Op::LOAD, or_casted(node(Op::INDEX, anything(), anything(), anything().of(kBool))), anything())),
          allow_rule("end-void", node(Op::END, anything(), node(Op::RANGE)).of(kVoid)),
      // earlier stages must have lowered the dtype index and the constant Invalid
          decide_rule("no-index-dtype", node(OpSet::all()).of(kIndex), [](UOp) { return SpecAnswer::No; }),
          decide_rule("no-invalid", node(Op::CONST).arg(Const::invalid()), [](UOp) { return SpecAnswer::No; }),
          require_rule("vconst", node(Op::VCONST), is_valid_vconst),
      // an IF has a condition and an INDEX or CAST, which distinguishes IFs with equal conditions
          allow_rule("if", node(Op::IF, anything().of(kBool), node({Op::CAST, Op::INDEX})).of(kVoid)),
          allow_rule("endif", node(Op::ENDIF, node(Op::IF)).of(kVoid)),
      });
  static const RuleSet set("program_spec", {&own, &shared_codegen_spec(), &shared_spec()});
  return set;
}

const RuleSet& full_spec() {
  static const RuleSet own(
      "full_spec",
      {
          allow_rule("noop", node(Op::NOOP)),
          allow_rule("rewrite-error", node(Op::REWRITE_ERROR)),
          allow_rule("buffer-view-of-access", node(Op::BUFFER_VIEW, node({Op::INDEX, Op::LOAD}))),
          allow_rule("assign-with-shape", node(Op::ASSIGN, anything(), anything(), anything())),
          allow_rule("unroll-contract", node({Op::UNROLL, Op::CONTRACT}, anything())),
          require_rule("gep-several", node(Op::GEP),
                       [](UOp u) {
                         return u.dtype() == dtypes::void_ ||
                                (u.arg().is_tuple() && size_t(u.dtype().vcount()) == u.arg().items().size());
                       }),
          require_rule(
              "ptrcat", node(Op::PTRCAT),
              [](UOp u) { return u.dtype().vcount() == count_elements(u, [](DType d) { return d.base().count(); }); }),
          require_rule(
              "cat", node(Op::CAT),
              [](UOp u) { return u.dtype().vcount() == count_elements(u, [](DType d) { return d.vcount(); }); }),
          allow_rule("index-of-vector", node(Op::INDEX, node({Op::VECTORIZE, Op::CAST}), anything())),
      // KERNEL nodes, which are in tensor graphs until create_schedule makes a schedule of them
          allow_rule("kernel-void", node(Op::KERNEL).of(kVoid)),
          require_rule("invalid-is-index", node(Op::CONST).arg(Const::invalid()),
                       [](UOp u) { return u.dtype().scalar() == dtypes::index; }),
          allow_rule("where-on-index",
                     node(Op::WHERE, anything().of(kBool), anything(), anything().of(kIndex)).of(kIndex)),
          allow_rule("index-dtype", node({Op::ADD, Op::MUL, Op::MOD, Op::IDIV, Op::MAX, Op::SPECIAL, Op::CAST,
                                          Op::RANGE, Op::VCONST, Op::VECTORIZE})
                                        .of(kIndex)),
          allow_rule("bind-casted", node(Op::BIND, anything(), anything()).of({Scalar::Int32, Scalar::Index})),
          allow_rule("several-devices", node({Op::MSELECT, Op::MSTACK})),
          allow_rule("program-sink", node(Op::PROGRAM, node(Op::SINK), node(Op::DEVICE)).of(kVoid)),
          allow_rule("program-linear", node(Op::PROGRAM, node(Op::SINK), node(Op::DEVICE), node(Op::LINEAR)).of(kVoid)),
          allow_rule("program-source",
                     node(Op::PROGRAM, node(Op::SINK), node(Op::DEVICE), node(Op::LINEAR), node(Op::SOURCE)).of(kVoid)),
          allow_rule("program-binary", node(Op::PROGRAM, node(Op::SINK), node(Op::DEVICE), node(Op::LINEAR),
                                            node(Op::SOURCE), node(Op::BINARY))
                                           .of(kVoid)),
          allow_rule("linear", node(Op::LINEAR).of(kVoid)),
          allow_rule("source", leaf_node(Op::SOURCE).of(kVoid)),
          allow_rule("binary", leaf_node(Op::BINARY).of(kVoid)),
          // any VECTORIZE, INDEX, LOAD, STORE, AFTER and variable of floats, because rewrites make such nodes
          // temporarily
          allow_rule("any-vectorize", node(Op::VECTORIZE)),
          allow_rule("any-index", node(Op::INDEX)),
          allow_rule("any-access", node({Op::LOAD, Op::STORE})),
          allow_rule("float-variable", node(Op::DEFINE_VAR).of(dtypes::floats)),
          allow_rule("any-after", any_len(Op::AFTER, anything())),
      });
  static const RuleSet set("full_spec",
                           {&own, &untagged_tensor_spec(), &kernel_spec(), &program_spec(), &shared_spec()});
  return set;
}

}  // namespace tgc
