#include "lib/spec/spec.h"

#include <doctest/doctest.h>

#include <functional>

#include "lib/records/golden.h"
#include "lib/rewrite/hits.h"
#include "lib/rewrite/matcher.h"
#include "lib/spec/tables.h"
#include "lib/support/testing.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/uop/graph.h"

using namespace tgc;

namespace {

std::string spec_verdict(std::string_view text, Spec spec) {
  Graph g;
  auto root = read_pyrender(g, text);
  if (!root) return root.diag().text();
  auto violation = verify_graph(*root, spec);
  return violation ? violation->rule ? std::string(violation->rule->name)
                                     : "none accepts " + std::string(name_of(violation->node.op()))
                   : "good";
}

void for_each_record(const std::string& file, const std::function<void(const GoldenRecord&)>& look) {
  auto reader = GoldenReader::open(test_path(file));
  REQUIRE(reader.ok());
  for (;;) {
    auto record = reader->next_record();
    REQUIRE(record.ok());
    if (!*record) return;
    look(**record);
  }
}

void check_ast(const GoldenRecord& record, Spec spec) {
  Graph g;
  auto ast = read_pyrender(g, record.ast);
  REQUIRE(ast.ok());
  auto v = verify_graph(*ast, spec);
  CHECK_MESSAGE(!v, record.id << ": " << v->text());
}

}  // namespace

TEST_CASE("spec: accepts what tinygrad produces, at every stage") {
  size_t kernels = 0, programs = 0;
  for_each_record("golden/kernels.jsonl.gz", [&](const GoldenRecord& record) {
    check_ast(record, Spec::Kernel);
    kernels++;
    if (!record.linear) return;
    Graph g;
    auto listing = read_uops(g, *record.linear);
    REQUIRE(listing.ok());
    auto v = verify(listing->list, Spec::Program);
    CHECK_MESSAGE(!v, record.id << ": " << v->text());
    programs++;
  });
  CHECK(kernels > 100);
  CHECK(programs > 100);
}

TEST_CASE("spec: accepts tinygrad's tensor graphs") {
  size_t graphs = 0;
  for_each_record("golden/tensor.jsonl.gz",
                  [&](const GoldenRecord& record) { check_ast(record, Spec::Tensor), graphs++; });
  CHECK(graphs > 10);
}

TEST_CASE("spec: names the rule that rejects an invalid node") {
  std::string x = "x = UOp.const(dtypes.float, 1.0)\ni = UOp.const(dtypes.int, 1)\nr = UOp.range(4, 0, AxisType.LOOP)\n"
                  "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\n";
  CHECK(spec_verdict(x + "ast = (x+x).sink()", Spec::Kernel) == "good");
  CHECK(spec_verdict(x + "ast = (x+i).sink()", Spec::Kernel) == "alu");
  CHECK(spec_verdict(x + "ast = (x//x).sink()", Spec::Kernel) == "div-mod-of-integers");
  CHECK(spec_verdict(x + "ast = UOp(Ops.CMPLT, dtypes.bool, (x, i)).sink()", Spec::Kernel) == "compare");
  CHECK(spec_verdict(x + "ast = UOp(Ops.CONST, dtypes.float, (), 2).sink()", Spec::Kernel) == "const");
  CHECK(spec_verdict(x + "ast = UOp(Ops.WHERE, dtypes.float, (x<x, x, i)).sink()", Spec::Kernel) == "where");
  CHECK(spec_verdict(x + "ast = UOp(Ops.SHL, dtypes.int, (i, i.cast(dtypes.uint))).sink()", Spec::Kernel) == "good");
  CHECK(spec_verdict(x + "ast = UOp(Ops.SHL, dtypes.int, (i, x)).sink()", Spec::Kernel) == "shift");
  CHECK(spec_verdict(x + "ast = UOp(Ops.DEFINE_LOCAL, dtypes.float.ptr(4), (), 0).sink()", Spec::Kernel) ==
        "define-local");
  CHECK(spec_verdict(x + "ast = UOp(Ops.VECTORIZE, dtypes.float.vec(3), (x, x)).sink()", Spec::Kernel) == "vectorize");
  CHECK(spec_verdict(x + "ast = b.index(r).sink()", Spec::Program) == "no-index-dtype");
  CHECK(spec_verdict(x + "ast = b.index(i, ptr=True).store(x).sink()", Spec::Program) == "good");
  CHECK(spec_verdict(x + "ast = UOp(Ops.IF, dtypes.void, (x, b.index(i))).sink()", Spec::Program) == "none accepts IF");
  CHECK(spec_verdict("ast = UOp.new_buffer('CPU', 4, dtypes.float, 0).rtag(1)", Spec::Tensor) == "no-tags");
  CHECK(spec_verdict(x + "ast = UOp(Ops.UNROLL, dtypes.float, (x,), ((0, 2),)).sink()", Spec::Kernel) == "unroll");
  CHECK(spec_verdict(x + "ast = UOp(Ops.UNROLL, dtypes.float, (x,), ((0, 2),)).sink()", Spec::Full) == "good");
  CHECK(spec_verdict(x + "ast = UOp(Ops.CUSTOM_KERNEL, dtypes.void, ()).sink()", Spec::Program) ==
        "none accepts CUSTOM_KERNEL");
}

