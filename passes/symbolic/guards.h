// Guards of the symbolic rule sets (predicates on the nodes that a rule's pattern binds), and the values of constants.
// Include from passes/symbolic only.
#pragma once
#include "lib/uop/exec_alu.h"
#include "lib/uop/uop.h"

namespace tgc {

inline Const value_of_const(UOp c) { return c.arg().to_const(); }
inline Int int_of_const(UOp c) { return c.arg().as_int(); }  // requires an integer or a bool

inline bool same_dtype(UOp x, UOp y) { return x.dtype() == y.dtype(); }
inline bool dtype_holds(UOp wide, UOp narrow) { return can_lossless_cast(narrow.dtype(), wide.dtype()); }

inline bool truthy(UOp c) { return value_of_const(c).truthy(); }
inline bool is_positive(UOp c) { return int_of_const(c) > 0; }
inline bool is_not_positive(UOp c) { return int_of_const(c) <= 0; }

inline bool never_negative(UOp u) { return !py_less(u.vmin(), 0); }
inline bool never_positive(UOp u) { return !py_less(0, u.vmax()); }
inline bool always_positive(UOp u) { return py_less(0, u.vmin()); }
inline bool always_negative(UOp u) { return py_less(u.vmax(), 0); }
inline bool never_less(UOp x, UOp y) { return py_less_equal(y.vmax(), x.vmin()); }
inline bool has_one_value(UOp u) {
  // the bounds of float ops are only those of the dtype
  if (u.in(ops::ALU) && dtypes::is_float(u.dtype())) return false;
  const Bounds& b = u.bounds();
  return py_equal(b.min, b.max);
}

}  // namespace tgc
