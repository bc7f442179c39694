// Atomic operations of kernels, which tinygrad writes as source code in a CUSTOM.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// Returns true for a CUSTOM(place, number) that adds `number` to the element at `place`, which is an INDEX
// (nn/__init__.py:_embedding_bwd_kernel).
inline bool is_atomic_add(UOp u) {
  if (!u.is(Op::CUSTOM) || !(u.dtype() == dtypes::void_) || u.num_src() != 2 || !u.arg().is_str()) return false;
  if (!u.src(0).is(Op::INDEX)) return false;
  const std::string_view code = u.arg().text();
  return code == "__atomic_fetch_add({0}, {1}, __ATOMIC_RELAXED);" ||
         code == "__hip_atomic_fetch_add({0}, {1}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);";
}

}  // namespace tgc
