#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "lib/contain/temporary_folder.h"
#include "lib/lsp/features.h"
#include "lib/lsp/rule_source.h"
#include "lib/support/write_file.h"

using namespace tgc;

namespace {

constexpr const char* kWithFunction =
    "# a kernel\n"
    "# of 0.12.0\n"
    "def k0(c1):\n"
    "  c3 = UOp.const(dtypes.float, 2.0)\n"
    "  return c3\n"
    "c1 = UOp.new_buffer('CPU', 8, dtypes.float, 1)\n"
    "c2 = c1.reshape((2,4))+c1.reshape((2,4))\n"
    "ast = c2.sink()\n";

std::shared_ptr<const SectionAnalysis> read(std::string text) {
  return analyze_section(text, GraphSection{0, text.size()}, "tinygrad 0.12.0", true);
}

// Returns the labels of the completions at the place that `at` marks in `text`. Removes the mark first.
std::vector<std::string> labels(std::string text, std::string_view at = "|") {
  const size_t place = text.find(at);
  text.erase(place, at.size());
  std::vector<std::string> out;
  for (const CompletionItem& c : completions_at_offset(*read(text), place).completions) out.push_back(c.label);
  return out;
}

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

std::string renamed(const std::string& text, std::string_view at, std::string_view name) {
  const auto a = read(text);
  auto places = name_ranges(*a, text.find(at));
  if (!places) return places.diag().message;
  const auto checked = check_renaming(*a, *places, name);
  return checked ? std::to_string(places->size()) + " places" : checked.diag().message;
}

}  // namespace

TEST_CASE("lsp: tokens have the kind that the text gives them, in order and without overlaps") {
  const std::string text = "c1 = UOp(Ops.CONST, dtypes.int, arg=5) # c1\nc2 = c1.sink('c1')\n";
  const auto a = read(text);
  std::string said;
  size_t end = 0;
  constexpr const char* kNames[] = {
#define X(id, name) name,
      TGC_TOKEN_KINDS(X)
#undef X
  };
  for (const SemanticToken& t : tokens_of_text(*a)) {
    CHECK(t.begin >= end);
    end = t.end;
    said += text.substr(t.begin, t.end - t.begin) + ":" + kNames[int(t.kind)] + (t.is_definition ? "!" : "") + " ";
  }
  CHECK(said == "c1:variable! UOp:class Ops.CONST:enumMember dtypes.int:type arg:property 5:number # c1:comment "
        "c2:variable! c1:variable sink:method 'c1':string ");
}

