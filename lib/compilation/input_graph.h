// InputGraph: one graph that was read or passed in, with all that the input says about it.
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
  std::vector<UOp> list;         // the nodes in order if the input is a linear list; else empty
  GraphInfo info;                // name, and the input's stage, target and settings
  bool is_tensor_graph = false;  // true: it is scheduled into kernels
  // the Tensor methods that a kernel implements, with their call sites in Python (made_for_text); empty: not recorded
  std::string made_for;
  std::vector<std::pair<std::string, std::vector<UOp>>> made_of;  // label and outputs of each node of an ONNX model
  std::string text, file;        // the text that was read (empty for a model) and its file
  ReadReport report;
  std::shared_ptr<const GoldenRecord> record;  // the golden record that contains the graph; null: none

  // Returns an error about a node, with its line and column in the text.
  Diag diag_at(UOp node, std::string message) const;
};

// Returns a pointer that does not own `graph`, which must live longer than the InputGraph.
inline std::shared_ptr<Graph> borrowed(Graph& graph) { return {std::shared_ptr<Graph>(), &graph}; }

// Returns the Tensor methods that a kernel implements: "conv2d (model:12::forward), relu".
std::string made_for_text(const std::vector<GoldenMetadata>& metadata);

// Returns the error for a graph of another tinygrad release, which the pipeline cannot compile: "records of tinygrad
// 0.14.0; the pipeline here is 0.12.0's; compare recordings with tgc diff".
Diag foreign_graph_error(std::string_view producer, const std::string& file);

// Returns true if `root` is a tensor graph: it contains BUFFER, DEVICE or KERNEL nodes and the like, and none of the
// DEFINEs and SPECIALs of kernels.
bool looks_like_tensor_graph(UOp root);

// Reads one graph from text in any format except golden records. Errors contain file, line and column.
// `take_malformed`: see ReadReport.
Result<InputGraph> load_text(const Settings& settings, InputKind kind, std::string_view text, const std::string& file,
                         bool take_malformed = false);

// Returns the target for a device of tinygrad: "CUDA" for "CUDA:1"; "CPU" for a device without a target in tgc.
std::string target_of_device(std::string_view device, const Settings& settings);

}  // namespace tgc
