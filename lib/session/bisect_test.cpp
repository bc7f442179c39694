// Bisections without a shell: faults on demand (lib/rewrite/fault.h) are named, where they are and no others.
#include "lib/session/bisect.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "lib/support/testing.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

// TGC_FAULT for as long as this lives.
struct WithFault {
  explicit WithFault(const char* fault) { setenv("TGC_FAULT", fault, 1); }
  ~WithFault() { unsetenv("TGC_FAULT"); }
};

// data0[i * 4 + k] = a sum of products of two arrays, 12 x 8 and 8 x 16
constexpr const char* kMatmul =
    "i = UOp.range(12, 0, AxisType.LOOP)\n"
    "j = UOp.range(16, 1, AxisType.LOOP)\n"
    "k = UOp.range(8, 2, AxisType.REDUCE)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(96), (), 1).index(i*8+k)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(128), (), 2).index(k*16+j)\n"
    "s = (a*b).reduce(k, arg=Ops.ADD)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(192), (), 0).index(i*16+j, ptr=True).store(s).end(i, j).sink()\n";

BisectReport bisected(const char* device, const char* fault = nullptr) {
  std::optional<WithFault> with;
  if (fault) with.emplace(fault);
  Loaded in = std::move(load_text({}, InputKind::Pyrender, kMatmul, "test.uop").value_or_throw());
  in.info.name = "matmul";
  BisectReport out = bisect(Session(), in, {.device = device});
  INFO(out.error);
  CHECK(out.error.empty());
  return out;
}

}  // namespace

TEST_CASE("bisect: nothing to blame") {
  BisectReport report = bisected("CPU:LLVM");
  CHECK(report.verdict == Verdict::Same);
  CHECK(report.exit_code() == 0);
  CHECK(report.json().find("\"verdict\":\"same\"") != std::string::npos);
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

}  // namespace tgc