namespace {

struct Judge {
  explicit Judge(Spec spec, const Settings& settings = {}) : graph(settings), spec(spec) {}

  Graph graph;
  Spec spec;
  UOp x = graph.constant(dtypes::float32, 1.0), i = graph.constant(dtypes::index, 2),
      n = graph.constant(dtypes::int32, 2);
  UOp device = device_named("CPU"), unique = node(Op::UNIQUE, dtypes::void_, {}, 0);
  UOp buffer = node(Op::BUFFER, dtypes::float32, {unique, device}, 16),
      global = node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(4), {}, 0);
  UOp range = graph.range(4, 0, AxisType::LOOP), variable = graph.variable("v", 0, 9), sink = graph.sink({});

  UOp node(Op op, DType dtype = dtypes::void_, UOpSpan src = {}, Arg arg = {}) {
    return graph.node(op, dtype, src, arg);
  }
  UOp device_named(std::string_view name) { return node(Op::DEVICE, dtypes::void_, {}, graph.str(name)); }
  UOp buffer_on(Arg devices) {
    return node(Op::BUFFER, dtypes::float32, {unique, node(Op::DEVICE, dtypes::void_, {}, devices)}, 16);
  }
  Arg ints(std::initializer_list<int64_t> values) { return graph.ints(std::span(values.begin(), values.size())); }
  Arg axes(int64_t size) { return graph.tuple({ints({0, size})}); }  // returns the arg of an UNROLL or CONTRACT

  RuleHit hit;
  std::string of(UOp u) {
    hit = {};
    UOp answer = spec_rules_of(spec).matcher().rewrite(u, nullptr, nullptr, hit);
    return !answer ? "none"
                   : std::string(hit.rule->name) + (answer == verdict_node(u, SpecAnswer::Yes) ? ": good" : ": bad");
  }
  void says(std::string_view expected, UOp u, int line = __builtin_LINE()) {
    INFO("line " << line);
    std::string said = of(u);
    CHECK(said == expected);
    if (said == expected && hit.rule) note_checked_rule(*hit.rule);
  }
  void check(std::string_view name, UOp good, UOp bad, std::string_view judged_by = {}, int line = __builtin_LINE()) {
    says(std::string(name) + ": good", good, line);
    says(judged_by.empty() ? std::string(name) + ": bad" : std::string(judged_by), bad, line);
  }
};

}  // namespace

