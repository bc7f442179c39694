#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "lib/bisect/bisect.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/driver/source.h"
#include "lib/runtime/npz.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

BisectReport bisected(const std::string& text, const std::string& fault,
                      const RunOptions& spec = {.device = {.name = "CPU:LLVM"}}, Settings settings = {}) {
  ScopedEnvironment with("TGC_FAULT", fault);
  InputGraph in = std::move(load_graph_text(settings, InputKind::Pyrender, text, "test.uop").value_or_throw());
  in.info.name = "kernel";
  return bisect(Session(), in, spec);
}

void check_named_in_ref(const std::string& text, const std::string& stage, const std::string& rule,
                        const std::string& branch = "", const std::string& proof = "") {
  BisectReport report = bisected(text, "", {.device = {.name = "REF"}});
  INFO(report.text());
  CHECK(report.verdict.stage == stage);
  CHECK(report.verdict.rule == rule);
  CHECK(report.verdict.is_confirmed);
  if (!branch.empty()) CHECK(report.verdict.branch == branch);
  if (!proof.empty()) CHECK(report.verdict.proof == proof);
}

const std::string kDivided =
    "i = UOp.range(40, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(5), (), 1).index(i%5)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 2).index(i//5)\n"
    "v = a*UOp.const(dtypes.int, 3)+b\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(40), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";

}  // namespace

TEST_CASE("bisect: with --each-stage, names a wrong stage although later stages make it right again") {
  // The kernel sums (a[i] == r ? b[i, r] : 0) over r < 16. tgc's result is wrong if a[i] is not an integer.
  const std::string text =
      "i = UOp.range(2, 0, AxisType.LOOP)\n"
      "r = UOp.range(16, 1, AxisType.REDUCE)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(2), (), 1).index(i)\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.ulong.ptr(32), (), 2).index(i*16+r)\n"
      "v = (a!=r.cast(dtypes.half)).where(UOp.const(dtypes.ulong, 0), b).reduce(r, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.ulong.ptr(2), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";
  RunOptions spec{.device = {.name = "REF"}};
  BisectReport plain = bisected(text, "", spec);
  spec.compare.should_run_each_stage = true;
  BisectReport report = bisected(text, "", spec);
  INFO(plain.text(), report.text());
  CHECK(report.verdict.kind == Kind::Rewrite);
  CHECK(report.verdict.rule == "sum-of-one-element");
  CHECK(report.verdict.is_confirmed);
  CHECK(report.repro_command.find("--each-stage") != std::string::npos);
}

TEST_CASE("bisect: elements that rounding decides are no failure, with and without --each-stage") {
  const std::string text =  // for some inputs, the kernel stores the bits of a NaN, whose sign is undefined
      "i = UOp.range(16, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), 1).index(i)\n"
      "v = (a.bitcast(dtypes.float)*UOp.const(dtypes.float, -1.0)).bitcast(dtypes.int)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";
  Session session;
  session.overrides.target = "CPU:CLANG";
  auto loaded = [&] { return std::move(load_graph_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw()); };
  InputGraph in = loaded();
  BisectReport report = bisect(session, in, {.device = {.name = "REF"}});
  INFO(report.text());
  CHECK(report.verdict.kind == Kind::Same);

  InputGraph again = loaded();
  RunReport trial =
      run_kernel(session, again, {.device = {.name = "REF"}, .compare = {.should_run_each_stage = true}});
  INFO(trial.text(1, false));
  CHECK(trial.is_passed());
  CHECK(trial.text(1, false).find("computes the same, but for ") != std::string::npos);
}

TEST_CASE("bisect: names a nested rewrite whose sides differ by rounding, not the enclosing one") {
  // The kernel multiplies a[i % 2] by (float)(half)1.4426950408889634. Only 'split ranges' wrongly folds this cast.
  const std::string text =
      "# tgc: {\"name\":\"k\",\"stage\":\"load collapse\",\"target\":\"CPU:CLANG\"}\n"
      "i = UOp.range(4, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(2), (), 1).index(i%2)\n"
      "v = UOp.const(dtypes.half, 1.4426950408889634).cast(dtypes.float)*a\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0).index(i, ptr=True).store(v).end(i)"
      ".sink(arg=KernelInfo(name='test', axis_types=()))\n";
  check_named_in_ref(text, "split ranges", "cast-const", "", "it passes without that rule");
}

