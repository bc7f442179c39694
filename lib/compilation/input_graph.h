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
  std::vector<UOp> list;
  GraphInfo info;
  bool is_tensor_graph = false;
  // The tensor methods for which the kernel was made, with their places in the Python program (methods_text).
  std::string user_operation;
  // for an ONNX model: label and outputs of each node
  std::vector<std::pair<std::string, std::vector<UOp>>> onnx_nodes;
  std::unordered_map<UOp, std::string> buffer_names;  // for an ONNX model: the names of its inputs and initializers
  std::string text, file;        // the text that was read, and the name of its file
  GraphReadReport read_report;
  std::shared_ptr<const GoldenRecord> record;  // that of the graph, or of a kernel's tensor graph; may be null

  Diag diag_at(UOp node, std::string message) const;
};

// Returns a shared_ptr that does not own `graph`.
inline std::shared_ptr<Graph> borrow_graph(Graph& graph) { return {std::shared_ptr<Graph>(), &graph}; }

Diag foreign_graph_error(std::string_view producer, const std::string& file);

bool looks_like_tensor_graph(UOp root);

// Reads one graph from a text that is no file of golden records. Adds the SINK that a tensor's value lacks, unless
// `take_malformed` (GraphReadReport::accepts_malformed_graphs) is set. `producer`: as in GraphReadReport. Fails as
// read_graph() does.
Result<InputGraph> load_graph_text(const Settings& settings, InputKind kind, std::string_view text,
                                   const std::string& file, bool take_malformed = false,
                                   std::string_view producer = {});

// Returns the target for a tinygrad device: "CUDA" for "CUDA:1"; "CPU" if tgc has no target for the device.
std::string target_of_device(std::string_view device, const Settings& settings);

// The original of an imported graph. A Graph has these facts as an extension.
struct ImportFacts {
  std::shared_ptr<Graph> graph;                  // null if the graph was not imported
  std::string producer;                          // the release that made the original, such as "tinygrad 0.14.0"
  std::shared_ptr<const ImportOrigins> origins;
  std::optional<Diag> import_error = {};         // set if the graph of another release cannot be imported
};
const ImportFacts& import_facts_of_input(const InputGraph& in);
inline bool is_imported(const InputGraph& in) { return import_facts_of_input(in).graph != nullptr; }

// Returns the release that made `in`, such as "tinygrad 0.14.0".
std::string producer_of_graph(const InputGraph& in);

// Returns true if the tinygrad that made `in` runs the threads of a CPU kernel one after another, as 0.14 and master do
// (runtime/ops_cpu.py:cpu_exec).
bool runs_threads_in_turn(const InputGraph& in);

// Imports `in`, a kernel of another release. If it cannot be imported, returns `in` with ImportFacts::import_error
// set.
InputGraph import_input(InputGraph in, const Settings& settings);

// Returns the longest prefix of `target` (DEVICE:RENDERER:ARCH of any release) that names a target of tgc; "CL:CL" for
// QCOM's OpenCL; "" if there is none.
std::string supported_target(std::string_view target, const Settings& settings);

// Returns `recorded`, the target of the record of `in`; for an imported kernel, its supported_target().
std::string target_of_record(const InputGraph& in, std::string_view recorded);

}  // namespace tgc
