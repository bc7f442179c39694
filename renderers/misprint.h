// Injects faults into renderers, to test the tools that find faults. TGC_FAULT=renderer:[NAME.]OP[@N] makes renderer
// NAME (LLVM, CLANG, ...; default: every renderer) print the N-th node (default: the first) of op OP wrongly:
// - a commutative op (ADD, MUL, ...): the first source is printed twice, a + a
// - another binary op (SUB, CMPLT, ...), VECTORIZE, MULACC: the first two sources are swapped, b - a
// - WHERE: its two values are swapped
// - a unary op whose source has its dtype: a + a is printed
// - CONST: another number or bool is printed
// Nothing is printed wrongly if the two sources of a binary op, VECTORIZE or MULACC differ in dtype or the node is a
// pointer, or if the node would not change.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lib/rewrite/fault.h"
#include "lib/target/target.h"
#include "lib/uop/ops.h"

namespace tgc {

inline constexpr OpSet kMisprintedOps = ops::ALU | OpSet{Op::VECTORIZE, Op::CONST};

// Returns the list with the faults that TGC_FAULT requests for the target's renderer; nullopt if no node is printed
// wrongly. Returns an error if TGC_FAULT is not valid. Skips nodes with a tag.
Result<std::optional<std::vector<UOp>>> list_with_faults(const Target& target, std::span<const UOp> list);

}  // namespace tgc
