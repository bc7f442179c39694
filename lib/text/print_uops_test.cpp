#include <doctest/doctest.h>

#include "lib/records/round_trip.h"
#include "lib/records/testing.h"
#include "lib/support/pytext.h"
#include "lib/text/print_uops.h"
#include "lib/uop/graph.h"
#include "lib/uop/wellformed.h"

using namespace tgc;

TEST_CASE("print_uops: prints columns, coloured ranges, constants by value and sources outside the list") {
  Graph g;
  UOp buffer = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0);
  UOp size = g.constant(dtypes::int32, 8);
  UOp i = g.range(size, std::vector<Arg>{0, AxisType::LOOP}, dtypes::int32);
  UOp index = buffer.index_ptr(i);
  UOp outside = g.constant(dtypes::float32, 1.5);
  UOp store = index.store(outside);
  UOp list[] = {buffer, size, i, index, store};
  CHECK(
      print_uops(list) ==
        // clang-format off
        "   0 Ops.DEFINE_GLOBAL   :            dtypes.float.ptr(8)                      []                               0\n"
        "   1 Ops.CONST           :            dtypes.int                               []                               8\n"
        "   2 Ops.RANGE           : \x1b[97m0\x1b[0m          dtypes.int                               ['8']                            (0, AxisType.LOOP)\n"
        "   3 Ops.INDEX           : \x1b[97m0\x1b[0m          dtypes.float.ptr(8)                      [0, 2]                           None\n"
        "   4 Ops.STORE           : \x1b[97m0\x1b[0m          dtypes.void                              [3, '--']                        None\n");
        // clang-format on
  CHECK(print_uops({}) == "");
}

using namespace tgc;

namespace {

std::string error_with(std::string_view text) {
  Graph g;
  return error_text_of(read_uops(g, text, "in"));
}

}  // namespace

TEST_CASE("print_uops: every golden listing survives a round trip, with and without colours") {
  size_t listings = 0;
  for_each_golden({"kernels", "IMAGE-1", "IMAGE-2", "DEVECTORIZE-0", "TC_OPT-2"}, [&](const GoldenRecord& record) {
    if (!record.linear) return;
    Graph g, h;
    auto listing = read_uops(g, *record.linear, record.id);
    REQUIRE_MESSAGE(listing.ok(), listing.diag().text());
    REQUIRE(print_uops(listing->list) == *record.linear);
    auto plain = read_uops(h, ansistrip(*record.linear));
    REQUIRE(plain.ok());
    CHECK(print_uops(plain->list) == *record.linear);
    listings++;
  });
  CHECK(listings > 110);
}

TEST_CASE("print_uops: sources name the last position of a node listed twice") {
  std::string text =
      // clang-format off
      "   0 Ops.DEFINE_GLOBAL   :            dtypes.float.ptr(4)                      []                               0\n"
      "   1 Ops.CONST           :            dtypes.int                               []                               4\n"
      "   2 Ops.SPECIAL         :            dtypes.int                               ['4']                            gidx0\n"
      "   3 Ops.CONST           :            dtypes.int                               []                               2\n"
      "   4 Ops.CMPLT           :            dtypes.bool                              [2, '2']                         None\n"
      "   5 Ops.INDEX           :            dtypes.float.ptr(4)                      [0, 2]                           None\n"
      "   6 Ops.CONST           :            dtypes.float                             []                               1.0\n"
      "   7 Ops.CONST           :            dtypes.float                             []                               2.0\n"
      "   8 Ops.IF              :            dtypes.void                              [4, 5]                           None\n"
      "   9 Ops.STORE           :            dtypes.void                              [5, '1.0']                       None\n"
      "  10 Ops.ENDIF           :            dtypes.void                              [11]                             None\n"
      "  11 Ops.IF              :            dtypes.void                              [4, 5]                           None\n"
      "  12 Ops.STORE           :            dtypes.void                              [5, '2.0']                       None\n"
      "  13 Ops.ENDIF           :            dtypes.void                              [11]                             None\n";
      // clang-format on
  for (std::string_view below : {"", "  14 Ops.SINK            : dtypes.void [13] None"}) {
    Graph g;
    auto listing = read_uops(g, text + std::string(below));
    REQUIRE_MESSAGE(listing.ok(), listing.diag().text());
    CHECK(listing->list[8] == listing->list[11]);
    CHECK(listing->list[10] == listing->list[13]);
    CHECK(!first_unordered_node(listing->list));
    CHECK(print_uops(listing->list).starts_with(text));
  }
  auto with = [&](std::string_view old, std::string_view now) {
    return error_with(std::string(text).replace(text.find(old), old.size(), now));
  };
  CHECK(with("[11]", "[12]").find("found the source 12") != std::string::npos);  // no line above equals line 12
  CHECK(with("[11]", "[19]").find("found the source 19") != std::string::npos);  // the list has no position 19
}

TEST_CASE("print_uops: a source position below the line means the node above with the same text") {
  const std::string custom = " Ops.CUSTOM : dtypes.void []                               one\n";
  auto text = [&](std::string_view again) {
    return "0" + custom + "two\n1 Ops.CUSTOM : dtypes.void [2]                              a\n2" + custom +
           std::string(again) + "\n";
  };
  Graph g;
  auto listing = read_uops(g, text("two"));
  REQUIRE_MESSAGE(listing.ok(), listing.diag().text());
  CHECK(listing->list[1].src(0) == listing->list[0]);
  CHECK(error_with(text("three")).find("found the source 2") != std::string::npos);
}

