#include "lib/support/pickle.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

bool is_point(std::string_view module, std::string_view name) { return module == "m" && name == "Point"; }

Result<Pickle> read(std::string_view bytes) { return Pickle::read(std::string(bytes), is_point, "a Point"); }
template <size_t N>
Result<Pickle> read_bytes(const char (&bytes)[N]) { return read(std::string_view(bytes, N - 1)); }

// pickle.dumps of p = Point(); p.x = -3; p.y = (2.5, None, True, b"ab"), then [p, p, {"a": 2**64 - 1}, 2**70], with
// Python 3.11 and protocol 4
constexpr std::string_view kPoint(
    "\x80\x04\x95Z\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x01m\x94\x8c\x05Point\x94\x93\x94)\x81\x94}\x94(\x8c\x01x\x94J"
    "\xfd\xff\xff\xff\x8c\x01y\x94(G@\x04\x00\x00\x00\x00\x00\x00N\x88"
    "C\x02" "ab\x94t\x94ubh\x04}\x94\x8c\x01" "a\x94\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00s\x8a\x09\x00\x00"
    "\x00\x00\x00\x00\x00\x00@e.", 101);

}  // namespace

TEST_CASE("pickle reader: objects, shared values and numbers of any size") {
  auto pickle = read(kPoint);
  REQUIRE(pickle);
  PickleValue list = pickle->root();
  REQUIRE(list.size() == 4);
  CHECK(list[0].id() == list[1].id());
  CHECK(list[0].class_name() == "Point");
  CHECK(list[0].class_module() == "m");
  CHECK(list[0].find("x")->int_value() == -3);
  PickleValue y = *list[0].find("y");
  REQUIRE(y.size() == 4);
  CHECK(y[0].float_value() == 2.5);
  CHECK(y[1].is_none());
  CHECK(y[2].is_true());
  CHECK(y[3].text() == "ab");
  CHECK_FALSE(list[0].find("z"));
  CHECK(list[2].find("a")->unsigned_number() == UINT64_MAX);
  CHECK_FALSE(list[2].find("a")->int_value());
  CHECK_FALSE(list[3].unsigned_number());
}

TEST_CASE("pickle reader: a call of getattr is an object of an enum, and nothing else may be asked for") {
  auto member = read_bytes("\x80\x04" "cbuiltins\ngetattr\ncm\nPoint\n\x8c\x03TOP\x86R.");
  REQUIRE(member);
  CHECK(member->root().class_name() == "Point");
  CHECK(member->root().class_module() == "m");
  REQUIRE(member->root().size() == 1);
  CHECK(member->root()[0].text() == "TOP");
  CHECK_FALSE(read_bytes("\x80\x04" "cbuiltins\ngetattr\ncos\nPoint\n\x8c\x03TOP\x86R."));
  CHECK_FALSE(read_bytes("\x80\x04" "cbuiltins\ngetattr\nK\x01\x8c\x03TOP\x86R."));
  CHECK_FALSE(read_bytes("\x80\x04" "cbuiltins\ngetattr\ncm\nPoint\n\x85R."));
}

TEST_CASE("pickle reader: a name outside the table, and every damaged pickle, is an error") {
  auto call = read_bytes("\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x85R.");
  REQUIRE_FALSE(call);
  CHECK(call.diag().message.find("os.system") != std::string::npos);
  CHECK_FALSE(read_bytes("cos\nsystem\n."));
  for (size_t size = 0; size < kPoint.size(); size++) CHECK_FALSE(read(kPoint.substr(0, size)));
  CHECK_FALSE(read_bytes("\x80\x04h\x05."));
  CHECK_FALSE(read_bytes("\x80\x04r\xff\xff\xff\xff."));
  CHECK_FALSE(read_bytes("Nr\xff\xff\xff\x7f."));         // a memo index that would need a table of 8 GiB
  CHECK_FALSE(read_bytes("\x80\x04B\xff\xff\xff\xff."));  // more bytes than the file has
  CHECK_FALSE(read_bytes("]K\x01s."));
  CHECK_FALSE(read_bytes("}(K\x01u."));
  CHECK_FALSE(read_bytes("(0t."));
}

TEST_CASE("pickle reader: a list that contains itself, and deep nesting, are read without recursion") {
  CHECK(read_bytes("]\x94h\x00" "a."));
  std::string deep(1000000, '\x85');
  auto pickle = read(")" + deep + ".");
  REQUIRE(pickle);
  CHECK(pickle->root().size() == 1);
}

}  // namespace tgc
