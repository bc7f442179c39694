#include "lib/beam/tinygrad_cache.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

// pickle.dumps of [Opt(UPCAST, 0, 4), Opt(TC, 0, (-1, 2, 1)), Opt(NOLOCALS), Opt(PADTO, 0, 300)], by Python 3.11
const std::string kPickled(
    "\x80\x04\x95\xb1\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x14tinygrad.codegen.opt\x94\x8c\x03Opt\x94\x93\x94)\x81"
    "\x94}\x94(\x8c\x02op\x94h\x01\x8c\x06OptOps\x94\x93\x94K\x02\x85\x94R\x94\x8c\x04" "axis\x94K\x00\x8c\x03" "arg"
    "\x94K\x04ubh\x03)\x81\x94}\x94(h\x06h\x08K\x01\x85\x94R\x94h\x0bK\x00h\x0cJ\xff\xff\xff\xffK\x02K\x01\x87\x94ubh"
    "\x03)\x81\x94}\x94(h\x06h\x08K\x08\x85\x94R\x94h\x0bNh\x0cNubh\x03)\x81\x94}\x94(h\x06h\x08K\x09\x85\x94R\x94h"
    "\x0bK\x00h\x0cM,\x01ube.",
    188);

std::vector<Opt> four(Graph& g) {
  return {{OptOps::UPCAST, 0, int64_t(4)},
          {OptOps::TC, 0, g.tuple({int64_t(-1), int64_t(2), int64_t(1)})},
          {OptOps::NOLOCALS},
          {OptOps::PADTO, 0, int64_t(300)}};
}

bool same(const std::vector<Opt>& a, const std::vector<Opt>& b) {
  return std::ranges::equal(a, b, [](const Opt& x, const Opt& y) {
    return x.op == y.op && x.axis == y.axis && x.arg == y.arg;
  });
}

}  // namespace

TEST_CASE("pickle: a list of Opts is written as Python does, and read back") {
  Graph g{Settings()};
  CHECK(pickle_opts(four(g)) == kPickled);
  auto read = unpickle_opts(g, kPickled);
  REQUIRE(read);
  CHECK(same(*read, four(g)));
  CHECK(pickle_opts({}) == "\x80\x04]\x94.");
  CHECK(unpickle_opts(g, "\x80\x04]\x94.")->empty());
}

TEST_CASE("pickle: one Opt and a repeated Opt are written as Python does") {
  Graph g{Settings()};
  std::vector<Opt> one{{OptOps::UPCAST, 1, int64_t(2)}}, twice{one[0], one[0]};
  CHECK(same(*unpickle_opts(g, pickle_opts(one)), one));
  CHECK(same(*unpickle_opts(g, pickle_opts(twice)), twice));
  CHECK(pickle_opts(one).substr(13, 1) != "(");  // Python writes MARK only for several items
}

TEST_CASE("pickle: anything but a list of Opts is an error, and nothing is called") {
  Graph g{Settings()};
  for (size_t size = 0; size < kPickled.size(); size++) CHECK_FALSE(unpickle_opts(g, kPickled.substr(0, size)));
  // a pickle that calls os.system('true')
  std::string call("\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x85R.", 27);
  auto foreign = unpickle_opts(g, call);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.diag().message.find("os.system") != std::string::npos);
  for (const char* text : {"", "abc", "\x80\x04]\x94K\x01" "a.", "\x80\x04K\x01.", "\x80\x04h\x05."})
    CHECK_FALSE(unpickle_opts(g, text));
}

}  // namespace tgc
