// What tinygrad's specification does not look at, and what no loop of a sound kernel does: iterations that store
// different values to the same element, ranges that count to less than nothing. REF notes such stores while it runs;
// here are those that can be told from the graph alone, without a false alarm.
#pragma once
#include <span>

#include "lib/spec/spec.h"

namespace tgc {

// Of `nodes`, sources first, the first
//   - STORE into a buffer, in a range that it ends, whose address and gate have nothing to do with the range while its
//     value lies in it. What reads the buffer that it stores to adds up, on purpose, and is none.
//   - RANGE of a negative constant size.
std::optional<SpecViolation> verify_loops(std::span<const UOp> nodes);

// Whether a graph that a tool made is worth trying: well formed, within the specification, free of what verify_loops
// finds, and each of its loops runs, of those whose size is known.
bool is_sound(UOp root, Spec spec);

}  // namespace tgc