TEST_CASE("print_uops: in other releases, sources may be below, and equal lines may be different nodes") {
  const auto line = [](int n, const std::string& op, const std::string& sources, const std::string& arg) {
    std::string out = "   " + std::to_string(n) + " Ops." + op;
    out.resize(25, ' ');
    out += ":            dtypes.int";
    out.resize(79, ' ');
    out += sources;
    out.resize(112, ' ');
    return out + arg + "\n";
  };
  std::string text = line(0, "INS", "[4, 3]", "X86Ops.ADD") + line(1, "INS", "[]", "X86Ops.DEFINE") +
                     line(2, "INS", "[1]", "X86Ops.MOV") + line(3, "INS", "[]", "X86Ops.DEFINE") +
                     line(4, "CAST", "['7']", "dtypes.int") + line(5, "CONST", "[]", "7");
  Graph g;
  g.set_release(Release::v0_14);
  auto listing = read_uops(g, text);
  REQUIRE_MESSAGE(listing.ok(), listing.diag().text());
  CHECK(print_uops(listing->list) == text);
  CHECK(listing->list[0].src(1) == listing->list[3]);
  CHECK_FALSE(listing->list[1] == listing->list[3]);  // line 2 has line 1 as a source, not the last of the equal lines
  CHECK_FALSE(first_unordered_node(listing->list));
  Graph h;
  h.set_release(Release::v0_14);
  auto cycle = read_uops(h, line(0, "INS", "[1]", "X86Ops.MOV") + line(1, "INS", "[0]", "X86Ops.MOV"));
  REQUIRE_FALSE(cycle.ok());
  CHECK(read_uops(h, line(0, "INS", "[1]", "A.B") + line(1, "INS", "[2]", "A.B") + line(2, "INS", "[1]", "A.B"))
        .diag().message.find("needs itself") != std::string::npos);
}

TEST_CASE("print_uops: a constant by value is the one whose dtype fits; other losses are noted") {
  std::string text =
      // clang-format off
      "   0 Ops.CONST           :            dtypes.int                               []                               1\n"
      "   1 Ops.CONST           :            dtypes.long                              []                               1\n"
      "   2 Ops.CONST           :            dtypes.int                               []                               5\n"
      "   3 Ops.CAST            :            dtypes.long                              ['5']                            None\n"
      "   4 Ops.ADD             :            dtypes.long                              [3, '1']                         None\n"
      "   5 Ops.SPECIAL         :            dtypes.int                               ['5']                            gidx0\n"
      "   6 Ops.CUSTOM          :            dtypes.void                              [5, '--']                        two\nlines {0}\n";
  // clang-format on
  Graph g;
  auto listing = read_uops(g, text);
  REQUIRE(listing.ok());
  CHECK(listing->list[4].src(1) == listing->list[1]);
  CHECK(listing->list[5].arg().text() == "gidx0");
  CHECK(listing->list[6].arg().text() == "two\nlines {0}");
  CHECK(print_uops(listing->list) == text);
  CHECK(listing->warnings == std::vector<std::string>{"1 sources are not in the list", "a listing has no tags"});
}

TEST_CASE("print_uops: rejects bad input") {
  std::string good = "   0 Ops.CONST : dtypes.int" + std::string(31, ' ') + "[]" + std::string(31, ' ') + "1\n";
  CHECK(error_with("").find("the input holds no listing") != std::string::npos);
  CHECK(error_with("   3 Ops.CONST :            dtypes.int []  1")
        .starts_with("in:1:4: found line 3 of the listing, expected line 0"));
  CHECK(error_with("   0 Ops.CONTS :            dtypes.int []  1")
        .starts_with("in:1:10: unknown op 'CONTS', expected CONST"));
  CHECK(error_with(good + "   1 Ops.NEG :            dtypes.int [7]  None").find("found the source 7") !=
        std::string::npos);
  CHECK(error_with(good + "   1 Ops.NEG :            dtypes.int ['3']  None").find("no constant 3 above") !=
        std::string::npos);
  CHECK(error_with(good + "   1 Ops.NEG :            []  None").starts_with("in:2:15: a line without a dtype"));
  CHECK(error_with("   0 Ops.CUSTOM :            dtypes.int []                               f(\xff)")
        .find("an arg that is not UTF-8") != std::string::npos);
}

TEST_CASE("print_uops: comments restore what a listing loses") {
  Graph g, h;
  UOp one = g.constant(dtypes::int32, 1), other = g.node(Op::CONST, dtypes::int64, {}, 1),
      wide = one.cast(dtypes::int64);
  UOp narrow = other.cast(dtypes::int32), tagged = g.sink({wide, narrow}).rtag(g.str("a"));
  UOp image = g.node(Op::DEFINE_GLOBAL, dtypes::imagef(std::vector<int64_t>{4, 16, 4}, 128), {}, 0);
  std::vector<UOp> list{one, other, wide, narrow, image, tagged};
  CompleteText text = print_uops_complete(list);
  CHECK(text.is_header_needed);
  CHECK(text.text.find("# UOp 2: dtypes.long, src=(0,)\n") != text.text.npos);
  CHECK(text.text.ends_with(print_uops(list)));
  auto again = read_uops(h, text_header({.stage = "linear"}) + text.text);
  REQUIRE_MESSAGE(again.ok(), again.diag().text());
  CHECK(again->warnings.empty());
  REQUIRE(again->list.size() == list.size());
  for (size_t i = 0; i < list.size(); i++) CHECK(graph_difference(list[i], again->list[i]) == "");
  CHECK(error_with("# UOp 0: dtypes.int, src=(7,)\n   0 Ops.CAST : dtypes.int []  None").find("the source 7") !=
        std::string::npos);
}