TEST_CASE("bisect: names a nested constant folding that other rules would repeat") {
  // The kernel adds two uchar terms 5 * 100 >> 5. 'load collapse' folds 5 * 100 to 500, which is no uchar value.
  const std::string text =
      "v = UOp.const(dtypes.uchar, 5)*UOp.const(dtypes.uchar, 100)>>UOp.const(dtypes.uchar, 5)\n"
      "sum = v.reduce(UOp.range(2, 3, AxisType.REDUCE), arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.uchar.ptr(3), (), 0).index(UOp.const(dtypes.index, 2), ptr=True)"
      ".store(sum).sink()\n";
  check_named_in_ref(text, "load collapse", "fold-binary");
}

TEST_CASE("bisect: names a nested rewrite that is wrong at few points, not the enclosing one") {
  // The kernel computes (i - 8) // 8 + i % 8. 'split ranges' turns (j*8+r-8) // 8 into j - 1, wrong if j = 0 and r > 0.
  const std::string text =
      "# tgc: {\"name\":\"k\",\"stage\":\"load collapse\",\"target\":\"CPU:CLANG\"}\n"
      "i = UOp.range(128, 0, AxisType.LOOP)\n"
      "v = ((i+-8)//UOp.const(dtypes.index, 8)+i%UOp.const(dtypes.index, 8)).cast(dtypes.int)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(128), (), 2).index(i, ptr=True).store(v)"
      ".end(i).sink(arg=KernelInfo(name='test', axis_types=()))\n";
  check_named_in_ref(text, "split ranges", "divmod-general", "congruence", "it passes without that rule");
}

TEST_CASE("bisect: does not name a right nested rule that only enables the wrong enclosing one") {
  // The kernel is a sum over r < 256, where r combines three loops.
  const std::string text =
      "i = UOp.range(32, 1, AxisType.LOOP)\n"
      "r = UOp.range(256, 0, AxisType.REDUCE)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4096), (), 1)"
      ".index((r//8%8*8+r%8+(i*4+r//64)*64)//2).reduce(r, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(32), (), 0).index(i, ptr=True).store(a).end(i).sink()\n";
  check_named_in_ref(text, "simplify ranges", "merge-adjacent-ranges");
}

TEST_CASE("bisect: names the rule that loses the sign of a zero, not the rewrite that makes an infinity of it") {
  // The kernel sums 1 / (c[s - 4] * b[(j * 21 + r * 3 + s) % 4]). c's load gives 0, because its gate s >= 4 is false.
  const std::string text =
      "j = UOp.range(256, 1, AxisType.LOOP)\n"
      "r = UOp.range(7, 2, AxisType.REDUCE)\n"
      "s = UOp.range(3, 3, AxisType.REDUCE)\n"
      "at = ((s<4)!=UOp.const(dtypes.bool, True)).where(s+-4, UOp.const(dtypes.index, Invalid))\n"
      "c = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(3), (), 0).index(at)\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(4), (), 1).index((j*21+(r*3+s))%4)\n"
      "v = (c*b).reciprocal().reduce(r, s, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(256), (), 2).index(j, ptr=True).store(v).end(j).sink()\n";
  check_named_in_ref(text, "devectorize", "mul-zero", "zero");
}

TEST_CASE("bisect: reports a constant that its dtype cannot represent") {
  // The kernel compares (half)(j + 8192) with 8196. From 8192 on, a half can represent only multiples of 8.
  const std::string text =
      "i = UOp.range(17, 0, AxisType.LOOP)\n"
      "j = UOp.range(5, 1, AxisType.UPCAST)\n"
      "v = (j+UOp.const(dtypes.index, 8192)).cast(dtypes.half)<UOp.const(dtypes.half, 8196.0)\n"
      "out = UOp(Ops.DEFINE_GLOBAL, dtypes.bool.ptr(85), (), 0).index(i*5+j, ptr=True).store(v).end(i, j)\n"
      "ast = out.sink(arg=KernelInfo(name='w', axis_types=(), dont_use_locals=False, applied_opts=(), "
      "opts_to_apply=()))\n";
  ScopedEnvironment no_fault("TGC_FAULT", "");
  InputGraph in = std::move(load_graph_text(Settings(), InputKind::Pyrender, text, "test.uop").value_or_throw());
  Session session;
  session.overrides.target = "CUDA:CUDA:sm_89";
  BisectReport report = bisect(session, in, {.device = {.name = "REF"}});
  INFO(report.text());
  REQUIRE(report.verdict.kind == Kind::Rewrite);
  CHECK(report.verdict.detail.find("a constant that its dtype does not hold: 819") != std::string::npos);
}

