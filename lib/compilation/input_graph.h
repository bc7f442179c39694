// Loaded: one graph as it came in, in a Graph of its own or a borrowed one, and what its text said besides.
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
  std::vector<UOp> list;         // of a linear list: its nodes in order; else empty
  GraphInfo info;                // name, and what the input says of stage, target and settings
  bool is_tensor_graph = false;  // it is to be scheduled into kernels
  // of a kernel whose record says so: the Tensor ops, with the lines of Python that call them
  std::string made_for;
  std::vector<std::pair<std::string, std::vector<UOp>>> made_of;  // of a model: each node, and what it gave
  std::string text, file;        // what it was read from; of a model only the file
  ReadReport report;
  std::shared_ptr<const GoldenRecord> record;  // of golden records: all that the record holds

  // A message about a node, with its place in the text.
  Diag diag_at(UOp node, std::string message) const;
};

// A graph of somebody else's, who keeps it for longer.
inline std::shared_ptr<Graph> borrowed(Graph& graph) { return {std::shared_ptr<Graph>(), &graph}; }

// "conv2d (model.py:12::forward), relu": what a record says of a kernel's origin; empty when it says nothing.
std::string made_for_text(const std::vector<GoldenMetadata>& metadata);

// That a graph of another release is none for the pipeline: "records of tinygrad 0.14.0; the pipeline here is 0.12.0's;
// compare recordings with tgc diff".
Diag foreign_graph_error(std::string_view producer, const std::string& file);

// Whether `root` is a tensor graph: a kernel works on DEFINE_GLOBALs, a tensor graph on BUFFERs and the like.
bool looks_like_tensor_graph(UOp root);

// Reads one graph of any text but golden records, with these settings. Errors carry file, line and column.
// `take_malformed`: see ReadReport.
Result<InputGraph> load_text(const Settings& settings, InputKind kind, std::string_view text, const std::string& file,
                         bool take_malformed = false);

// The target of kernels on a device of tinygrad's name: "CUDA:1" is CUDA's; of a device that tgc knows no target for,
// CPU.
std::string target_of_device(std::string_view device, const Settings& settings);

}  // namespace tgc
