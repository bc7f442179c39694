// Injects faults into renderers, to test the tools that find faults. TGC_FAULT=renderer:[NAME.]OP[@N] makes the
// renderer NAME (LLVM, CLANG, ...; default: every renderer) misprint the N-th node (default 1) with that op in a list:
// - commutative op (ADD, MUL, ...): the first source is printed twice, a + a
// - other binary op (SUB, CMPLT, ...), VECTORIZE, MULACC: the first two sources are swapped, b - a
// - WHERE: its two values are swapped
// - unary op: a + a
// - CONST: another number
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lib/rewrite/fault.h"
#include "lib/target/target.h"
#include "lib/uop/ops.h"

namespace tgc {

// The ops whose nodes can be misprinted, provided that the sources involved have the same dtype.
inline constexpr OpSet kMisprinted = ops::ALU | OpSet{Op::VECTORIZE, Op::CONST};

// Returns the list with the faults that TGC_FAULT requests of the target's renderer. Returns nullopt if it requests
// none, or if no node of the list can be misprinted so. Nodes with a tag are not counted: they were added to observe
// others.
Result<std::optional<std::vector<UOp>>> misprinted(const Target& target, std::span<const UOp> list);

}  // namespace tgc
