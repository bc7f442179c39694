// A renderer's fault on demand, for testing what finds faults: TGC_FAULT=renderer:NAME.OP[@N] makes the renderer of
// that name (LLVM, CLANG, ...; without NAME: every one) print the N-th node of that op (default 1) in a list as
// something else. Of two sources that may change places (ADD, MUL, ...) the first is printed twice: a + a; of others
// (SUB, CMPLT, ..., and the first two of a VECTORIZE or MULACC) they change places: b - a; so do the arms of a WHERE; a
// function of one is printed as a + a; of a CONST another number.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "lib/rewrite/fault.h"
#include "lib/target/target.h"
#include "lib/uop/ops.h"

namespace tgc {

// The ops whose nodes can be misprinted, where the dtypes of their sources are alike.
inline constexpr OpSet kMisprinted = ops::ALU | OpSet{Op::VECTORIZE, Op::CONST};

// The list as the target's renderer prints it that has the faults TGC_FAULT asks for; nullopt: it asks for none, or the
// list has no such nodes that could be others. Nodes with a tag, which were put in to observe the rest, do not count.
Result<std::optional<std::vector<UOp>>> misprinted(const Target& target, std::span<const UOp> list);

}  // namespace tgc
