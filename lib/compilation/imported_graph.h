// The graph of another tinygrad release that an imported graph was made from.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "lib/compilation/input_graph.h"
#include "lib/import/import.h"

namespace tgc {

// Graph::extension of an imported graph keeps it.
struct ImportedFrom {
  std::shared_ptr<Graph> graph;      // null: the graph was not imported
  std::string producer;              // such as "tinygrad 0.14.0"
  std::shared_ptr<const ImportOrigins> origins;
  std::optional<Diag> refused = {};  // of a graph of another release: why it cannot be imported
};
const ImportedFrom& imported_from(const InputGraph& in);
inline bool is_imported(const InputGraph& in) { return imported_from(in).graph != nullptr; }

// Returns the release that made `in`, such as "tinygrad 0.14.0".
std::string producer_of(const InputGraph& in);

// Returns `in`, a kernel of another release, imported, with `settings` and with its target as known_target() names it.
// See GraphCompiler::import().
InputGraph import_input(InputGraph in, const Settings& settings);

// Returns the longest part of `target`, as another release writes it, that names a target of tgc; "" if there is none.
std::string known_target(std::string_view target, const Settings& settings);

// Returns the target of `in`, whose record has the target `recorded`: of an imported kernel, known_target().
std::string target_of_record(const InputGraph& in, std::string_view recorded);

}  // namespace tgc
