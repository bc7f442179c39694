// Recognizes the kernels that tinygrad's runtime compiles for itself: workers that wait for other threads and call
// addresses that they read from arrays. No schedule has these kernels, and tgc never executes them.
#pragma once
#include <string_view>

#include "lib/records/golden.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns a CALL of `root` whose callee is a value, such as an address that the kernel loads; an empty UOp if there is
// none. A CALL of a schedule has a callee without a value: a kernel, a program or a function.
UOp call_through_data(UOp root);

// Returns true if the exporter marked the record as a kernel of tinygrad's runtime. For recordings without marks,
// returns true if the AST calls through data, spins until another thread writes memory, or is one of the runtime's by
// its name and tag. `producer` is that of the file's header.
bool is_runtime_kernel(const GoldenRecord& record, std::string_view producer);

}  // namespace tgc
