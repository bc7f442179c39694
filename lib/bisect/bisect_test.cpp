// Tests verdicts of bisect, for example on right kernels, on known miscompiles of tinygrad, and on seeded faults.
#include "lib/bisect/bisect.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "lib/compare/replay.h"
#include "lib/driver/source.h"
#include "lib/support/testing.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

// The kernel multiplies two matrices, of shapes 12 x 8 and 8 x 16: data0[i * 16 + j] is a sum over k.
constexpr const char* kMatmul =
    "i = UOp.range(12, 0, AxisType.LOOP)\n"
    "j = UOp.range(16, 1, AxisType.LOOP)\n"
    "k = UOp.range(8, 2, AxisType.REDUCE)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(96), (), 1).index(i*8+k)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(128), (), 2).index(k*16+j)\n"
    "s = (a*b).reduce(k, arg=Ops.ADD)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(192), (), 0).index(i*16+j, ptr=True).store(s).end(i, j).sink()\n";

// A kernel with many ops: data0[i] = max(a < b ? a*b + 1.5 : a*a + b*3, a*2 + b) + (n ^ 5)
constexpr const char* kElementwise =
    "i = UOp.range(24, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 1).index(i)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 2).index(i)\n"
    "n = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(24), (), 3).index(i)\n"
    "y = (a<b).where(a*b+UOp.const(dtypes.float, 1.5), a*a+b*UOp.const(dtypes.float, 3.0))\n"
    "z = y.maximum(a*UOp.const(dtypes.float, 2.0)+b)+(n^UOp.const(dtypes.int, 5)).cast(dtypes.float)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 0).index(i, ptr=True).store(z).end(i).sink()\n";

constexpr const char* kSqrt =
    "i = UOp.range(24, 0, AxisType.LOOP)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 1).index(i)\n"
    "r = UOp(Ops.SQRT, dtypes.float, (a*a+UOp.const(dtypes.float, 1.0),))\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(24), (), 0).index(i, ptr=True).store(r).end(i).sink()\n";

BisectReport bisected(const std::string& device, const std::string& fault = "", const char* text = kMatmul,
                      const BisectPlan& plan = {}) {
  ScopedEnvironment with("TGC_FAULT", fault);
  InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw());
  in.info.name = "kernel";
  BisectReport out = bisect(Session(), in, {.device = {.name = device}}, plan);
  INFO(out.error);
  CHECK(out.error.empty());
  return out;
}

bool names(const BisectReport& r, std::string_view member) { return r.json().find(member) != std::string::npos; }

}  // namespace

TEST_CASE("bisect: a right kernel is the same") {
  BisectReport report = bisected("CPU:LLVM");
  CHECK(report.verdict.kind == Kind::Same);
  CHECK(report.exit_code() == 0);
  CHECK(names(report, "\"verdict\":\"same\""));
}

TEST_CASE("bisect: names rule, stage, application and sides of a fault, and confirms it") {
  BisectReport report = bisected("CPU:LLVM", "load-gep");
  INFO(report.text());
  CHECK(report.verdict.kind == Kind::Rewrite);
  CHECK(report.exit_code() == 1);
  CHECK(report.verdict.rule == "load-gep");
  CHECK(report.verdict.stage == "devectorize");
  CHECK(report.verdict.rewrite_number == 1);
  CHECK(report.verdict.location.starts_with("passes/kernel/"));
  CHECK(report.verdict.is_confirmed);
  CHECK(report.verdict.before.starts_with("Ops.LOAD"));
  CHECK(report.verdict.after.starts_with("Ops.MUL"));
  const auto& witness = report.verdict.witness;
  CHECK(std::stod(witness.at("after")) == doctest::Approx(2 * std::stod(witness.at("before"))));
}

