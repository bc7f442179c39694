// Tests that bisect finds nodes that a fault in the renderer makes wrong, and the source lines that the fault changes.
#include <doctest/doctest.h>

#include <algorithm>

#include "lib/bisect/bisect.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/compilation/compilation.h"
#include "lib/driver/failure_collector.h"
#include "lib/driver/source.h"
#include "lib/support/lines.h"
#include "lib/support/testing.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

// The kernel computes (j < 7 ? a[i, 3 - j // 3] : 0) + the sum over k of a[i, k] * b[j, (k + i) % 4].
constexpr const char* kPlaces =
    "i = UOp.range(6, 0, AxisType.LOOP)\n"
    "j = UOp.range(10, 1, AxisType.LOOP)\n"
    "k = UOp.range(5, 2, AxisType.REDUCE)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(30), (), 1)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(40), (), 2)\n"
    "s = (a.index(i*5+k)*b.index(j*4+(k+i)%4)).reduce(k, arg=Ops.ADD)\n"
    "p = (j<7).where(a.index(i*5+3+j//3*-1), UOp.const(dtypes.float, 0.0))\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(60), (), 0).index(i*10+j, ptr=True).store(s+p).end(i, j).sink()\n";

// The kernel sums (a < b ? a * b : a - b) over k. If the sum is less than 1, the kernel halves it.
constexpr const char* kValues =
    "i = UOp.range(6, 0, AxisType.LOOP)\n"
    "k = UOp.range(50, 2, AxisType.REDUCE)\n"
    "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(300), (), 1).index(i*50+k)\n"
    "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(300), (), 2).index(i*50+k)\n"
    "m = (a<b).where(a*b, a+b*UOp.const(dtypes.float, -1.0))\n"
    "s = m.reduce(k, arg=Ops.ADD)\n"
    "h = (s<1.0).where(s*UOp.const(dtypes.float, 0.5), s)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(6), (), 0).index(i, ptr=True).store(h).end(i).sink()\n";

InputGraph loaded(const char* text) {
  InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw());
  in.info.name = "kernel";
  return in;
}

struct Linear {
  Compilation compilation;
  std::vector<UOp> list;
  Target target;
  std::vector<std::string> source() const {
    std::string text = render_source(target, list).value_or_throw();
    std::vector<std::string> out;
    for (std::string_view line : lines_of(text)) out.emplace_back(line);
    return out;
  }
};

Linear linear(const char* text, const std::string& device) {
  InputGraph in = loaded(text);
  Compilation c = compile_copy(Session(), in, device, Settings()).value_or_throw();
  auto listed = c.list();
  std::vector<UOp> list = std::move(listed.value_or_throw());
  return {std::move(c), std::move(list), parse_target(device, Settings()).value_or_throw()};
}

struct Tally {
  size_t wrong = 0, named = 0;
};

// Seeds a fault in the first and in every tenth node of the op `op`. Checks that bisect names the changed node and one
// of the source lines that the fault changed, or no node.
Tally bisect_all(const char* text, const std::string& renderer, const std::string& op) {
  Tally out;
  Linear right = linear(text, "CPU:" + renderer);
  std::vector<UOp> nodes;
  std::ranges::copy_if(right.list, std::back_inserter(nodes), [&](UOp u) { return name_of(u.op()) == op; });
  const std::vector<std::string> before = right.source();
  for (size_t n = 1; n <= nodes.size(); n++) {
    if (n > 1 && n % 10) continue;
    ScopedEnvironment with("TGC_FAULT", "renderer:" + renderer + "." + op + "@" + std::to_string(n));
    const std::vector<std::string> after = right.source();
    if (after == before) continue;
    InputGraph in = loaded(text);
    BisectReport report = bisect(Session(), in, {.device = {.name = "CPU:" + renderer}});
    INFO(renderer, " ", op, "@", n, "\n", report.text(), report.error);
    if (report.verdict.kind == Kind::Same) continue;
    out.wrong++;
    CHECK(report.verdict.kind == Kind::Renderer);
    if (report.verdict.before.empty()) continue;
    out.named++;
    CHECK(report.verdict.is_confirmed);
    CHECK(report.verdict.proof.empty());
    CHECK(report.verdict.before == tree_text(nodes[n - 1], 1));
    REQUIRE(report.verdict.location.starts_with("line "));
    size_t line = std::stoul(report.verdict.location.substr(5));
    REQUIRE(line <= after.size());
    CHECK(report.verdict.after.starts_with(after[line - 1]));
    CHECK(std::ranges::find(before, after[line - 1]) == before.end());
  }
  return out;
}

}  // namespace

TEST_CASE("bisect: names misprinted index arithmetic and its line") {
  size_t wrong = 0;
  for (const char* renderer : {"CLANG", "LLVM"})
    for (const char* op : {"ADD", "MUL", "CMPLT", "WHERE", "IDIV", "AND"}) {
      Tally t = bisect_all(kPlaces, renderer, op);
      INFO(std::string(renderer), " ", std::string(op));
      CHECK(t.named == t.wrong);
      wrong += t.wrong;
    }
  CHECK(wrong >= 10);
}

TEST_CASE("bisect: names misprinted values and their line") {
  size_t wrong = 0;
  for (const char* renderer : {"CLANG", "LLVM"})
    for (const char* op : {"ADD", "MUL", "SUB", "CMPLT", "WHERE"}) {
      Tally t = bisect_all(kValues, renderer, op);
      INFO(std::string(renderer), " ", std::string(op));
      CHECK(t.named == t.wrong);
      wrong += t.wrong;
    }
  CHECK(wrong >= 16);
}

}  // namespace tgc
