// Bisections without a shell: faults on demand (lib/rewrite/fault.h) are named, where they are and no others.
#include "lib/bisect/bisect.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "lib/driver/source.h"
#include "lib/replay/replay.h"
#include "lib/support/testing.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

// data0[i * 4 + k] = a sum of products of two arrays, 12 x 8 and 8 x 16
constexpr const char* kMatmul =
    "i = UOp.range(12, 0, AxisType.LOOP)\n"
    "j = UOp.range(16, 1, AxisType.LOOP)\n"
    "k = UOp.range(8, 2, AxisType.REDUCE)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(96), (), 1).index(i*8+k)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(128), (), 2).index(k*16+j)\n"
    "s = (a*b).reduce(k, arg=Ops.ADD)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(192), (), 0).index(i*16+j, ptr=True).store(s).end(i, j).sink()\n";

// One of each: data0[i] = max(a < b ? a*b + 1.5 : a*a + b*3, a*2 + b) + (n ^ 5)
constexpr const char* kElementwise =
    "i = UOp.range(24, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 1).index(i)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 2).index(i)\n"
    "n = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(24), (), 3).index(i)\n"
    "y = (a<b).where(a*b+UOp.const(dtypes.float, 1.5), a*a+b*UOp.const(dtypes.float, 3.0))\n"
    "z = y.maximum(a*UOp.const(dtypes.float, 2.0)+b)+(n^UOp.const(dtypes.int, 5)).cast(dtypes.float)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 0).index(i, ptr=True).store(z).end(i).sink()\n";

// data0[i] = sqrt(a*a + 1)
constexpr const char* kSqrt =
    "i = UOp.range(24, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 1).index(i)\n"
    "r = UOp(Ops.SQRT, dtypes.float, (a*a+UOp.const(dtypes.float, 1.0),))\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 0).index(i, ptr=True).store(r).end(i).sink()\n";

BisectReport bisected(const std::string& device, const std::string& fault = "", const char* text = kMatmul,
                      const BisectPlan& plan = {}) {
  WithEnvironment with("TGC_FAULT", fault);
  InputGraph in = std::move(load_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw());
  in.info.name = "kernel";
  BisectReport out = bisect(Session(), in, {.device = {.name = device}}, plan);
  INFO(out.error);
  CHECK(out.error.empty());
  return out;
}

bool names(const BisectReport& r, std::string_view member) { return r.json().find(member) != std::string::npos; }

}  // namespace

TEST_CASE("bisect: nothing to blame") {
  BisectReport report = bisected("CPU:LLVM");
  CHECK(report.verdict == Verdict::Same);
  CHECK(report.exit_code() == 0);
  CHECK(names(report, "\"verdict\":\"same\""));
}

TEST_CASE("bisect: a fault is named: rule, stage, which application, both sides, and confirmed") {
  BisectReport report = bisected("CPU:LLVM", "load-gep");
  INFO(report.text());
  CHECK(report.verdict == Verdict::Rewrite);
  CHECK(report.exit_code() == 1);
  CHECK(report.rule == "load-gep");
  CHECK(report.stage == "devectorize");
  CHECK(report.rewrite == 1);
  CHECK(report.location.starts_with("passes/kernel/"));
  CHECK(report.confirmed);
  CHECK(report.before.starts_with("Ops.LOAD"));
  CHECK(report.after.starts_with("Ops.MUL"));
  CHECK(std::stod(report.witness.at("after")) == doctest::Approx(2 * std::stod(report.witness.at("before"))));
}

TEST_CASE("bisect: faults of all stages, on the CPU and in REF") {
  for (const char* fault :
       {"substitute", "expand@2", "reduce-unrolled", "lower-const@3", "lower-binary", "fold-binary"}) {
    std::string rule(fault, strcspn(fault, "@"));
    CAPTURE(fault);
    for (const char* device : {"CPU:LLVM", "REF"}) {
      BisectReport report = bisected(device, fault);
      INFO(report.text());
      CHECK((report.verdict == Verdict::Same || report.rule == rule));
    }
  }
}

TEST_CASE("bisect: twelve faults of renderers, told from those of compilers, with the node that is printed wrongly") {
  for (const char* device : {"CPU:LLVM", "CPU:CLANG"})
    for (const char* op : {"ADD@6", "MUL@3", "CMPLT", "CMPLT@5", "WHERE", "XOR"}) {
      CAPTURE(device);
      CAPTURE(op);
      std::string renderer = std::string(device).substr(4);
      BisectReport report = bisected(device, "renderer:" + renderer + "." + op, kElementwise);
      INFO(report.text());
      CHECK(report.verdict == Verdict::Renderer);
      CHECK(report.confirmed);
      CHECK(report.before.starts_with("Ops." + std::string(op, strcspn(op, "@"))));
      CHECK((report.location.empty() || report.after.size() > 0));  // C prints many nodes in the lines of others
    }
}

TEST_CASE("bisect: a vector where compilers expect a multiple of its size is the renderer's") {
  const char* moved =
      "i = UOp.range(4, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 1).index(i+2)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0).index(i, ptr=True).store(a).end(i).sink()";
  Settings settings = settings_from({{"DEVECTORIZE", "2"}}).value_or_throw();
  InputGraph in = std::move(load_text(settings, InputKind::Pyrender, moved, "test.uop").value_or_throw());
  BisectReport report = bisect(Session(), in, {.device = {.name = "CPU:LLVM"}});
  INFO(report.error, report.text());
  CHECK(report.verdict == Verdict::Renderer);
  CHECK(report.confirmed);
  CHECK(report.before.starts_with("Ops.LOAD dtypes.float.vec(4)"));
  CHECK(report.detail.starts_with("element by element it is right"));
}

