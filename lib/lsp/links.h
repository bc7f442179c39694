// Finds the names in the text of a graph: where a node is defined, and where it is used.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/read_graph.h"

namespace tgc {

// The statement, line of a listing, JSON object or UOp(...) from byte `begin` to `end`, which defines a name.
struct Definition {
  std::string name;                // "c12", or the position of a node in a listing or JSON
  size_t name_begin, name_end;     // the name itself, or what stands for it
  size_t begin, end;
};

// A use of a name.
struct Link {
  size_t begin, end;
  size_t target;  // index of its definition
};

struct Links {
  std::vector<Definition> definitions;  // in the order of the text
  std::vector<Link> links;              // in the order of the text

  // Returns the index of the definition that the name at byte `at` belongs to: a use, or the definition's own name.
  std::optional<size_t> target_at(size_t at) const;
  // Returns the index of the innermost definition that contains byte `at`.
  std::optional<size_t> definition_around(size_t at) const;
};

// Never fails: what is no name is skipped. `kind` must be Pyrender, Repr, Uops, Json or Repro.
Links find_links(InputKind kind, std::string_view text);

}  // namespace tgc
