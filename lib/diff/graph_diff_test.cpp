#include "lib/diff/graph_diff.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>

#include "lib/diff/testing.h"
#include "lib/records/golden.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

UOp read(Graph& graph, std::string_view text) {
  auto root = read_pyrender(graph, text, "test");
  REQUIRE_MESSAGE(root.ok(), root.diag().text());
  return *root;
}

GraphDiff diff(std::string_view a, std::string_view b, const DiffOptions& options = {}) {
  Graph graph;
  return diff_graphs(read(graph, a), read(graph, b), options);
}

// Returns pyrender text of a kernel that sums the rows of a 4 x 8 matrix. The arguments replace parts of it.
std::string kernel(std::string_view axis = "AxisType.LOOP", std::string_view index = "c2*UOp.const(dtypes.index, 8)+c5",
                   std::string_view reduce = "Ops.ADD", std::string_view c2 = "UOp.range(4, 0, ") {
  return "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\nc2 = " + std::string(c2) + std::string(axis) +
         ")\nc3 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(32), (), 1)\nc5 = UOp.range(8, 1, AxisType.REDUCE)\n"
         "c9 = c3.index((" +
         std::string(index) + "))\nc10 = c9.reduce(c5, arg=" + std::string(reduce) +
         ")\nc12 = c0.index(c2, ptr=True).store(c10).end(c2)\nast = c12.sink()";
}

bool has(const GraphDiff& d, NodeChange::Kind kind, std::string_view what, std::string_view before,
         std::string_view after) {
  for (const NodeChange& c : d.changes)
    for (const PropertyDifference& x : c.differences)
      if (c.kind == kind && x.property_name == what && x.before == before && x.after == after) return true;
  return false;
}

constexpr auto kChanged = NodeChange::Kind::Changed;

TEST_CASE("diff: of two sources, the lines that differ are printed, also far from the start of the text") {
  auto text = [](const std::string& line) {
    std::string source = "int f() {\\n";
    for (int i = 0; i < 60; i++) source += "  line" + std::to_string(i) + ";\\n";
    return "c0 = UOp(Ops.SOURCE, dtypes.void, (), '" + source + "  " + line +
           "\\n}')\n"
           "ast = UOp(Ops.PROGRAM, dtypes.void, (c0,))";
  };
  const std::string report = diff_as_text(diff(text("return a-(b-c);"), text("return a-b-c;")));
  CHECK(report.find("-   return a-(b-c);") != std::string::npos);
  CHECK(report.find("+   return a-b-c;") != std::string::npos);
  CHECK(report.find("line30") == std::string::npos);
}

TEST_CASE("diff: a long line is printed from before its difference") {
  auto text = [](const std::string& end) {
    return "ast = UOp(Ops.SOURCE, dtypes.void, (), '" + std::string(500, 'x') + end + "')";
  };
  const std::string report = diff_as_text(diff(text("left"), text("right")));
  CHECK(report.find("xleft'") != std::string::npos);
  CHECK(report.find("xright'") != std::string::npos);
}

TEST_CASE("diff: renumbered buffers are one line after the change that caused the new numbers") {
  auto text = [](int first, const std::string& op) {
    auto buffer = [](const std::string& name, int number) {
      return name + " = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), " + std::to_string(number) + ")\n";
    };
    return buffer("c0", first) + buffer("c1", first + 1) + buffer("c2", first + 2) +
           "c3 = UOp.range(4, 0, AxisType.LOOP)\nc4 = UOp(Ops." + op +
           ", dtypes.float, (c1.index(c3), c2.index(c3)))\nast = c0.index(c3, ptr=True).store(c4).end(c3).sink()";
  };
  const GraphDiff d = diff(text(0, "ADD"), text(3, "MUL"));
  CHECK(has(d, kChanged, "op", "ADD", "MUL"));
  const std::string report = diff_as_text(d);
  CHECK(report.starts_with("changed MUL: op ADD -> MUL"));
  CHECK(report.find("3 buffers with another number: 0 -> 3, 1 -> 4, 2 -> 5\n") != std::string::npos);
  CHECK(report.find("changed DEFINE_GLOBAL") == std::string::npos);
}

TEST_CASE("diff: constants of two dtypes are printed with their dtypes") {
  auto text = [](const std::string& dtype) {
    return "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\nc1 = UOp.range(3, 0, AxisType.LOOP)\n"
           "ast = c0.index(UOp(Ops.MUL, dtypes.index, (c1, UOp.const(" + dtype + ", 8))))";
  };
  GraphDiff d = diff(text("dtypes.index"), text("dtypes.int"));
  CHECK(has(d, kChanged, "source 1", "8 dtypes.index", "8 dtypes.int"));
  const std::string report = diff_as_text(d);
  CHECK(report.find("\n  - ") == std::string::npos);
  CHECK(report.find("\n    %") != std::string::npos);
}