TEST_CASE("spec: each rule of tensor graphs accepts one node and does not accept another") {
  Judge t(Spec::Tensor);
  const DType f = dtypes::float32, none = dtypes::void_;
  UOp cond = t.graph.constant(dtypes::bool_, true),
      pair = t.buffer_on(t.graph.tuple({t.graph.str("A"), t.graph.str("B")}));
  UOp one = t.buffer_on(t.graph.str("A")), stack = t.node(Op::MSTACK, f, {one, one});
  UOp reshaped = t.node(Op::RESHAPE, f, {t.buffer, t.i});
  t.says("no-tags: bad", t.buffer.rtag(1));
  t.check("sink", t.sink, t.node(Op::SINK, f), "none");
  t.check("const", t.x, t.node(Op::CONST, f, {}, 3));
  t.check("define-var", t.variable, t.node(Op::DEFINE_VAR, f, {}, t.graph.tuple({t.graph.str("v"), 0.5, 1.5})));
  t.check("where", cond.where(t.x, t.x), t.node(Op::WHERE, f, {cond, t.x, t.n}));
  t.check("compare", t.x.lt(t.x), t.node(Op::CMPLT, dtypes::bool_, {t.x, t.n}));
  t.check("shift", t.node(Op::SHL, dtypes::int32, {t.n, t.n}), t.node(Op::SHL, dtypes::int32, {t.n, t.x}));
  t.check("alu", t.x * t.x, t.node(Op::IDIV, f, {t.x, t.x}), "div-mod-of-integers: bad");
  t.check("alu", t.node(Op::MOD, dtypes::int32, {t.n, t.n}), t.node(Op::MUL, f, {t.x, t.n}));
  t.check("cast", t.n.cast(f), t.node(Op::CAST, f, t.n, 1));
  t.check("range", t.range, t.node(Op::RANGE, dtypes::index, t.i, t.graph.tuple({AxisType::LOOP})));
  t.check("index-by-index", t.buffer.index(t.i), t.buffer.index(t.n), "none");
  t.check("end-one-range", t.x.end(t.range), t.x.end(t.i), "none");
  t.check("reshape-expand", reshaped, t.node(Op::RESHAPE, f, {t.buffer, t.n}), "none");
  t.check("pad-shrink", t.node(Op::PAD, f, {t.buffer, t.i, t.i}), t.node(Op::PAD, f, {t.buffer, t.i}), "none");
  t.check("permute-flip", t.node(Op::PERMUTE, f, t.buffer, t.ints({0})), t.node(Op::PERMUTE, f, t.buffer, 0));
  t.check("sizes", t.node(Op::VECTORIZE, dtypes::index.vec(2), {t.i, t.i}), t.node(Op::VECTORIZE, f.vec(2), {t.x, t.x}),
          "none");
  t.check("size-arithmetic", t.i + t.variable, t.node(Op::ADD, f, {t.i, t.i}), "alu: bad");
  t.check("after-movement", reshaped.after(t.sink), t.x.after(t.sink), "none");
  t.check("custom-kernel", t.node(Op::CUSTOM_KERNEL), t.node(Op::CUSTOM), "none");
  t.check("unique", t.unique, t.node(Op::UNIQUE, none, t.x, 0), "none");
  t.check("lunique", t.node(Op::LUNIQUE, none, {}, 0), t.node(Op::LUNIQUE, f, {}, 0), "none");
  t.check("device", t.device, t.node(Op::DEVICE, none, {}, t.graph.tuple({t.graph.str("A"), 1})));
  t.check("buffer", t.buffer, t.node(Op::BUFFER, f, {t.unique, t.device}, t.graph.str("16")));
  t.check("buffer-view", t.node(Op::BUFFER_VIEW, f, t.buffer, t.ints({8, 4})),
          t.node(Op::BUFFER_VIEW, f, t.buffer, t.ints({8})));
  t.check("buffer-view-of-stack", t.node(Op::BUFFER_VIEW, f, stack, t.ints({8, 4})),
          t.node(Op::BUFFER_VIEW, f, t.node(Op::MSTACK, f, t.x)), "none");
  t.check("kernel", t.node(Op::KERNEL, none, {t.buffer, t.buffer.after(t.sink)}),
          t.node(Op::KERNEL, none, {t.buffer, t.x}), "none");
  t.check("after-buffer", t.buffer.after(t.sink), t.node(Op::AFTER, f, {t.sink, t.buffer}), "none");
  UOp assign = t.buffer.assign(t.x);
  t.check("assign", t.node(Op::ASSIGN, f, {t.buffer, t.x, assign}), t.node(Op::ASSIGN, f, {t.buffer, t.x, t.x}));
  t.check("store", t.buffer.store(t.x), t.node(Op::STORE, none, t.buffer), "none");
  t.check("mselect", t.node(Op::MSELECT, f, pair, 1), t.node(Op::MSELECT, f, pair, 2));
  t.check("mstack", stack, t.node(Op::MSTACK, f, {one, pair}));
  t.check("multi", t.node(Op::MULTI, f, pair, 0), t.node(Op::MULTI, f, pair));
  t.check("allreduce", t.node(Op::ALLREDUCE, f, {pair, t.device}, Op::ADD),
          t.node(Op::ALLREDUCE, f, {pair, t.device}, 0));
  t.check("copy", t.node(Op::COPY, f, {t.buffer, t.device}), t.node(Op::COPY, dtypes::int32, {t.buffer, t.device}));
  t.check("bind", t.node(Op::BIND, dtypes::index, {t.variable, t.i}), t.node(Op::BIND, f, {t.variable, t.i}), "none");
  t.check("bind-without-value", t.node(Op::BIND, dtypes::index, t.variable), t.node(Op::BIND, dtypes::index, t.i),
          "none");
  t.check("bind-range", t.node(Op::BIND, dtypes::index, {t.variable, t.range}),
          t.node(Op::BIND, dtypes::index, {t.variable, t.variable}), "none");
  t.check("const-on-device", t.node(Op::CONST, f, t.device, 1.0), t.node(Op::CONST, f, t.unique, 1.0), "none");
  t.check("unique-const", t.node(Op::CONST, f, {t.device, t.unique}, 1.0), t.node(Op::CONST, f, {t.device, t.x}, 1.0),
          "none");
  t.check("contiguous", t.node(Op::DETACH, f, t.buffer), t.node(Op::DETACH, dtypes::int32, t.buffer));
  t.check("contiguous-over-ranges", t.node(Op::CONTIGUOUS, f, {t.buffer, t.range}),
          t.node(Op::CONTIGUOUS, f, {t.buffer, t.i}));
  t.check("encdec", t.node(Op::ENCDEC, f, {t.buffer, t.buffer}), t.node(Op::ENCDEC, f, t.buffer));
  t.check("reduce-axis", t.node(Op::REDUCE_AXIS, f, t.buffer, t.graph.tuple({Op::MAX, t.ints({0})})),
          t.node(Op::REDUCE_AXIS, f, t.buffer, t.graph.tuple({Op::SUB, t.ints({0})})));
  t.check("reduce-outer", t.x.reduce(t.range, Op::ADD), t.x.reduce(t.n, Op::ADD));
}

