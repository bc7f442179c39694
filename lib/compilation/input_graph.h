// InputGraph: a graph that was read from a file or passed by a caller, with the metadata of the input.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/import/import.h"
#include "lib/records/golden.h"
#include "lib/records/read_graph.h"

namespace tgc {

struct InputGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
  std::vector<UOp> list;         // the nodes in order if the input is a linear list; else empty
  GraphInfo info;                // name, stage, target, settings and producer
  bool is_tensor_graph = false;  // true: a graph to schedule into kernels; false: a kernel
  // The tensor methods for which the kernel was made, with their places in the Python program (methods_text). Empty if
  // they were not recorded.
  std::string made_for;
  // for an ONNX model: label and outputs of each node
  std::vector<std::pair<std::string, std::vector<UOp>>> onnx_nodes;
  std::unordered_map<UOp, std::string> buffer_names;              // for an ONNX model: its inputs and initializers
  std::string text, file;        // the text that was read, or empty, and the name of its file
  ReadReport read_report;             // what the reader of the text found besides the graph
  std::shared_ptr<const GoldenRecord> record;  // of the graph or its tensor graph; null if there is none

  // Returns an error about `node`, with the line and column of the node in `text`.
  Diag diag_at(UOp node, std::string message) const;
};

// Returns a shared_ptr that does not own `graph`. `graph` must outlive it.
inline std::shared_ptr<Graph> borrow_graph(Graph& graph) { return {std::shared_ptr<Graph>(), &graph}; }

// Returns the error for a graph of another tinygrad release, which tgc's own stages cannot compile: "the recorded
// pipeline of tinygrad 0.14.0 is not compiled by tgc's own stages, expected --native".
Diag foreign_graph_error(std::string_view producer, const std::string& file);

// Returns whether `root` seems to be a tensor graph: it has nodes such as BUFFER, DEVICE or KERNEL, and no node that
// only kernels have, such as SPECIAL or a DEFINE. In graphs of other releases, CALLs, movement ops and the address
// spaces of BUFFERs decide, too.
bool looks_like_tensor_graph(UOp root);

// Reads one graph from a text that is no file of golden records. Adds the SINK that a tensor's value lacks, unless
// `take_malformed` is set. Errors have file, line and column. `take_malformed` and `producer` (empty: the text says
// which release it is of) are as in ReadReport.
Result<InputGraph> load_text(const Settings& settings, InputKind kind, std::string_view text, const std::string& file,
                             bool take_malformed = false, std::string_view producer = {});

// Returns the target for a tinygrad device: "CUDA" for "CUDA:1"; "CPU" if tgc has no target for the device.
std::string target_of_device(std::string_view device, const Settings& settings);

// The graph of another tinygrad release from which a graph was imported. Graph::extension of the imported graph owns
// this object.
struct ImportedFrom {
  std::shared_ptr<Graph> graph;                  // the original graph; null if the graph was not imported
  std::string producer;                          // the release that made the original, such as "tinygrad 0.14.0"
  std::shared_ptr<const ImportOrigins> origins;  // the original node of each imported node
  std::optional<Diag> import_error = {};         // the error if the graph of another release cannot be imported
};
const ImportedFrom& imported_from(const InputGraph& in);
inline bool is_imported(const InputGraph& in) { return imported_from(in).graph != nullptr; }

// Returns the release that made `in`, such as "tinygrad 0.14.0".
std::string producer_of(const InputGraph& in);

// Returns true if the tinygrad that made `in` runs the threads of a CPU kernel one after another, as 0.14 and master do
// (runtime/ops_cpu.py:cpu_exec). Earlier releases run the threads at the same time.
bool runs_threads_in_turn(const InputGraph& in);

// Imports `in`, a kernel of another release, as GraphCompiler::import_kernel() does. The imported graph has `settings`,
// and the target that known_target() returns.
InputGraph import_input(InputGraph in, const Settings& settings);

// Returns the longest prefix of `target` (DEVICE:RENDERER:ARCH of another release) that names a target of tgc; "CL:CL"
// for QCOM's OpenCL; "" if there is none.
std::string known_target(std::string_view target, const Settings& settings);

// Returns the target of `in`, whose record has the target `recorded`. For an imported kernel, this is
// known_target(recorded).
std::string target_of_record(const InputGraph& in, std::string_view recorded);

}  // namespace tgc
