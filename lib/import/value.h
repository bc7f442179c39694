// The value of an original node during an import. Since tinygrad 0.13, values inside kernels have shapes. In tgc's IR
// they have none, so a value is a list of scalars. Private to lib/import.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lib/import/checked.h"

namespace tgc::import {

// A scalar of a value: a number, or a place in memory. The import makes a load of a place that is used as a number.
struct Element {
  UOp node;         // the number; for a place in memory, the index into `buffer`
  UOp valid = {};   // a bool that is false if the element is tinygrad's Invalid; empty: always valid
  UOp buffer = {};  // the buffer in which a place is; empty if the element is a number
};

// A buffer to which movement ops were applied: a function from indices to an index into the buffer.
struct View {
  // A movement op. Its result has the shape `sizes`.
  struct Step {
    Op op;
    Sizes sizes;
    Sizes ints = {};           // PERMUTE: the axes; FLIP: 1 for each flipped axis; EXPAND: number of new axes
    Checked<UOp> offset = {};  // SHRINK: the first index of each axis
  };
  UOp buffer;
  Checked<Step> steps;  // the first step is a RESHAPE that gives the buffer its shape

  const Sizes& shape() const { return steps.back().sizes; }
  UOp index(Checked<UOp> at) const;  // returns the index into the buffer; `at` has an index for each axis
};

struct Value {
  Checked<Element> elements;  // in row-major order; empty if `view` is set
  Sizes shape;
  DType dtype;           // in tgc's IR: dtypes::index for weakint, float32 for weakfloat
  bool is_weak = false;  // the original dtype is weakint or weakfloat, so the other operands decide the dtype
  std::optional<View> view = {};

  bool is_invalid() const;  // true if all elements are Invalid
};

// unravel() returns the index for each axis of the element at `position`, the row-major index into a value of the shape
// `shape`; ravel() returns the position for these indices.
Sizes unravel(int64_t position, const Sizes& shape);
int64_t ravel(const Sizes& at, const Sizes& shape);

// A value has at most this many elements.
inline constexpr int64_t kMaxValueElements = 1 << 20;
// Returns product(shape), the number of elements. Throws Refusal if a size is negative or the product is too large.
int64_t elements_in(const Sizes& shape);

// Returns the shape that `a` and `b` broadcast to: aligned right, axes of size 1 are repeated. Throws Failure if they
// do not fit.
Sizes broadcast_shape(const Sizes& a, const Sizes& b);
// Returns the elements of `value`, which has no view, repeated to `shape`. Throws Failure if they do not fit.
Checked<Element> broadcast_to(const Value& value, const Sizes& shape);

// Return x + y and x * factor for indices. Make no node for 0 + y, x + 0 and x * 1.
UOp add_nodes(UOp x, UOp y);
UOp multiply_node(UOp x, int64_t factor);
// Returns an index for each axis of `shape` for `flat`, a row-major index into the elements.
Checked<UOp> split_index(UOp flat, const Sizes& shape);

// Return the conjunction and the negation of conditions. For logical_and(), the empty UOp means true.
UOp logical_and(UOp a, UOp b);
UOp negate(UOp a);
bool is_false(UOp condition);

}  // namespace tgc::import