TEST_CASE("spec: each rule of kernels and programs accepts one node and does not accept another") {
  const DType f = dtypes::float32, none = dtypes::void_;
  Judge t(Spec::Kernel);
  UOp two = t.node(Op::VECTORIZE, f.vec(2), {t.x, t.x});
  t.check("define-global", t.global, t.node(Op::DEFINE_GLOBAL, f.ptr(4, AddrSpace::LOCAL), {}, 0));
  t.check("define-local", t.node(Op::DEFINE_LOCAL, f.ptr(4, AddrSpace::LOCAL), {}, 0),
          t.node(Op::DEFINE_LOCAL, f.ptr(4), {}, 0));
  t.check("define-reg", t.node(Op::DEFINE_REG, f.ptr(4, AddrSpace::REG), {}, 0),
          t.node(Op::DEFINE_REG, f.ptr(4, AddrSpace::REG)));
  t.check("after-define", t.global.after(t.range), t.x.after(t.range), "none");
  t.check("group", t.node(Op::GROUP), t.node(Op::GROUP, f), "none");
  t.check("wmma", t.node(Op::WMMA, f, {t.x, t.x, t.x}, t.ints({0, 1, 2, 3, 4, 5, 6, 7})),
          t.node(Op::WMMA, f, {t.x, t.x, t.x}, t.ints({0})));
  t.check("vectorize", two, t.node(Op::VECTORIZE, f.vec(3), {t.x, t.x}));
  t.check("gep", t.node(Op::GEP, f, two, t.ints({0})), t.node(Op::GEP, f.vec(2), two, t.ints({0, 1})));
  t.check("load", t.global.index_ptr(t.i).load(), t.node(Op::LOAD, f, t.global), "none");
  t.check("store-to-index", t.global.index_ptr(t.i).store(t.x), t.global.store(t.x), "none");
  t.check("custom", t.node(Op::CUSTOM, f, t.x, t.graph.str("f({0})")), t.node(Op::NOOP, f, t.x), "none");
  t.check("index-inside", t.global.index(t.i), t.x.index(UOpSpan(t.n), f), "none");
  t.check("special", t.graph.special(t.i, "gidx0"), t.node(Op::SPECIAL, dtypes::index, t.i, 0));
  t.check("barrier", t.node(Op::BARRIER), t.node(Op::BARRIER, f), "none");
  t.check("index-math", t.range, t.node(Op::RANGE, dtypes::int32, t.i, t.range.arg()), "range: bad");
  t.check("contract", t.node(Op::CONTRACT, f.vec(2), t.x, t.axes(2)), t.node(Op::CONTRACT, f.vec(3), t.x, t.axes(2)));
  t.check("unroll", t.node(Op::UNROLL, f, two, t.axes(2)), t.node(Op::UNROLL, f, two, t.axes(3)));
  t.check("end", t.x.end({t.i, t.i}), t.node(Op::END, none, t.x), "none");
  t.check("bufferize", t.node(Op::BUFFERIZE, f, {t.x, t.range}), t.node(Op::BUFFERIZE, f), "none");
  t.check("reduce-over-ranges", t.x.reduce(t.range, Op::ADD), t.x.reduce(t.n, Op::ADD));

  Settings settings;
  settings.IGNORE_OOB = 0;
  Judge p(Spec::Program, settings);
  UOp yes = p.graph.constant(dtypes::bool_, true), no = p.graph.constant(dtypes::bool_, false),
      five = p.n.const_like(5);
  UOp gated = p.global.index_ptr(p.n, yes), counter = p.node(Op::RANGE, dtypes::int32, p.n, p.range.arg());
  p.check("gated-index", gated, p.global.index_ptr(five, yes));
  p.check("gated-index", p.global.index_ptr(five, no), p.global.index_ptr(five, p.n), "none");
  p.check("index-inside", p.global.index_ptr(p.n), p.global.index_ptr(five));
  p.check("gated-load", gated.load(p.x, f), p.global.index_ptr(p.n).load(p.x, f), "none");
  p.check("end-void", p.x.end(counter), p.x.end(p.n), "none");
  p.check("const", p.n, p.i, "no-index-dtype: bad");
  p.check("const", p.x, p.node(Op::CONST, f, {}, Const::invalid()), "no-invalid: bad");
  p.check("vconst", p.node(Op::VCONST, f.vec(2), {}, p.graph.tuple({1.0, 2.0})),
          p.node(Op::VCONST, f.vec(2), {}, p.graph.tuple({1.0})));
  UOp branch = p.node(Op::IF, none, {yes, p.global.index_ptr(p.n)});
  p.check("if", branch, p.node(Op::IF, none, {p.n, p.global.index_ptr(p.n)}), "none");
  p.check("endif", p.node(Op::ENDIF, none, branch), p.node(Op::ENDIF, none, p.x), "none");
}