TEST_CASE("lsp: functions, comments, brackets and the loops of listings can be folded") {
  auto lines = [](const std::string& text) {
    std::string out;
    auto line = [&](size_t at) { return std::to_string(std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n')); };
    for (const FoldingRange& f : folding_ranges(*read(text)))
      out += line(f.begin) + "-" + line(f.end) + (f.is_comment ? "# " : " ");
    return out;
  };
  CHECK(lines(kWithFunction) == "0-1# 2-4 ");
  CHECK(lines("c1 = UOp(Ops.CONST, dtypes.int, (), (\n  1,\n  ')',\n))\nc2 = c1.sink(c1)\n") == "0-3 ");
  auto row = [](int number, std::string op, std::string dtype, std::string src, std::string arg) {
    for (auto [text, width] : {std::pair(&op, 20), {&dtype, 40}, {&src, 32}}) text->resize(size_t(width), ' ');
    return "   " + std::to_string(number) + " " + op + ":            " + dtype + " " + src + " " + arg + "\n";
  };
  CHECK(lines(row(0, "Ops.CONST", "dtypes.index", "[]", "4") +
              row(1, "Ops.RANGE", "dtypes.index", "['4']", "(0, AxisType.LOOP)") +
              row(2, "Ops.NOOP", "dtypes.void", "[]", "None") +
              row(3, "Ops.END", "dtypes.void", "[2, 1]", "None")) == "1-3 ");
}

TEST_CASE("lsp: shapes are shown behind nodes that have one, and not where the text says it") {
  const auto a = read(std::string(kWithFunction).substr(std::string_view(kWithFunction).find("c1 = ")));
  std::map<std::string, std::string> shapes;
  for (const InlayHint& h : shape_hints(*a, 0, a->text.size())) shapes[a->text.substr(h.offset - 3, 3)] = h.text;
  CHECK(shapes["4))"] == "(2, 4)");
  CHECK(shape_hints(*a, 0, 1).size() == 1);
  CHECK(shape_hints(*read("c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(264), (), 0)\n"), 0, 60).empty());
}

TEST_CASE("lsp: completions are the names that are visible, and ops and dtypes of the release") {
  const std::string start = std::string(kWithFunction).substr(0, std::string_view(kWithFunction).find("ast"));
  CHECK(labels(start + "ast = c|") == std::vector<std::string>{"c2", "c1"});  // not c3, which is inside k0
  CHECK(labels(start + "ast = k|") == std::vector<std::string>{"k0"});
  CHECK(labels("def k0(c1):\n  c3 = c1\n  c4 = c|\n  return c3\nc5 = 1\n") == std::vector<std::string>{"c3"});
  CHECK(has(labels("c1 = UOp(Ops.DE|"), "DEFINE_GLOBAL"));
  CHECK_FALSE(has(labels("c1 = UOp(Ops.|"), "STACK"));  // 0.12 has no op STACK
  CHECK(labels("c1 = UOp(Ops.CONST, dtypes.hal|") == std::vector<std::string>{"half"});
  CHECK(has(labels("c1 = UOp.range(8, 0, AxisType.|"), "REDUCE"));
  CHECK(has(labels(R"({"format":"tgc-graph","version":1,"nodes":[{"op":"AD|"}]})"), "ADD"));
  CHECK(has(labels(R"({"format":"tgc-graph","version":1,"nodes":[{"op":"ADD","dtype":"|"}]})"), "dtypes.half"));
  for (const char* none : {"c1 = 1\n# c|", "c1 = 1\nc2 = 'c|'", "c1 = 1\nc2 = c1.|", "c|1 = 1\n"})
    CHECK(labels(none).empty());
}

TEST_CASE("lsp: a name is renamed only if the text stays the same graph") {
  const std::string text = std::string(kWithFunction).substr(std::string_view(kWithFunction).find("c1 = "));
  CHECK(renamed(text, "c1", "buffer") == "3 places");
  CHECK(renamed(text, "c2+", "x").find("no name") != std::string::npos);
  CHECK(renamed(text, "c1", "c2") == "'c2' is already a name in this graph");
  CHECK(renamed(text, "c1", "1x").find("is not a name") != std::string::npos);
  CHECK(renamed(text, "c1", "None").find("cannot be") != std::string::npos);
  // the statement "ast" decides what the graph is
  CHECK(renamed("c1 = UOp.const(dtypes.int, 1)\nc2 = c1.sink()\n", "c1", "ast") ==
        "with the name 'ast', the text is another graph");
  CHECK(renamed(R"({"format":"tgc-graph","version":1,"nodes":[{"op":"NOOP"}]})", "NOOP", "x").find("numbers") !=
        std::string::npos);
}

TEST_CASE("lsp: the source of a rule is searched in the editor's folders only, and on the web for releases") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/a b/tinygrad/uop");
  REQUIRE(write_file(folder.path() + "/a b/tinygrad/uop/symbolic.py", ""));
  const std::string uri = uri_of_path(folder.path() + "/a b");
  CHECK(uri.ends_with("/a%20b"));
  CHECK(path_of_uri(uri) == folder.path() + "/a b");
  const std::vector<std::string> folders{path_of_uri(uri)};
  const RuleLocation place = parse_rule_location("uop/symbolic.py:42");
  CHECK(find_rule_file(place, folders) == folder.path() + "/a b/tinygrad/uop/symbolic.py");
  CHECK(find_rule_file(place, {}).empty());
  for (const char* wrong : {"/etc/passwd:1", "../x.py:1", "a/../x.py:1", "x.py:0", "x.py", "x.py:1\n", ""})
    CHECK(parse_rule_location(wrong).file.empty());
  CHECK(rule_web_address(place, "tinygrad 0.14.0") ==
        "https://github.com/tinygrad/tinygrad/blob/v0.14.0/tinygrad/uop/symbolic.py#L42");
  CHECK(rule_web_address(place, "a port").empty());
}
