#include "lib/records/graph_texts.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

constexpr std::string_view kRepr = "UOp(Ops.ADD, dtypes.int, arg=None, src=(\n  x0:=UOp(Ops.CONST, dtypes.int, arg=1, "
                                   "src=()),\n  x0,))\n";
constexpr std::string_view kPyrender = "c0 = UOp.const(dtypes.int, 1)\nast = c0+c0\n";
constexpr std::string_view kListing = "   0 Ops.CONST : dtypes.int  []  1\n   1 Ops.NEG : dtypes.int  ['1']  None\n";

std::string kinds_of(std::string_view text) {
  std::string out;
  for (const GraphText& g : find_graph_texts(text).graph_texts)
    out += std::string(name_of(g.kind)) + " at " + std::to_string(g.begin) + "\n";
  return out;
}
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += part;
  return out;
}

TEST_CASE("graph texts: the text of one graph is not divided") {
  for (std::string_view text : {kRepr, kPyrender, kListing}) CHECK(find_graph_texts(text).graph_texts.empty());
  CHECK(find_graph_texts(joined({"# tgc: {\"name\":\"k\"}\n# a comment\n", kPyrender, "\n"})).graph_texts.empty());
  // the whole text is one graph, because its statements may assign to any name
  CHECK(find_graph_texts(joined({"x = UOp.const(dtypes.int, 1)\n", kPyrender})).graph_texts.empty());
  CHECK(find_graph_texts("nothing\nof a graph\n").graph_texts.empty());
}

TEST_CASE("graph texts: graphs one after another, with their headers") {
  const std::string text = joined({kRepr, "\n", kRepr, "# tgc: {\"name\":\"k\"}\n", kPyrender, kListing});
  const FoundGraphTexts found = find_graph_texts(text);
  REQUIRE(found.graph_texts.size() == 4);
  CHECK_FALSE(found.has_other_lines);
  CHECK(found.graph_texts[0].padded_text(text) == kRepr);
  // errors name the line in the whole text
  CHECK(found.graph_texts[1].padded_text(text) == "\n\n\n\n" + std::string(kRepr));
  CHECK(found.graph_texts[2].padded_text(text).ends_with(joined({"\n# tgc: {\"name\":\"k\"}\n", kPyrender})));
  CHECK(found.graph_texts[3].kind == InputKind::Uops);
  CHECK(kinds_of(joined({kListing, kListing})) == "a print_uops listing at 0\na print_uops listing at 74\n");
}

TEST_CASE("graph texts: what a program prints between graphs is skipped") {
  const std::string text = joined({"compiling:   0%|   | 0/1 [00:00<?, ?it/s]", kPyrender,
                                   "void E_4(int* data0) {\n  int alu0 = (1+2);\n}\n", kListing, "*** CPU   1\n", kRepr,
                                   "[2, 3]\n"});
  const FoundGraphTexts found = find_graph_texts(text);
  CHECK(found.has_other_lines);
  REQUIRE(found.graph_texts.size() == 3);
  CHECK(found.graph_texts[0].padded_text(text) == kPyrender);
  CHECK(found.graph_texts[1].padded_text(text).ends_with("\n" + std::string(kListing)));
  CHECK(found.graph_texts[2].padded_text(text).ends_with("\n" + std::string(kRepr)));
}

TEST_CASE("graph texts: an arg of several lines is a part of its listing") {
  const std::string text = "   0 Ops.SOURCE : dtypes.void  []  void f() {\n}\n   1 Ops.SINK : dtypes.void  [0]  None\n";
  CHECK(find_graph_texts(text).graph_texts.empty());
  CHECK(kinds_of(joined({text, "done\n", text})).find("listing at") != std::string::npos);
  CHECK(find_graph_texts(joined({text, "done\n", text})).graph_texts.size() == 2);
}

TEST_CASE("graph texts: a Markdown file has graphs only in its fences") {
  const std::string text = joined({"# Title\nc0 = UOp(...)\n```python\n", kPyrender, "```\nand\n~~~\n", kRepr, kListing,
                                   "~~~\n```\n{\"format\":\"tgc-graph\",\n\"version\":1}\n```\n", kRepr});
  const FoundGraphTexts found = find_graph_texts(text);
  CHECK(found.has_other_lines);
  REQUIRE(found.graph_texts.size() == 4);
  CHECK(found.graph_texts[0].padded_text(text) == "\n\n\n" + std::string(kPyrender));
  CHECK(found.graph_texts[3].kind == InputKind::Json);
}

TEST_CASE("graph texts: many names without an end are looked at once, and hide no graph below them") {
  std::string names;
  for (int i = 0; i < 100000; i++) names += "c" + std::to_string(i) + " = UOp.const(dtypes.int, 1)\n";
  CHECK(find_graph_texts(names).graph_texts.empty());
  const FoundGraphTexts found =
      find_graph_texts(joined({names, "done\n", kPyrender, "done\n", names, "done\n", kPyrender}));
  REQUIRE(found.graph_texts.size() == 2);
  CHECK(found.graph_texts[0].begin == names.size() + 5);
}

TEST_CASE("graph texts: a repr that does not end goes on to the end of the text") {
  CHECK(kinds_of("log\nUOp(Ops.ADD, dtypes.int, arg=')', src=(\n  UOp(") == "UOp repr text at 4\n");
}

}  // namespace
}  // namespace tgc
