// InputGraph: a graph that was read from a file or passed by a caller, with the metadata that the input has for it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/text/formats.h"
#include "lib/text/golden.h"

namespace tgc {

struct InputGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
  std::vector<UOp> list;         // if the input is a linear list: its nodes in order
  GraphInfo info;                // name of the graph; stage, target and settings of the input
  bool is_tensor_graph = false;  // true: the graph is to be scheduled into kernels
  // the Tensor methods that a kernel implements, with their call sites in Python (made_for_text); empty: not recorded
  std::string made_for;
  std::vector<std::pair<std::string, std::vector<UOp>>> made_of;  // for an ONNX model: label and outputs of each node
  std::string text, file;        // the text that was read (empty for a model), and the file's name
  ReadReport report;
  std::shared_ptr<const GoldenRecord> record;  // the golden record that contains the graph; null: none

  // Returns an error about `node`, with the node's line and column in `text`.
  Diag diag_at(UOp node, std::string message) const;
};

// Returns a pointer to `graph` that does not own it. The graph must outlive the InputGraph.
inline std::shared_ptr<Graph> borrowed(Graph& graph) { return {std::shared_ptr<Graph>(), &graph}; }

// Returns the Tensor methods that a kernel implements as text: "conv2d (model:12::forward), relu".
std::string made_for_text(const std::vector<GoldenMetadata>& metadata);

// Returns the error for a graph of another tinygrad release, which the pipeline cannot compile: "records of tinygrad
// 0.14.0; the pipeline here is 0.12.0's; compare recordings with tgc diff".
Diag foreign_graph_error(std::string_view producer, const std::string& file);

// Returns true if `root` is a tensor graph: it has BUFFER, DEVICE, KERNEL or similar nodes, and none of the DEFINE and
// SPECIAL nodes of kernels.
bool looks_like_tensor_graph(UOp root);

// Reads one graph from text in any format but golden records. Errors have file, line and column. `take_malformed`: see
// ReadReport.
Result<InputGraph> load_text(const Settings& settings, InputKind kind, std::string_view text, const std::string& file,
                         bool take_malformed = false);

// Returns tgc's target for a tinygrad device: "CUDA" for "CUDA:1"; "CPU" for a device that has no target in tgc.
std::string target_of_device(std::string_view device, const Settings& settings);

}  // namespace tgc
