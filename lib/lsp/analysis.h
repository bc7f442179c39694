// Reads the graph of one section of a document, finds its problems and names, and describes its nodes.
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

// Positions are bytes of the section's text; an `end` is the byte behind the last one.
struct NodeDefinition {
  std::string name;             // in a listing or JSON, the position of the node
  size_t name_begin, name_end;  // of the name or, in JSON, where nodes have no names, of the op
  size_t begin, end;            // of the definition: in a repr, from the UOp( behind ":=" to the line's end
};

struct NodeLink {
  size_t begin, end;
  size_t target;
};

struct NodeLinks {
  std::vector<NodeDefinition> definitions;
  std::vector<NodeLink> links;

  // Returns the index of the definition of the name at byte `at`, or right before it; else nullopt.
  std::optional<size_t> link_target_at(size_t at) const;
  // Returns the innermost definition that contains byte `at` or ends right before it; else nullopt.
  std::optional<size_t> definition_around(size_t at) const;
};

// Skips damaged parts, and never fails.
NodeLinks find_links(InputKind kind, std::string_view text);

struct TextProblem {
  size_t begin, end;
  bool is_error = true;
  std::string message;
};

struct SectionAnalysis {
  InputKind kind;
  std::string text;
  std::string producer;                // the release that made the recording
  std::shared_ptr<Graph> graph;
  GraphInfo info;
  std::shared_ptr<const Repro> repro;
  std::vector<UOp> order;              // the nodes in toposort order or, of a list, in its order; empty if unreadable
  std::vector<NodePosition> node_positions;
  bool is_valid = false;               // shapes and other facts can be computed
  bool is_tensor_graph = false;
  std::vector<TextProblem> problems;
  NodeLinks links;

  // Returns the node at byte `at`, or the empty UOp.
  UOp node_at_offset(size_t at) const;
  // Returns null if the text does not define the node.
  const NodeDefinition* definition_of_node(UOp node) const;
  UOp defined_node(const NodeDefinition& definition) const;
};

// `producer` is the release that made the recording, or empty. `is_tensor` is set in a recording of tensor graphs.
// Errors become problems.
std::shared_ptr<const SectionAnalysis> analyze_section(std::string text, const GraphSection& section,
                                                       std::string_view producer, bool is_tensor);

// Returns Markdown. `origin`, a text about the rule that made the node, may be empty.
std::string hover_text(const SectionAnalysis& analysis, UOp node, const std::string& origin);

}  // namespace tgc