TEST_CASE("bisect: faults in LLVM are its own, and the pass is named, its number, and the function") {
  for (const char* device : {"CPU:LLVM", "CPU:CLANG"})
    for (std::string fault : {"subtract", "compare", "select", "constant", "xor"}) {
      CAPTURE(device);
      CAPTURE(fault);
      BisectReport report = bisected(device, "llvm:" + fault, kElementwise);
      INFO(report.text());
      CHECK(report.verdict == Verdict::Compiler);
      CHECK(report.pass == "wrong-" + fault);
      CHECK(report.pass_number > 0);
      CHECK(report.function.starts_with("function ("));
      CHECK(names(report, "\"pass\":\"wrong-" + fault + "\",\"pass_number\":"));
    }
  BisectReport report = bisected("CPU:CLANG", "llvm:intrinsic", kSqrt);
  INFO(report.text());
  CHECK(report.verdict == Verdict::Compiler);  // whatever passes run
  CHECK(report.pass.empty());
}

TEST_CASE("bisect: what tinygrad is known to do wrong is found without a fault, and the rule named") {
  constexpr std::pair<const char*, const char*> kRules[] = {{"congruence-negative", "divmod-general"},
                                                            {"ceil-by-float", "lt-scaled"},
                                                            {"cast-bound", "alu-one-value"},
                                                            {"fast-idiv", "fast-idiv"},
                                                            {"gpudims-limits", "grid-to-specials"}};
  for (auto [id, rule] : kRules) {
    CAPTURE(id);
    std::string input = test_path("unsound.jsonl.gz") + "#" + id;
    Session session;
    auto source = std::move(Source::open(session, input).value_or_throw());
    InputGraph in = std::move(*std::move(source.next().value_or_throw()));
    BisectReport report = bisect(Session(), in, {.input = {.name = input}});
    INFO(report.text(), report.error);
    CHECK(report.verdict == Verdict::Rewrite);
    CHECK(report.rule == rule);
    CHECK(report.confirmed);
  }
}

TEST_CASE("bisect: a record that tgc does not make diverges: stage, rule, and which application") {
  auto bisect_record = [](const std::string& input, const BisectPlan& plan) {
    Session session;
    auto source = std::move(Source::open(session, input).value_or_throw());
    InputGraph in = std::move(*std::move(source.next().value_or_throw()));
    return bisect(Session(), in, {.input = {.name = input}}, plan);
  };
  std::string wrong = test_path("wrong.jsonl.gz"), right = test_path("golden/kernels.jsonl.gz#bin_add_half.0");
  for (auto& report : {bisect_record(wrong, {}), bisect_record(right, {.against = wrong})}) {
    INFO(report.text(), report.error);
    CHECK(report.verdict == Verdict::Divergence);
    CHECK(report.exit_code() == 1);
    CHECK(report.stage == "postopt symbolic");
    CHECK(report.rule == "fold-binary");  // 3*4 -> 12, which they have as 16
    CHECK(report.rewrite == 1);
  }
  BisectReport same = bisect_record(right, {.against = right});
  CHECK(same.verdict == Verdict::Same);
  CHECK(same.text().find("nothing to blame, tgc makes what tinygrad makes of it") != std::string::npos);
  CHECK_FALSE(bisect_record(right, {.against = test_path("golden/kernels.jsonl.gz#no_such")}).error.empty());
}

TEST_CASE("bisect: a model: the kernel, and the rewrite in it; a schedule whose kernels are right") {
  auto bisect_mlp = [](const std::string& fault) {
    WithEnvironment with("TGC_FAULT", fault);
    Session session{.over = {.weights = test_path("models/mlp.safetensors")}};
    return bisect_model(session, test_path("models/mlp.onnx"), {.input = {.name = "mlp.onnx"}, .device = {.name = "CPU:LLVM"}});
  };
  BisectReport rewrite = bisect_mlp("reduce-unrolled");
  INFO(rewrite.text(), rewrite.error);
  CHECK(rewrite.verdict == Verdict::Rewrite);
  CHECK(rewrite.rule == "reduce-unrolled");
  CHECK(rewrite.kernel.find(", kernel 0 (") != std::string::npos);
  BisectReport same = bisect_model(Session(), test_path("models/mlp.onnx"), {.input = {.name = "mlp.onnx"}});
  INFO(same.error);
  CHECK(same.verdict == Verdict::Same);
}

TEST_CASE("bisect: a graph that is only deep says so, with its depth") {
  Settings settings;
  settings.REWRITE_STACK_LIMIT = 50;
  std::string text = "x = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(1), (), 1).index(UOp.const(dtypes.index, 0))\n";
  text += "y = x\n";
  for (int i = 0; i < 40; i++) text += "x = (x+y)&UOp.const(dtypes.int, 1023)\n";
  text +=
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), "
      "ptr=True).store(x).sink()\n";
  InputGraph in = std::move(load_text(settings, InputKind::Pyrender, text, "deep.uop").value_or_throw());
  BisectReport report = bisect(Session(), in, {.device = {.name = "REF"}});
  INFO(report.text(), report.error);
  CHECK(report.verdict == Verdict::Deep);
  CHECK(report.detail.find(" one above the other, mostly Ops.") != std::string::npos);
}

TEST_CASE("bisect --cmd: a command tells which graphs show it; the first stage and rewrite that make it") {
  BisectReport report = bisected("CPU:LLVM", "", kMatmul, {.command = "! grep -q dtypes.index {}"});
  INFO(report.text());
  CHECK(report.exit_code() == 1);
  CHECK(report.stage == "lower all index dtypes");
  CHECK(bisected("CPU:LLVM", "", kMatmul, {.command = "grep -q Ops.CUSTOM {}"}).verdict == Verdict::Same);
}

}  // namespace tgc