TEST_CASE("diff: other range numbers, line orders and names are no difference") {
  CHECK(diff(kernel(), kernel()).is_same);
  CHECK(diff(kernel(), kernel("AxisType.LOOP", "c2*UOp.const(dtypes.index, 8)+c5", "Ops.ADD", "UOp.range(4, 17, "))
        .is_same);
  std::string moved =
      "a = UOp.range(8, 5, AxisType.REDUCE)\nb = UOp.range(4, 9, AxisType.LOOP)\n"
      "out = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\n"
      "x = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(32), (), 1)\n"
      "ast = out.index(b, ptr=True).store(x.index(b*UOp.const(dtypes.index, 8)+a).reduce(a, "
      "arg=Ops.ADD)).end(b).sink()";
  CHECK(diff(kernel(), moved).is_same);
}

TEST_CASE("diff: ranges are renamed one-to-one") {
  std::string two =
      "a = UOp.range(4, 0, AxisType.LOOP)\nb = UOp.range(4, 1, AxisType.LOOP)\n"
      "ast = (a*UOp.const(dtypes.index, 4)+b).sink()";
  std::string swapped =
      "a = UOp.range(4, 0, AxisType.LOOP)\nb = UOp.range(4, 1, AxisType.LOOP)\n"
      "ast = (b*UOp.const(dtypes.index, 4)+a).sink()";
  std::string one = "a = UOp.range(4, 0, AxisType.LOOP)\nast = (a*UOp.const(dtypes.index, 4)+a).sink()";
  CHECK(diff(two, swapped).is_same);
  CHECK(!diff(two, one).is_same);
  CHECK(!diff(one, two).is_same);
}

TEST_CASE("diff: a changed axis type, size, reduce op or index is the only reported change") {
  GraphDiff d = diff(kernel(), kernel("AxisType.GLOBAL"));
  REQUIRE(d.changes.size() == 1);
  CHECK(has(d, kChanged, "axis type", "AxisType.LOOP", "AxisType.GLOBAL"));
  d = diff(kernel(), kernel("AxisType.LOOP", "c2*UOp.const(dtypes.index, 8)+c5", "Ops.MAX"));
  REQUIRE(d.changes.size() == 1);
  CHECK(has(d, kChanged, "reduce op", "Ops.ADD", "Ops.MAX"));
  d = diff(kernel(), kernel("AxisType.LOOP", "c2*UOp.const(dtypes.index, 8)+c5", "Ops.ADD", "UOp.range(5, 0, "));
  REQUIRE(d.changes.size() == 1);
  CHECK(has(d, kChanged, "size", "4", "5"));
  d = diff(kernel(), kernel("AxisType.LOOP", "c2*UOp.const(dtypes.index, 9)+c5"));
  REQUIRE(d.changes.size() == 1);
  CHECK(has(d, kChanged, "source 1", "8", "9"));
  CHECK(d.changes[0].usage_text.find("r0*8+r1") != std::string::npos);
  CHECK(d.changes[0].usage_text.find("r0*9+r1") != std::string::npos);
}

TEST_CASE("diff: swapped operands are reported unless --ignore names them") {
  std::string a =
      "x = UOp.variable(\"x\", 0, 9)\ny = UOp.variable(\"y\", 0, 9)\n"
      "ast = ((x//y)+x*y).sink(arg=KernelInfo(name='a', axis_types=(), "
      "dont_use_locals=False, applied_opts=(), opts_to_apply=None)).rtag(3)";
  auto replace = [](std::string s, std::string_view from, std::string_view to) {
    return s.replace(s.find(from), from.size(), to);
  };
  GraphDiff d = diff(a, replace(a, "x//y", "y//x"));
  REQUIRE(d.changes.size() == 1);
  CHECK(d.changes[0].differences[0].property_name == "order of sources");
  std::string commuted = replace(a, "x*y", "y*x"), named = replace(a, "'a'", "'b'"),
              tagged = replace(a, "rtag(3)", "rtag(4)");
  std::string variable = replace(a, "\"y\"", "\"z\"");
  for (auto [text, word] : {std::pair(commuted, "order"), std::pair(named, "names"), std::pair(tagged, "tags"),
                            std::pair(variable, "names")}) {
    CHECK(!diff(a, text).is_same);
    CHECK_MESSAGE(diff(a, text, *DiffOptions::parse_ignore_list(word)).is_same, word);
  }
  CHECK(!DiffOptions::parse_ignore_list("nmaes").ok());
}