TEST_CASE("bisect: names faults of all stages, on the CPU and in REF") {
  for (const char* fault :
       {"substitute", "expand@2", "reduce-unrolled", "lower-const@3", "lower-binary", "fold-binary"}) {
    std::string rule(fault, strcspn(fault, "@"));
    CAPTURE(fault);
    for (const char* device : {"CPU:LLVM", "REF"}) {
      BisectReport report = bisected(device, fault);
      INFO(report.text());
      CHECK((report.verdict.kind == Kind::Same || report.verdict.rule == rule));
    }
  }
}

TEST_CASE("bisect: attributes twelve faults of renderers to the renderer and names the misprinted node") {
  for (const char* device : {"CPU:LLVM", "CPU:CLANG"})
    for (const char* op : {"ADD@6", "MUL@3", "CMPLT", "CMPLT@5", "WHERE", "XOR"}) {
      CAPTURE(device);
      CAPTURE(op);
      std::string renderer = std::string(device).substr(4);
      BisectReport report = bisected(device, "renderer:" + renderer + "." + op, kElementwise);
      INFO(report.text());
      CHECK(report.verdict.kind == Kind::Renderer);
      CHECK(report.verdict.is_confirmed);
      CHECK(report.verdict.before.starts_with("Ops." + std::string(op, strcspn(op, "@"))));
      CHECK((report.verdict.location.empty() || report.verdict.after.size() > 0));
    }
}

TEST_CASE("bisect: attributes a misaligned vector load to the renderer") {
  const char* moved =
      "i = UOp.range(4, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 1).index(i+2)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0).index(i, ptr=True).store(a).end(i).sink()";
  Settings settings = settings_of_recording({{"DEVECTORIZE", "2"}}).value_or_throw();
  InputGraph in = std::move(load_graph_text(settings, InputKind::Pyrender, moved, "test.uop").value_or_throw());
  BisectReport report = bisect(Session(), in, {.device = {.name = "CPU:LLVM"}});
  INFO(report.error, report.text());
  CHECK(report.verdict.kind == Kind::Renderer);
  CHECK(report.verdict.is_confirmed);
  CHECK(report.verdict.before.starts_with("Ops.LOAD dtypes.float.vec(4)"));
  CHECK(report.verdict.detail.starts_with("it passes if vectors are accessed element by element"));
}

TEST_CASE("bisect: names LLVM's wrong pass, its number and the function") {
  for (const char* device : {"CPU:LLVM", "CPU:CLANG"})
    for (std::string fault : {"subtract", "compare", "select", "constant", "xor"}) {
      CAPTURE(device);
      CAPTURE(fault);
      BisectReport report = bisected(device, "llvm:" + fault, kElementwise);
      INFO(report.text());
      CHECK(report.verdict.kind == Kind::Compiler);
      CHECK(report.verdict.pass_name == "wrong-" + fault);
      CHECK(report.verdict.pass_number > 0);
      CHECK(report.verdict.function.starts_with("function ("));
      CHECK(names(report, "\"pass\":\"wrong-" + fault + "\",\"pass_number\":"));
    }
  BisectReport report = bisected("CPU:CLANG", "llvm:intrinsic", kSqrt);
  INFO(report.text());
  CHECK(report.verdict.kind == Kind::Compiler);
  CHECK(report.verdict.pass_name.empty());
}

TEST_CASE("bisect: names the rule of known miscompiles of tinygrad") {
  constexpr std::pair<const char*, const char*> kRules[] = {{"congruence-negative", "divmod-general"},
                                                            {"ceil-by-float", "lt-scaled"},
                                                            {"cast-bound", "alu-one-value"},
                                                            {"fast-idiv", "fast-idiv"},
                                                            {"gpudims-limits", "grid-to-specials"}};
  for (auto [id, rule] : kRules) {
    CAPTURE(id);
    std::string input = test_path("unsound.jsonl.gz") + "#" + id;
    Session session;
    auto source = std::move(GraphSource::open(session, input).value_or_throw());
    InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
    BisectReport report = bisect(Session(), in, {.input = {.name = input}});
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Rewrite);
    CHECK(report.verdict.rule == rule);
    CHECK(report.verdict.is_confirmed);
  }
}

