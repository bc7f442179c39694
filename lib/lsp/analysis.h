// Reads the graph of one section, and finds what is wrong with it and what is known about its nodes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lsp/sections.h"
#include "lib/records/read_graph.h"
#include "lib/records/repro.h"

namespace tgc {

// Finds the names in the text of a graph: where a node is defined, and where it is used.

// The statement, function, line of a listing, JSON object or UOp(...) from byte `begin` to `end`, which defines a name.
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

// An error or note about the bytes `begin` to `end` of a section's text.
struct Problem {
  size_t begin, end;
  bool is_error = true;  // else a note
  std::string message;
};

struct Analysis {
  InputKind kind;
  std::string text;
  std::string producer;                // the release of a text in a recording
  std::shared_ptr<Graph> graph;
  GraphInfo info;
  std::shared_ptr<const Repro> repro;  // for a repro bundle
  std::vector<UOp> order;              // the nodes of the graph in toposort order, or the list; empty: unreadable
  std::vector<NodeAt> nodes;           // the nodes by their place in the text
  bool is_valid = false;               // the nodes are well formed, so their facts can be computed
  bool is_tensor_graph = false;
  std::vector<Problem> problems;
  Links links;

  // Returns the node that is defined at, or whose name is at, the byte `at`; the empty UOp if there is none.
  UOp node_at(size_t at) const;
  // Returns the definition that makes `node`; null if there is none.
  const Definition* definition_of(UOp node) const;
  UOp node_of(const Definition& definition) const;
};

// `producer` is the release of a text in a recording. `is_tensor` is set if the section is of a tensor record.
std::shared_ptr<const Analysis> analyze(std::string text, const Section& section, std::string_view producer,
                                        bool is_tensor);

// Returns the description of a node, as Markdown. `origin` says which rule made the node; it may be empty.
std::string hover_text(const Analysis& analysis, UOp node, const std::string& origin);

}  // namespace tgc
