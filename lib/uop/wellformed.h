// What every node has, whatever graph it is in and whatever stage that graph is at: as many sources as its op takes, an
// arg of its kind, and dtypes that belong together. Passes, renderers and interpreters rely on it, so a graph that is
// read goes no further until each of its nodes has it. It says nothing of what makes sense at one stage and not at
// another; that is lib/spec, which takes tinygrad's own word for it.
//
// One table, a row an op, says all of it (wellformed.cpp). It accepts whatever tinygrad 0.12.0 makes.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// The most bytes that a buffer may have: sums of many fit into 64 bits, and no machine has more memory.
inline constexpr int64_t kMaxBufferBytes = int64_t(1) << 48;

// Whether such a node has as many sources and the arg that its op takes. Readers ask before they make a node: nothing
// at all can be done with one that lacks these.
bool has_structure(Op op, std::span<const UOp> src, Arg arg);

// What it lacks of these, "Ops.STORE with 1 source, needs 2 or more"; empty when it lacks nothing.
std::string structure_trouble(Op op, std::span<const UOp> src, Arg arg);

// What is wrong with its dtypes, "Ops.ADD dtypes.float of dtypes.float, dtypes.int, needs operands of its dtype"; empty
// when nothing is. Its structure is right.
std::string dtype_trouble(UOp u);

struct Malformed {
  UOp node;
  std::string trouble;  // as above
};
// The first of `nodes` whose dtypes do not belong together; nullopt when all are well formed.
std::optional<Malformed> first_malformed(std::span<const UOp> nodes);

// The same of root, all that is below it, and the graphs that KERNELs hold. Quick where all is well: then the nodes of
// the Graph are looked at one after the other, and who uses them does not matter.
std::optional<Malformed> first_malformed_below(UOp root);

// The first node of a linear list that stands before one of its sources, or twice; nullopt when there is none. An
// IF may begin again, and its ENDIF end it, when it was ended. A NOOP as a source is what a listing does not show.
std::optional<Malformed> first_out_of_order(std::span<const UOp> list);

}  // namespace tgc