TEST_CASE("bisect: raises a REWRITE_STACK_LIMIT that only suffices for the plain compilation") {
  const std::string text =
      "i = UOp.range(4, 0, AxisType.LOOP)\n"
      "v = ((i*UOp.const(dtypes.index, -127))%UOp.const(dtypes.index, 8)).cast(dtypes.int)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";
  size_t compiled = 0;
  for (int limit = 4; limit < 20; limit += 2) {
    Settings settings;
    settings.REWRITE_STACK_LIMIT = limit;
    BisectReport report = bisected(text, "", {.device = {.name = "REF"}}, settings);
    if (report.failure_text.find("does not end") != std::string::npos) continue;
    CAPTURE(limit);
    INFO(report.text(), report.error);
    CHECK(report.verdict.rule == "divmod-general");
    CHECK(report.verdict.is_confirmed);
    compiled++;
  }
  CHECK(compiled > 2);
}

TEST_CASE("bisect: is unresolved after its time limit") {
  ScopedEnvironment with("TGC_FAULT", "divmod-general");
  InputGraph in = std::move(load_graph_text(Settings(), InputKind::Pyrender, kDivided, "test.uop").value_or_throw());
  BisectReport report = bisect(Session(), in, {.device = {.name = "REF"}}, {.limit_seconds = 1e-9});
  CHECK(report.verdict.kind == Kind::Unresolved);
  CHECK(report.error == "");
  CHECK(report.text().find("stopped before a culprit was found") != std::string::npos);
}

TEST_CASE("bisect: names a rewrite that makes a scalar of a vector, not its users") {
  auto kernel = [](const std::string& end, const std::string& value) {
    return "i = UOp.range(" + end + ", 0, AxisType.LOOP)\n" +
           "a = UOp(Ops.DEFINE_GLOBAL, dtypes.bfloat16.ptr(" + end + "), (), 1).index(i)\n" +
           "v = (" + value + ").where(UOp.const(dtypes.float, 1.0), UOp.const(dtypes.float, 0.0))\n" +
           "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(" + end + "), (), 0).index(i, ptr=True)" +
           ".store(v).end(i).sink()\n";
  };
  Settings settings;
  settings.DEVECTORIZE = 2;
  for (auto [text, rule, made] :
       {std::tuple(kernel("3", "a.cast(dtypes.bool)"), "bf16-to-float",
                   "the result has dtype dtypes.float, before dtypes.float.vec(3)"),
        std::tuple(kernel("4", "a!=UOp.const(dtypes.bfloat16, 1.0)"), "compare-as-float",
                   "the result has dtype dtypes.bool, before dtypes.bool.vec(4)"),
        // In this kernel, two rules are wrong, and suppressing only one of them does not help.
        std::tuple(kernel("4", "a*a!=UOp.const(dtypes.bfloat16, 1.0)"), "alu-as-float", "")}) {
    Session session;
    session.overrides.target = "CPU:CLANG";
    InputGraph in = std::move(load_graph_text(settings, InputKind::Pyrender, text, "test.uop").value_or_throw());
    BisectReport report = bisect(session, in, {.device = {.name = "REF"}});
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.rule == rule);
    CHECK(report.verdict.stage == "final rewrite");
    CHECK(report.verdict.is_confirmed);
    const bool is_alone = *made != '\0';
    CHECK(report.verdict.detail == (is_alone ? std::string(made)
                                    : "a part of the result has another number of elements than before"));
    CHECK((report.verdict.proof == "it passes without that rule and the others that make such values") !=
          is_alone);
    in = std::move(load_graph_text(settings, InputKind::Pyrender, text, "test.uop").value_or_throw());
    BisectReport refused = bisect(Session(), in, {.device = {.name = "CPU:CLANG"}});  // clang rejects the wrong source
    INFO(refused.text(), refused.error);
    CHECK(refused.verdict.rule == rule);
    CHECK(refused.verdict.is_confirmed);
  }
}

