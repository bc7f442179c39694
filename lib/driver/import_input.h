// Imports the kernels of other tinygrad releases as inputs of tgc's own tools.
#pragma once
#include "lib/driver/session.h"
#include "lib/import/import.h"

namespace tgc {

// The graph of another release that an imported graph was made from. Graph::extension of the imported graph keeps it.
struct ImportedFrom {
  std::shared_ptr<Graph> graph;      // null: the graph was not imported
  std::string producer;              // such as "tinygrad 0.14.0"
  std::shared_ptr<const ImportOrigins> origins;
  std::optional<Diag> refused = {};  // of a graph of another release: why it cannot be imported
};
const ImportedFrom& imported_from(const InputGraph& in);
inline bool is_imported(const InputGraph& in) { return imported_from(in).graph != nullptr; }

// Returns `in`, a kernel of another release, imported. Errors about its nodes show the original's lines. If the kernel
// cannot be imported, returns `in` itself, with ImportedFrom::refused set, so that reading a file of many kernels goes
// on. Fails if options of the native pipeline are set without --native; but --target selects records (`is_record`).
Result<InputGraph> import_input(const Session& session, InputGraph in, bool is_record = false);

// Returns the longest part of `target`, as another release writes it, that names a target of tgc; "" if there is none.
std::string known_target(std::string_view target, const Settings& settings);

}  // namespace tgc