TEST_CASE("bisect: names stage, rule and application of a divergence from a record") {
  auto bisect_record = [](const std::string& input, const BisectPlan& plan) {
    Session session;
    auto source = std::move(GraphSource::open(session, input).value_or_throw());
    InputGraph in = std::move(*std::move(source.next_graph().value_or_throw()));
    return bisect(Session(), in, {.input = {.name = input}}, plan);
  };
  std::string wrong = test_path("wrong.jsonl.gz"), right = test_path("golden/kernels.jsonl.gz#bin_add_half.0");
  for (auto& report : {bisect_record(wrong, {}), bisect_record(right, {.golden_input = wrong})}) {
    INFO(report.text(), report.error);
    CHECK(report.verdict.kind == Kind::Divergence);
    CHECK(report.exit_code() == 1);
    CHECK(report.verdict.stage == "postopt symbolic");
    CHECK(report.verdict.rule == "fold-binary");
    CHECK(report.verdict.rewrite_number == 1);
  }
  BisectReport same = bisect_record(right, {.golden_input = right});
  CHECK(same.verdict.kind == Kind::Same);
  CHECK(same.text().find("no failure, tgc compiles it as tinygrad does") != std::string::npos);
  CHECK_FALSE(bisect_record(right, {.golden_input = test_path("golden/kernels.jsonl.gz#no_such")}).error.empty());
}

TEST_CASE("bisect: names the failing kernel of a model and the rewrite") {
  auto bisect_mlp = [](const std::string& fault) {
    ScopedEnvironment with("TGC_FAULT", fault);
    Session session{.overrides = {.weights_file = test_path("models/mlp.safetensors")}};
    return bisect_model(session, test_path("models/mlp.onnx"),
                        {.input = {.name = "mlp.onnx"}, .device = {.name = "CPU:LLVM"}});
  };
  BisectReport rewrite = bisect_mlp("reduce-unrolled");
  INFO(rewrite.text(), rewrite.error);
  CHECK(rewrite.verdict.kind == Kind::Rewrite);
  CHECK(rewrite.verdict.rule == "reduce-unrolled");
  CHECK(rewrite.kernel.find(", kernel 0 (") != std::string::npos);
  BisectReport same = bisect_model(Session(), test_path("models/mlp.onnx"), {.input = {.name = "mlp.onnx"}});
  INFO(same.error);
  CHECK(same.verdict.kind == Kind::Same);
}

TEST_CASE("bisect: reports the depth of a graph that exceeds REWRITE_STACK_LIMIT") {
  Settings settings;
  settings.REWRITE_STACK_LIMIT = 50;
  std::string text = "x = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(1), (), 1).index(UOp.const(dtypes.index, 0))\n";
  text += "y = x\n";
  for (int i = 0; i < 40; i++) text += "x = (x+y)&UOp.const(dtypes.int, 1023)\n";
  text +=
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), "
      "ptr=True).store(x).sink()\n";
  InputGraph in = std::move(load_graph_text(settings, InputKind::Pyrender, text, "deep.uop").value_or_throw());
  BisectReport report = bisect(Session(), in, {.device = {.name = "REF"}});
  INFO(report.text(), report.error);
  CHECK(report.verdict.kind == Kind::Deep);
  CHECK(report.verdict.detail.find(" one above the other, mostly Ops.") != std::string::npos);
}

TEST_CASE("bisect --cmd: names the first stage after which the command exits with 0") {
  BisectReport report = bisected("CPU:LLVM", "", kMatmul, {.test_command = "! grep -q dtypes.index {}"});
  INFO(report.text());
  CHECK(report.exit_code() == 1);
  CHECK(report.verdict.stage == "lower all index dtypes");
  CHECK(bisected("CPU:LLVM", "", kMatmul, {.test_command = "grep -q Ops.CUSTOM {}"}).verdict.kind == Kind::Same);
}

}  // namespace tgc