TEST_CASE("diff: the number that distinguishes kernels of one name in a process is no difference") {
  auto named = [](const std::string& name) {
    return "x = UOp.variable(\"x\", 0, 9)\nast = (x*x).sink(arg=KernelInfo(name='" + name + "', axis_types=(), "
           "dont_use_locals=False, applied_opts=(), opts_to_apply=None))";
  };
  const std::string first = "r\\x1b[90m_\\x1b[0m\\x1b[97m5\\x1b[0m\\x1b[90m";
  CHECK(diff(named(first + "n1\\x1b[0m"), named(first + "\\x1b[0m")).is_same);
  CHECK(diff(named("E_4n1"), named("E_4n2")).is_same);
  const GraphDiff d = diff(named("E_4n1"), named("E_5"));
  REQUIRE(d.changes.size() == 1);
  CHECK(has(d, kChanged, "arg name", "'E_4n1'", "'E_5'"));
}

TEST_CASE("diff: a removed store is reported with the nodes that only it used") {
  std::string a =
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\n"
      "c1 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 1)\nc2 = "
      "UOp.range(4, 0, AxisType.LOOP)\ns0 = c0.index(c2, ptr=True).store(c1.index(c2).sqrt()).end(c2)\n"
      "s1 = c1.index(c2, "
      "ptr=True).store(c1.index(c2).exp2()).end(c2)\nast = s0.sink(s1)";
  std::string b = a.substr(0, a.find("ast")) + "ast = s0.sink()";
  GraphDiff d = diff(a, b);
  REQUIRE(d.changes.size() == 1);
  CHECK(d.changes[0].kind == NodeChange::Kind::Removed);
  CHECK(d.changes[0].before.find("END") != std::string::npos);
  CHECK(d.changes[0].grouped_lines.size() == 3);  // the removed STORE, its INDEX and EXP2
  d = diff(b, a);
  REQUIRE(d.changes.size() == 1);
  CHECK(d.changes[0].kind == NodeChange::Kind::Added);
}

TEST_CASE("diff: each kernel in a schedule has its own range numbers") {
  auto schedule = [](int first, std::string_view op) {
    auto k = [&](int n, int id, std::string_view op) {
      return "def k" + std::to_string(n) +
             "():\n  c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)\n  c1 = UOp.range(4, " +
             std::to_string(id) + ", AxisType.LOOP)\n  ast = c0.index(c1, ptr=True).store(c0.index(c1)." +
             std::string(op) + "()).end(c1).sink()\n  return ast\n\n";
    };
    return k(0, first, "exp2") + k(1, 3, op) +
           "b = UOp.new_buffer('CPU', 4, dtypes.float, 1)\n"
           "x = b.after(UOp(Ops.KERNEL, src=(b,), arg=Kernel(k0(), ())))\n"
           "ast = x.after(UOp(Ops.KERNEL, src=(x,), arg=Kernel(k1(), ()))).sink()";
  };
  CHECK(diff(schedule(3, "sqrt"), schedule(5, "sqrt")).is_same);
  GraphDiff d = diff(schedule(3, "sqrt"), schedule(5, "log2"));
  REQUIRE(d.changes.size() == 1);
  CHECK(d.changes[0].differences[0].property_name == "kernel: op");
}

TEST_CASE("diff: two unrelated graphs, as text and JSON") {
  GraphDiff d = diff(kernel(), "ast = UOp.const(dtypes.index, 3)");
  CHECK(!d.is_same);
  CHECK(!d.changes.empty());
  d = diff(kernel(), kernel("AxisType.GLOBAL"));
  std::string text = diff_as_text(d);
  CHECK(text.find("changed RANGE: axis type AxisType.LOOP -> AxisType.GLOBAL") == 0);
  CHECK(text.find("1 changed, 0 added, 0 removed") != std::string::npos);
  CHECK(diff_as_json(d).find(R"({"what":"axis type","before":"AxisType.LOOP","after":"AxisType.GLOBAL"})") !=
        std::string::npos);
  CHECK(diff_as_text(diff(kernel(), kernel())).empty());
}

