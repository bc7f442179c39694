// analyze() reads the graph of one section of a document. It finds the problems of the graph, and the places at which
// the text defines and uses nodes.
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

// The definition of a name: a statement, function, line of a listing, JSON object or UOp(...). All positions here are
// bytes of the section's text; an `end` is the byte behind the last one.
struct Definition {
  std::string name;             // the name, such as "c12"; in a listing or JSON, the position of the node
  size_t name_begin, name_end;  // the bytes of the name; in JSON, where nodes have no names, those of the op
  size_t begin, end;            // the bytes of the definition; in a repr, from the UOp( behind ":=" to the line's end
};

// A use of a name, at the bytes `begin` to `end`.
struct Link {
  size_t begin, end;
  size_t target;  // index of the name's definition in Links::definitions
};

// The definitions and uses of the names in a text.
struct Links {
  std::vector<Definition> definitions;  // sorted by position in the text
  std::vector<Link> links;              // sorted by position in the text

  // Returns the index of the definition of the name at byte `at`: a use, or the name in its definition. The byte behind
  // a name counts as part of the name. Returns nullopt if there is no name.
  std::optional<size_t> target_at(size_t at) const;
  // Returns the index of the innermost definition that contains byte `at` or ends right before it; else nullopt.
  std::optional<size_t> definition_around(size_t at) const;
};

// Returns the definitions and uses in `text`, which is of kind Pyrender, Repr, Uops, Json or Repro; a text of another
// kind is read as a pyrender text. Skips damaged parts, and never fails.
Links find_links(InputKind kind, std::string_view text);

// An error or note about the bytes `begin` to `end` of a section's text.
struct Problem {
  size_t begin, end;
  bool is_error = true;  // false for a note
  std::string message;
};

// The analysis of the text of a section.
struct Analysis {
  InputKind kind;
  std::string text;
  std::string producer;                // the release that made the recording; empty if the text is not in one
  std::shared_ptr<Graph> graph;
  GraphInfo info;
  std::shared_ptr<const Repro> repro;  // the content of a repro bundle; null for other texts
  std::vector<UOp> order;              // the nodes of the graph in toposort order, or the list; empty if unreadable
  std::vector<NodeAt> nodes;           // the nodes with their positions, in the order of the text
  bool is_valid = false;               // the nodes are well formed, so that shapes and other facts can be computed
  bool is_tensor_graph = false;
  std::vector<Problem> problems;
  Links links;

  // Returns the node of the name or definition at byte `at`; the empty UOp if there is none.
  UOp node_at(size_t at) const;
  // Returns the definition of `node`; null if the text has none.
  const Definition* definition_of_node(UOp node) const;
  UOp node_of(const Definition& definition) const;  // returns the node that `definition` defines
};

// Analyzes the text of a section. `producer` is the release that made the recording with the text, or empty.
// `is_tensor` is set for sections of a recording of tensor graphs. Does not fail: errors become problems.
std::shared_ptr<const Analysis> analyze(std::string text, const Section& section, std::string_view producer,
                                        bool is_tensor);

// Returns the text that an editor shows for `node` under the mouse, as Markdown. `origin` is a text about the rule that
// made the node; it may be empty.
std::string hover_text(const Analysis& analysis, UOp node, const std::string& origin);

}  // namespace tgc
