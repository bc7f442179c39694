// Since tinygrad 0.13, values inside kernels have shapes. In tgc's IR they have none, so an imported value is a list of
// scalars or a view of a buffer. Private to lib/import.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lib/import/checked.h"

namespace tgc::import {

// A number, or a place in memory, which is loaded if it is used as a number.
struct ValueElement {
  UOp node;         // the number, or the index into `buffer`
  UOp valid = {};   // a bool node, false if the element is Invalid; empty: always valid
  UOp buffer = {};  // empty if the element is a number
};

// A function from indices to an index into the buffer.
struct BufferView {
  // The movement op `op`, whose result has the shape `sizes`.
  struct ViewStep {
    Op op;
    Sizes sizes;
    Sizes ints = {};           // PERMUTE: the axes; FLIP: 1 for each flipped axis; EXPAND: number of new axes
    CheckedList<UOp> offset = {};  // SHRINK: the first index of each axis
  };
  UOp buffer;
  CheckedList<ViewStep> steps;  // the first one is a RESHAPE that gives the buffer its shape

  const Sizes& shape() const { return steps.back().sizes; }
  UOp index(CheckedList<UOp> at) const;  // returns the index into the buffer; `at` has an index for each axis
};

struct Value {
  CheckedList<ValueElement> elements;  // row-major; empty if `view` is set
  Sizes shape;
  DType dtype;           // in tgc's IR: dtypes::index for weakint, float32 for weakfloat
  bool is_weak = false;  // weakint or weakfloat: the other operands decide the dtype
  std::optional<BufferView> view = {};

  bool is_invalid() const;
};

// Convert between a row-major position in a value of this shape and an index for each axis.
Sizes unravel(int64_t position, const Sizes& shape);
int64_t ravel(const Sizes& at, const Sizes& shape);

inline constexpr int64_t kMaxValueElements = 1 << 20;
// Returns product(shape). Throws Refusal if a size is negative, or if the product is above kMaxValueElements.
int64_t num_elements_in(const Sizes& shape);

// Returns the shape to which both broadcast: aligned right, axes of size 1 are repeated. Throws Failure if the shapes
// do not fit.
Sizes broadcast_shape(const Sizes& a, const Sizes& b);
// Broadcasts `value`, which has no view, to `shape`, and returns the elements. Throws Failure if the shapes do not fit,
// Refusal for too many elements.
CheckedList<ValueElement> broadcast_to(const Value& value, const Sizes& shape);

// Return x + y and x * factor, without a node for 0 + y, x + 0 and x * 1.
UOp add_nodes(UOp x, UOp y);
UOp multiply_node(UOp x, int64_t factor);
// Returns an index for each axis of `shape`. `flat` is a row-major index.
CheckedList<UOp> split_index(UOp flat, const Sizes& shape);

// The empty UOp means true for logical_and().
UOp logical_and(UOp a, UOp b);
UOp negate_node(UOp a);
bool is_false(UOp condition);

}  // namespace tgc::import