TEST_CASE("evaluate_sides: no rewrite of the goldens changes dtype or number of elements") {
  for (const char* file : {"DEVECTORIZE-0", "DEVECTORIZE-2", "TC_OPT-2", "IMAGE-2"}) {
    Session session;
    auto source =
        std::move(GraphSource::open(session, test_path("golden/" + std::string(file) + ".jsonl.gz")).value_or_throw());
    for (;;) {
      auto in = std::move(source.next_graph().value_or_throw());
      if (!in) break;
      CAPTURE(in->info.name);
      Compilation c = std::move(session.begin(std::move(*in)).value_or_throw());
      RewriteLog log;
      c.set_stage_observer(&log);
      (void)c.list();
      c.set_stage_observer(nullptr);
      auto is_value = [](const Rewrite& a) { return a.before.dtype().is_value(); };
      auto all = evaluate_sides(c, log.all_rewrites(), {}, {}, is_value);
      for (const EquivalenceResult& seen : all.value_or_throw()) CHECK(seen.kind != EquivalenceResult::Kind::Unlike);
    }
  }
}

TEST_CASE("evaluate_sides: one rewrite alone has the same result as among all") {
  // A rule simplifies this kernel's index under a condition: it replaces a part of the index by a placeholder.
  const std::string text =
      "i = UOp.range(8, 0, AxisType.LOOP)\n"
      "k = UOp.range(6, 1, AxisType.REDUCE)\n"
      "x = UOp(Ops.TRUNC, dtypes.float, (i.cast(dtypes.float)*UOp.const(dtypes.float, 0.7),)).cast(dtypes.int)\n"
      "at = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(48), (), 1).index(i*6+k)\n"
      "s = (x!=k.cast(dtypes.int)).where(UOp.const(dtypes.float, 0.0), at).reduce(k, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0).index(i, ptr=True).store(s).end(i).sink()\n";
  ScopedEnvironment with("TGC_FAULT", "alu-under-invalid@1");
  Session session;
  InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw());
  Compilation c = std::move(session.begin(std::move(in)).value_or_throw());
  RewriteLog log;
  c.set_stage_observer(&log);
  (void)c.list();
  c.set_stage_observer(nullptr);
  auto all = std::move(evaluate_sides(c, log.all_rewrites(), {}, {}).value_or_throw());
  CHECK(std::ranges::any_of(all, [](const EquivalenceResult& s) { return s.kind == EquivalenceResult::Kind::Differ; }));
  for (size_t i = 0; i < all.size(); i++) {
    const Rewrite& one = log.all_rewrites()[i];
    CAPTURE(one.rule->name);
    auto alone = evaluate_sides(c, log.all_rewrites(), {}, {},
                                [&](const Rewrite& a) { return a.rewrite_number == one.rewrite_number; });
    CHECK(alone.value_or_throw()[0].kind == all[i].kind);
  }
}

TEST_CASE("bisect: a far too long loop without an END is an error at once") {
  BisectReport report = bisected(
      "i = UOp.range(9, 1, AxisType.LOOP)\n"
      "j = UOp.range(1099511627776, 0, AxisType.REDUCE)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(9), (), 0).index(j*9+i, ptr=True).store(i.cast(dtypes.int)).end(i)"
      ".sink()\n",
      "", {.device = {.name = "REF"}});
  CHECK(report.error.find("too large for REF") != std::string::npos);
}

TEST_CASE("bisect: names both of two faults that each suffice") {
  const std::string two =
      "i = UOp.range(24, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 2).index(i).maximum(UOp.const(dtypes.float, 0.5))\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 3).index(i).maximum(UOp.const(dtypes.float, 0.25))\n"
      "s = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 0).index(i, ptr=True).store(a)\n"
      "t = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 1).index(i, ptr=True).store(b)\n"
      "ast = UOp.group(s, t).end(i).sink()\n";
  BisectReport report = bisected(two, "max-to-where@1,max-to-where@2", {.device = {.name = "REF"}});
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Rewrite);
  CHECK(report.verdict.rule == "max-to-where");
  CHECK(report.verdict.is_confirmed);
  CHECK(report.verdict.detail.starts_with("it is one of two culprits; the other is number "));
  CHECK(report.verdict.detail.find(" of max-to-where in 'decompositions', passes/kernel/") != std::string::npos);
}