TEST_CASE("diff: 10,000 nodes against 10,000 in under 200 ms") {
  auto big = [](int changed) {  // 10 nodes differ by `changed`
    std::string text =
        "r = UOp.range(100000, 0, AxisType.GLOBAL)\na = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(100000), (), 0)\n"
        "b = UOp(Ops.DEFINE_GLOBAL, "
        "dtypes.float.ptr(100000), (), 1)\n";
    std::string stores;
    for (int i = 0; i < 1700; i++) {
      std::string n = std::to_string(i), step = std::to_string(i + 1 + (i % 170 == 0 ? changed : 0));
      text += "i" + n + " = r+UOp.const(dtypes.index, " + step + ")\nl" + n + " = b.index(i" + n + ")\nm" + n + " = l" +
              n + "*b.index(r)\ns" + n + " = a.index(i" + n + ", ptr=True).store(m" + n + "+" +
              (i ? "m" + std::to_string(i - 1) : "l0") + ")\n";
      stores += (i ? ", s" : "s") + n;
    }
    return text + "ast = UOp(Ops.SINK, dtypes.void, (" + stores + "))";
  };
  Graph graph;
  UOp a = read(graph, big(0)), b = read(graph, big(100000));
  CHECK(toposort(a).size() > 10000);
  double best = 1e9;
  for (int tries = 0; tries < 3; tries++) {
    std::clock_t begin = std::clock();  // processor time, which does not count other processes
    GraphDiff d = diff_graphs(a, b);
    best = std::min(best, 1e3 * double(std::clock() - begin) / CLOCKS_PER_SEC);
    CHECK(d.changes.size() == 10);
  }
  MESSAGE("10,000 nodes: " << best << " ms");
  CHECK(best < (kIsSanitized ? 2000 : 200));
}

std::vector<std::string> golden_texts(size_t wanted) {
  std::vector<std::string> files, out;
  for (std::string folder : {test_path("golden"), source_path("../shared/corpus/kernel")}) {
    if (!std::filesystem::exists(folder)) continue;
    for (auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().string().find(".jsonl") != std::string::npos) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  size_t each = files.empty() ? 0 : (wanted + files.size() - 1) / files.size();
  for (const std::string& file : files) {
    auto reader = GoldenReader::open(file);
    REQUIRE(reader.ok());
    if (reader->header().level != "kernel") continue;
    for (size_t n = 0; n < each; n++) {
      auto record = reader->next_record();
      REQUIRE(record.ok());
      if (!*record) break;
      std::vector<std::string> texts{(*record)->ast};
      for (GoldenStage& s : (*record)->stages)
        if (s.ir) texts.push_back(std::move(*s.ir));
      out.push_back(std::move(texts[n % texts.size()]));
    }
  }
  if (out.size() > wanted) out.resize(wanted);
  return out;
}

TEST_CASE("diff: golden graphs equal their scrambled copies, and a mutation is reported") {
  const char* count = std::getenv("TGC_DIFF_RECORDS");  // scripts/tools/diff_mutations sets this variable
  std::mt19937 random(7);
  size_t graphs = 0, same = 0;
  std::map<std::string_view, std::pair<size_t, size_t>> tally;  // by mutation: number of diffs that show it, of all
  double seconds = 0;
  for (const std::string& text : golden_texts(count ? size_t(std::atol(count)) : 60)) {
    Graph graph;
    auto root = read_pyrender(graph, text, "golden");
    REQUIRE(root.ok());
    std::string scrambled = testing::scramble_text(text, random);
    auto again = read_pyrender(graph, scrambled, "scrambled");
    REQUIRE_MESSAGE(again.ok(), again.diag().text());
    graphs++;
    if (diff_graphs(*root, *again).is_same) same++;
    else MESSAGE("not the same as itself scrambled:\n", text.substr(0, 2000));
    for (int tries = 0; tries < testing::kNumMutationKinds; tries++) {
      auto kind = testing::MutationKind((graphs + size_t(tries)) % testing::kNumMutationKinds);
      auto mutated = testing::mutate_graph(*root, kind, random);
      if (!mutated) continue;
      auto begin = std::chrono::steady_clock::now();
      GraphDiff d = diff_graphs(*root, mutated->root);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      CHECK(!d.is_same);
      bool shown = !d.is_same && mutated->is_shown(d);
      auto& [good, all] = tally[testing::name_of(kind)];
      good += shown;
      all++;
      if (!shown && count) MESSAGE(testing::name_of(kind), " is not what is shown:\n", diff_as_text(d));
      break;
    }
  }
  CHECK(same == graphs);
  size_t shown = 0, seeded = 0;
  for (auto& [kind, n] : tally) {
    shown += n.first, seeded += n.second;
    if (count) std::printf("%-16s %4zu of %4zu shown\n", std::string(kind).c_str(), n.first, n.second);
  }
  if (count)
    std::printf("%-16s %4zu of %4zu shown; %zu graphs, %zu same when scrambled; %.3f ms a diff\n", "total", shown,
                seeded, graphs, same, 1e3 * seconds / double(std::max<size_t>(seeded, 1)));
  CHECK(double(shown) >= 0.95 * double(seeded));
}

}  // namespace
}  // namespace tgc
