// A renderer's fault on demand, for testing what finds faults: TGC_FAULT=renderer:NAME.OP[@N] makes the renderer of
// that name (LLVM, CLANG, ...; without NAME: every one) print the N-th node of that op (default 1) in a list as
// something else: a - b as b - a, a + b as a + a, the arms of a WHERE swapped, another number.
#pragma once
#include <span>
#include <vector>

#include "lib/rewrite/fault.h"
#include "lib/target/target.h"

namespace tgc {

// The list as the target's renderer prints it that has the fault TGC_FAULT asks for; nullopt: it asks for none, or the
// list has no such node that could be another.
Result<std::optional<std::vector<UOp>>> misprinted(const Target& target, std::span<const UOp> list);

}  // namespace tgc
