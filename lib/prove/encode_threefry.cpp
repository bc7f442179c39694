// The Threefry 2x32 cipher with 20 rounds (Random123) as SMT-LIB text over bit-vectors.
#include "lib/prove/encode.h"
#include "lib/prove/smt_text.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace smt;

SmtValue Encoder::threefry(UOp u, int lane) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const DType word = dtypes::uint32;
  auto part = [&](const std::string& x, const char* bits) {
    return define(word, "((_ extract " + std::string(bits) + ") " + x + ")");
  };
  auto sum = [&](const std::string& a, const std::string& b) { return define(word, call("bvadd", a, b)); };
  const std::string x = source(u, 0, lane).term, key = source(u, 1, lane).term;
  const std::string low = part(key, "31 0"), high = part(key, "63 32");
  const std::string keys[] = {
      high, define(word, call("bvxor", call("bvxor", low, high), literal(0x1BD11BDA, word))), low};
  std::string a = sum(part(x, "31 0"), keys[2]), b = sum(part(x, "63 32"), keys[0]);
  for (int i = 0; i < 5; i++) {
    for (int r : kRotations[i % 2]) {
      a = sum(a, b);
      b = define(word, call("bvxor", a, "((_ rotate_left " + std::to_string(r) + ") " + b + ")"));
    }
    a = sum(a, keys[i % 3]);
    b = sum(sum(b, keys[(i + 1) % 3]), literal(i + 1, word));
  }
  return {define(u.dtype(), call("concat", b, a)), intervals_.of(u, lane), defined(u, lane)};
}

}  // namespace tgc
