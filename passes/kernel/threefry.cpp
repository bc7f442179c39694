// The Threefry 2x32 cipher with 20 rounds (tinygrad uop/decompositions.py:threefry2x32).
#include "lib/uop/graph.h"
#include "passes/kernel/decompositions.h"

namespace tgc {
namespace {

constexpr int64_t kTwo32 = int64_t(1) << 32, kLow = kTwo32 - 1;

UOp low_half(UOp x) { return (x & Const(kLow)).cast(dtypes::uint32); }
UOp high_half(UOp x) { return ((x / Const(kTwo32)) & Const(kLow)).cast(dtypes::uint32); }
UOp rotate(UOp x, int r) { return x * Const(int64_t(1) << r) + x / Const(int64_t(1) << (32 - r)); }

}  // namespace

UOp threefry2x32(UOp x, UOp key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  UOp x0 = low_half(x), x1 = high_half(x), key0 = low_half(key), key1 = high_half(key);
  UOp keys[] = {key1, key0 ^ key1 ^ Const(0x1BD11BDA), key0};
  UOp a = x0 + keys[2], b = x1 + keys[0];
  for (int i = 0; i < 5; i++) {
    for (int r : kRotations[i % 2]) {
      a = a + b;
      b = a ^ rotate(b, r);
    }
    a = a + keys[i % 3];
    b = b + keys[(i + 1) % 3] + Const(i) + Const(1);
  }
  return b.cast(dtypes::uint64) * Const(kTwo32) | a.cast(dtypes::uint64);
}

}  // namespace tgc