TEST_CASE("spec: each rule of the full specification accepts one node and does not accept another") {
  Judge t(Spec::Full);
  const DType f = dtypes::float32, none = dtypes::void_;
  UOp two = t.node(Op::VECTORIZE, f.vec(2), {t.x, t.x}), cond = t.graph.constant(dtypes::bool_, true),
      at = t.global.index_ptr(t.i);
  t.says("noop: good", t.node(Op::NOOP));
  t.says("rewrite-error: good", t.node(Op::REWRITE_ERROR));
  t.says("several-devices: good", t.node(Op::MSELECT, f, t.x, 7));
  t.says("unroll-contract: good", t.node(Op::UNROLL, f, t.x, t.axes(2)));
  t.says("any-after: good", two.after(t.x));
  t.says("any-vectorize: good", t.node(Op::VECTORIZE, f, {t.x, t.n}));
  t.says("any-index: good", t.x.index(UOpSpan(t.n), f));
  t.says("any-access: good", t.x.store(t.x));
  t.check("buffer-view-of-access", t.node(Op::BUFFER_VIEW, f, at, t.ints({8, 4})),
          t.node(Op::BUFFER_VIEW, f, t.x, t.ints({8, 4})), "none");
  t.check("assign-with-shape", t.node(Op::ASSIGN, f, {t.buffer, t.x, t.x}),
          t.node(Op::ASSIGN, f, {t.buffer, t.x, t.x, t.x}), "assign: bad");
  t.check("gep-several", t.node(Op::GEP, f.vec(2), two, t.ints({1, 0})), t.node(Op::GEP, f.vec(2), two, t.ints({1})));
  t.check("ptrcat", t.node(Op::PTRCAT, f.ptr(4).vec(2), {at, at}), t.node(Op::PTRCAT, f.ptr(4).vec(3), {at, at}));
  t.check("cat", t.node(Op::CAT, f.vec(4), {two, two}), t.node(Op::CAT, f.vec(3), {two, two}));
  t.check("index-of-vector", t.node(Op::INDEX, f, {two, t.i}), t.node(Op::INDEX, f, {two, t.i, t.x}),
          "any-index: good");
  t.check("kernel-void", t.node(Op::KERNEL, none, t.x), t.node(Op::KERNEL, f, t.x), "none");
  t.check("invalid-is-index", t.graph.invalid(), t.node(Op::CONST, f, {}, Const::invalid()));
  t.check("where-on-index", t.node(Op::WHERE, dtypes::index, {cond, t.n, t.i}),
          t.node(Op::WHERE, dtypes::int32, {cond, t.x, t.n}), "where: bad");
  t.check("index-dtype", t.node(Op::ADD, dtypes::index, {t.i, t.n}), t.node(Op::ADD, dtypes::int32, {t.i, t.n}),
          "alu: bad");
  t.check("bind-casted", t.node(Op::BIND, dtypes::index, {t.n, t.n}), t.node(Op::BIND, f, {t.n, t.n}), "none");
  UOp linear = t.node(Op::LINEAR), source = t.node(Op::SOURCE), binary = t.node(Op::BINARY);
  t.check("program-sink", t.node(Op::PROGRAM, none, {t.sink, t.device}), t.node(Op::PROGRAM, none, t.sink), "none");
  t.check("program-linear", t.node(Op::PROGRAM, none, {t.sink, t.device, linear}),
          t.node(Op::PROGRAM, none, {t.sink, t.device, source}), "none");
  t.check("program-source", t.node(Op::PROGRAM, none, {t.sink, t.device, linear, source}),
          t.node(Op::PROGRAM, none, {t.sink, t.device, linear, binary}), "none");
  t.check("program-binary", t.node(Op::PROGRAM, none, {t.sink, t.device, linear, source, binary}),
          t.node(Op::PROGRAM, none, {t.sink, t.device, linear, source, source}), "none");
  t.check("linear", linear, t.node(Op::LINEAR, f), "none");
  t.check("source", source, t.node(Op::SOURCE, none, t.x), "none");
  t.check("binary", binary, t.node(Op::BINARY, none, t.x), "none");
  Arg bounds = t.graph.tuple({t.graph.str("v"), 0.5, 1.5});
  t.check("float-variable", t.node(Op::DEFINE_VAR, f, {}, bounds), t.node(Op::DEFINE_VAR, dtypes::int32, {}, bounds),
          "define-var: bad");
}

TEST_CASE("spec: accesses are checked against the buffer's size with IGNORE_OOB=0") {
  Settings settings;
  settings.IGNORE_OOB = 0;
  Graph g(settings);
  UOp b = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(4), {}, 0);
  auto good = [&](int64_t end) {
    return !verify_graph(b.index(g.special(g.constant(dtypes::int32, end), "gidx0", dtypes::int32)), Spec::Program);
  };
  CHECK(good(4));
  CHECK(!good(5));
}

TEST_CASE("spec: rule tables have as many rules as tinygrad's") {
  CHECK(spec_rules_of(Spec::Tensor).rules().size() == 45);
  CHECK(spec_rules_of(Spec::Kernel).rules().size() == 39);
  CHECK(spec_rules_of(Spec::Program).rules().size() == 34);
  CHECK(spec_rules_of(Spec::Full).rules().size() == 156);
}
