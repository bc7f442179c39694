#include "lib/validate/nan_origin.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/compilation/input_graph.h"

namespace tgc {
namespace {

// Returns a kernel that computes data0[i] = f(a, b) for i < 4, with a = data1[i] and b = data2[i]. `lines` may define
// names that `f` uses.
InputGraph elementwise(const std::string& f, const std::string& lines = "") {
  const std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), ";
  return std::move(load_graph_text({}, InputKind::Pyrender,
                             "i = UOp.range(4, 0, AxisType.LOOP)\na = " + global + "1).index(i)\nb = " + global +
                                 "2).index(i)\n" + lines + "ast = " + global + "0).index(i, ptr=True).store(" + f +
                                 ").end(i).sink()\n",
                             "test")
                       .value_or_throw());
}

Arrays floats(std::vector<float> a, std::vector<float> b) {
  Arrays out;
  for (const auto& [name, values] : {std::pair("data1", a), std::pair("data2", b)}) {
    out.push_back({name, Array(dtypes::float32, {int64_t(values.size())})});
    std::ranges::copy(values, out.back().array.as<float>().begin());
  }
  return out;
}

std::string steps(const InputGraph& in, const Arrays& arrays, int64_t element) {
  auto found = NanOriginFinder(in.root, arrays, {}).find_steps("data0", element);
  if (!found) return found.diag().message;
  std::string out;
  for (const NanStep& s : *found)
    out += s.operation_text + (s.operands_text.empty() ? "" : " <- " + s.operands_text) +
           (s.loop_values_text.empty() ? "" : " at " + s.loop_values_text) + "\n";
  return out;
}

}  // namespace

TEST_CASE("NanOrigin names the operation whose operands are numbers before the one that makes a NaN of its infinity") {
  const Arrays arrays = floats({1, 2, 0, 4}, {1, 1, 0, 1});
  CHECK(steps(elementwise("a.log2()*b"), arrays, 2) ==
        "log2(0) = -inf <- 0 = data1[2] at r0=2\n-inf*0 = nan <- 0 = data2[2] at r0=2\n");
  CHECK(steps(elementwise("(a*0.5).reciprocal()*b"), arrays, 2) ==
        "1/0 = inf <- 0 = 0*0.5 at r0=2\ninf*0 = nan <- 0 = data2[2] at r0=2\n");
  CHECK(steps(elementwise("(a+-3.0).sqrt()+b"), arrays, 1) == "sqrt(-1) = nan <- -1 = 2+(-3) at r0=1\n");
  CHECK(steps(elementwise("(a*100.0).exp2()"), floats({1, 2, 3, 4}, {}), 1) ==
        "exp2(200) = inf <- 200 = 2*100 at r0=1\n");
}

TEST_CASE("NanOrigin follows only the branch that a WHERE takes, and says from which array a bad value comes") {
  const Arrays arrays = floats({1, 2, -1, 4}, {1, 1, 1, INFINITY});
  CHECK(steps(elementwise("(a<0.0).where(b, a.sqrt())"), arrays, 2) ==
        "REF computes 1 for data0[2], which is a number");
  CHECK(steps(elementwise("(a<0.0).where(a.sqrt(), b)"), arrays, 2) == "sqrt(-1) = nan <- -1 = data1[2] at r0=2\n");
  CHECK(steps(elementwise("a*b"), arrays, 3) == "inf is loaded from data2[3] at r0=3\n");
  CHECK(steps(elementwise("a*b"), arrays, 7) == "no store of the kernel stores to data0[7]");
}

TEST_CASE("NanOrigin finds the iteration of a reduction") {
  const std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), ";
  const InputGraph in = std::move(
      load_graph_text(
          {}, InputKind::Pyrender,
          "r = UOp.range(4, 1, AxisType.REDUCE)\na = " + global + "1).index(r)\nb = " + global +
              "2).index(r)\nast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0)"
                ".index(UOp.const(dtypes.index, 0), ptr=True)"
              ".store((a.log2()*b).reduce(r, arg=Ops.ADD)).sink()\n",
          "test")
          .value_or_throw());
  CHECK(steps(in, floats({1, 2, 4, 0}, {1, 1, 1, 0}), 0) ==
        "log2(0) = -inf <- 0 = data1[3] at r1=3\n-inf*0 = nan <- 0 = data2[3] at r1=3\n");
  // a sum of infinities of both signs: both origins, then the sum
  CHECK(steps(in, floats({0, 2, 0, 1}, {1, 1, -1, 1}), 0) ==
        "log2(0) = -inf <- 0 = data1[0] at r1=0\nlog2(0) = -inf <- 0 = data1[2] at r1=2\n-inf+inf = nan at r1=2\n");
  CHECK(steps(in, floats({2, 2, 1, 1}, {3e38f, 3e38f, 1, 1}), 0) == "3e+38+3e+38 = inf at r1=1\n");
}

TEST_CASE("NanOrigin gives up on a kernel that is built to take all time, memory or stack") {
  const Arrays arrays = floats({1, 2, INFINITY, 4}, {1, 1, 1, 1});
  const auto chain = [](int length, const std::string& source) {  // v0 = a; v1 is computed from v0, v2 from v1, ...
    std::string lines = "v0 = a\n";
    for (int k = 0; k < length; k++) {
      const std::string last = "v" + std::to_string(k);
      lines += "v" + std::to_string(k + 1) + " = " + last + "+" + (source.empty() ? last : source) + "\n";
    }
    return lines;
  };
  CHECK(steps(elementwise("v60", chain(60, "")), arrays, 2) == "too many operations lead to the bad element");
  CHECK(steps(elementwise("v9000", chain(9000, "b")), arrays, 2) == "inf is loaded from data1[2] at r0=2\n");
  std::string loops, all;
  for (int k = 1; k <= 300; k++) {
    const std::string name = "r" + std::to_string(k);
    loops += name + " = UOp.range(1, " + std::to_string(k) + ", AxisType.REDUCE)\n";
    all += (k > 1 ? "+" : "") + name;
  }
  CHECK(steps(elementwise("(" + all + ").cast(dtypes.float)+a", loops), arrays, 2) ==
        "the kernel has too many loops to be evaluated at one element");
}

}  // namespace tgc