TEST_CASE("bisect: names a wrong shortcut and its line") {
  BisectReport report = bisected(kDivided, "shortcut:divmod-once");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Shortcut);
  CHECK(report.verdict.rule == "divmod-once");
  CHECK(report.verdict.location.starts_with("passes/symbolic/divmod.cpp:"));
  CHECK(report.verdict.detail == "it passes when watched");
  CHECK(report.verdict.is_confirmed);
}

TEST_CASE("bisect: rules that undo each other are endless, with one cycle of them") {
  BisectReport report = bisected(kDivided, "endless:load-index");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Endless);
  CHECK(report.verdict.stage == "** add loads (code)");
  CHECK(report.failure_text.starts_with("stage '** add loads (code)' does not end"));
  REQUIRE_FALSE(report.verdict.rule_cycle.empty());
  CHECK(report.verdict.rule_cycle[0].rule == "load-index");
  CHECK(report.verdict.rule_cycle[0].location.starts_with("passes/kernel/"));
  CHECK(report.json().find("\"cycle\":[{\"rule\":\"load-index\"") != std::string::npos);
}

TEST_CASE("bisect: names the wrong rewrite because of which nodes wait for each other") {
  std::string plus_one = kDivided;
  plus_one.replace(plus_one.find("index(i%5)"), 10, "index(i%4+1)");
  size_t endless = 0;
  for (const char* fault : {"lower-const@1", "lower-const@2", "lower-const@3"}) {
    BisectReport report = bisected(plus_one, fault);
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.rule == "lower-const");
    CHECK(report.verdict.rewrite_number == uint64_t(fault[strlen(fault) - 1] - '0'));
    CHECK(report.verdict.is_confirmed);
    endless += report.verdict.detail.find("does not end: nodes wait for each other") != std::string::npos;
  }
  CHECK(endless == 1);  // only the fault that changes the constant 1 makes nodes wait for each other
}

TEST_CASE("bisect: names a wrong substitution of a placeholder, not the rule around it") {
  auto input = test_path("golden/kernels.jsonl.gz") + "#mv_interp_nearest.0";
  for (int n : {1, 4, 5}) {  // 1 inserts the placeholder in0, 4 replaces a range by a term with in0, 5 removes in0
    ScopedEnvironment with("TGC_FAULT", "substitute@" + std::to_string(n));
    Session session;
    auto source = std::move(GraphSource::open(session, input).value_or_throw());
    InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
    BisectReport report = bisect(Session(), in, {.device = {.name = "CPU:LLVM"}});
    INFO(report.text(), report.error);
    CHECK(report.verdict.rule == "substitute");
    CHECK(report.verdict.stage == "load collapse");
    CHECK(report.verdict.rewrite_number == uint64_t(n));
  }
}

TEST_CASE("bisect: names a substitution that does not make the requested replacement") {
  const std::string cut =
      "i = UOp.range(40, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(40), (), 1).index(i)\n"
      "v = (i<24).where(a, UOp.const(dtypes.int, 7))\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(40), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";
  for (uint64_t n : {1, 2}) {  // application 1 is in the loop i < 24, application 2 in the loop i >= 24
    BisectReport report = bisected(cut, "substitute@" + std::to_string(n));
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.rule == "substitute");
    CHECK(report.verdict.stage == "cut store ranges");
    CHECK(report.verdict.rewrite_number == n);
    CHECK(report.verdict.before == (n == 1 ? "(r0_0+0)" : "(r0_1+24)"));
  }
}

TEST_CASE("bisect: a kernel that reads out of bounds by itself is a crash") {
  std::string outside = kDivided;
  outside.replace(outside.find("index(i%5)"), 10, "index(i%9)");
  BisectReport report = bisected(outside, "");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Crash);
  CHECK(report.exit_code() == 1);
  CHECK(report.verdict.detail.starts_with("the input kernel itself fails in REF: "));
}

