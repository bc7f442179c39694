// Imports the kernels of other tinygrad releases as inputs of tgc's own tools.
#pragma once
#include "lib/compilation/imported_graph.h"
#include "lib/driver/session.h"

namespace tgc {

// Returns `in`, a kernel of another release, imported; any other graph unchanged. Errors about its nodes show the
// original's lines. If the kernel cannot be imported, returns `in` itself, with ImportedFrom::refused set, so that
// reading a file of many kernels goes on. Fails if options of the native pipeline are set without --native; but
// --target selects records (`is_record`).
Result<InputGraph> import_input(const Session& session, InputGraph in, bool is_record = false);

// Returns the longest part of `target`, as another release writes it, that names a target of tgc; "" if there is none.
std::string known_target(std::string_view target, const Settings& settings);

// Returns the target of `in`, whose record has the target `recorded`: of an imported kernel, known_target().
std::string target_of_record(const InputGraph& in, std::string_view recorded);

}  // namespace tgc