TEST_CASE("bisect: attributes refused ops and invalid C to the renderer") {
  const std::string negative =
      "i = UOp.range(40, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(40), (), 1).index(i)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(40), (), 0).index(i, ptr=True)"
      ".store(UOp(Ops.NEG, dtypes.float, (a,))).end(i).sink()\n";
  BisectReport neg = bisected(negative, "");
  INFO(neg.text(), neg.error);
  CHECK(neg.verdict.kind == Kind::Renderer);
  CHECK(neg.verdict.detail.find("cannot express") != std::string::npos);
  CHECK(neg.verdict.is_confirmed);
  CHECK(neg.verdict.proof == "the kernel of CPU:CLANG passes");

  Session session;
  auto source = std::move(GraphSource::open(session, test_path("golden/kernels.jsonl.gz") + "#__bf16_to_float8_e5m2.0")
                          .value_or_throw());
  InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
  BisectReport type = bisect(Session(), in, {.device = {.name = "CPU:CLANG"}});
  INFO(type.text(), type.error);
  CHECK(type.verdict.kind == Kind::Renderer);
  CHECK(type.exit_code() == 1);
  CHECK(type.verdict.detail.find("C source does not compile") != std::string::npos);
  CHECK_FALSE(type.verdict.is_confirmed);
}

TEST_CASE("bisect: attributes a loop with two ENDs to the renderer") {
  const std::string text =  // the kernel has two loops with a maximum each; a stage merges the loops
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 1)\n"
      "c3 = UOp.const(dtypes.float, 1.0)\n"
      "c5 = UOp.range(2, 0, AxisType.REDUCE)\n"
      "c6 = c3.reduce(c5, arg=Ops.MAX)\n"
      "c7 = c0.index(UOp.const(dtypes.index, 0), ptr=True).store(c6)\n"
      "c8 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 5)\n"
      "c10 = UOp.range(16, 1, AxisType.LOOP)\n"
      "c13 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(16), (), 4)\n"
      "c15 = (c10<UOp.const(dtypes.index, 2)).where(c3, c13.index(c10))\n"
      "c17 = UOp.range(64, 2, AxisType.REDUCE)\n"
      "c18 = c15.reduce(c17, arg=Ops.MAX)\n"
      "c20 = c8.index(c10, ptr=True).store(c18).end(c10)\n"
      "ast = c7.sink(c20)\n";
  BisectReport report = bisected(text, "");
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Renderer);
  CHECK(report.verdict.detail == "an END without a RANGE before it");
}

TEST_CASE("bisect: names no rewrite if the graph itself does not compute the expected values") {
  std::string other = std::filesystem::temp_directory_path() / ("tgc_expected." + std::to_string(getpid()) + ".npz");
  Arrays arrays;
  arrays.push_back({"data0", Array(dtypes::int32, {40})});
  write_npz(other, arrays).value_or_throw();
  BisectReport report =
      bisected(kDivided, "", {.device = {.name = "CPU:LLVM"}, .compare = {.expected_file = other}});
  std::filesystem::remove(other);
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Unresolved);
  CHECK(report.verdict.stage.empty());
  CHECK(report.verdict.detail.starts_with("the input graph itself fails in REF, before any rewrite"));
  CHECK(report.failure_text.starts_with("data0 int32 (40,): "));
}

TEST_CASE("bisect: a variable that the kernel lacks is an error, as in run") {
  BisectReport report = bisected(kDivided, "", {.input = {.variables = {{"n", 3}}, .is_only_kernel = true},
                                                .device = {.name = "CPU:LLVM"}});
  CHECK(report.exit_code() == 2);
  CHECK(report.error.starts_with("the kernel has no variable 'n'"));
}

TEST_CASE("bisect: names the store of a vector of bools, which both renderers misprint") {
  Settings settings;
  settings.DEVECTORIZE = 2;
  std::string bools =
      "i = UOp.range(64, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(64), (), 1).index(i)\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(64), (), 2).index(i)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.bool.ptr(64), (), 0).index(i, ptr=True).store(a<b).end(i).sink()\n";
  for (const char* device : {"CPU:LLVM", "CPU:CLANG"}) {
    BisectReport report = bisected(bools, "", {.device = {.name = device}}, settings);
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Renderer);
    CHECK(report.verdict.is_confirmed);
    CHECK(report.verdict.before.starts_with("Ops.STORE"));
    CHECK(report.verdict.location.starts_with("line "));
  }
}

}  // namespace tgc
