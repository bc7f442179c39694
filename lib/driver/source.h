// GraphSource: reads the graphs of an INPUT one by one. An INPUT is the argument of most commands: a file, or "-" for
// standard input, optionally with #ID or #ID@TARGET to select one record. The format is detected from the file's
// content: pyrender, repr, print_uops, Svod's trees, JSON, repro bundles, golden records, a rewrites.pkl or an ONNX
// model. A text may have several graphs, and other lines around them (lib/records/graph_texts.h).
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/driver/graph_reader.h"

namespace tgc {

class GraphSource {
 public:
  // `spec` is the INPUT. `kernel` selects the graph with this number (from 0), or the graphs with this name or record
  // id; "": all graphs. If the INPUT is a tensor graph, or #ID selects one, `kernel` is the number of a kernel in its
  // schedule. `session` must outlive the GraphSource.
  static Result<GraphSource> open(const Session& session, const std::string& spec, const std::string& kernel = "");
  static Result<GraphSource> open(const Session&&, const std::string&, const std::string& = "") = delete;

  InputKind kind() const { return input_kind_; }
  const InputName& name() const { return input_name_; }
  // Returns the header of golden records; null for another kind of INPUT.
  const GoldenHeader* header() const { return graph_reader_->header(); }
  // Returns the next graph; nullopt at the end. If the session has a live pipeline, it compiles the graph first. Fails
  // as GraphReader::next_graph(), and if the graph cannot be compiled.
  Result<std::optional<InputGraph>> next_graph();
  // Makes next_graph() return graphs with malformed nodes instead of an error.
  void accept_malformed_graphs() { graph_reader_->accepts_malformed_graphs = true; }
  // Makes next_graph() return the kernels of tinygrad's runtime (recorded_facts.h) too. Without this call, next_graph()
  // skips them and notes their number, or fails if #ID or --kernel names one.
  void accept_runtime_kernels() { graph_reader_->accepts_runtime_kernels = true; }

 private:
  explicit GraphSource(const Session& session) : session_(&session) {}
  static Result<GraphSource> open_any_input(const Session& session, const std::string& spec, const std::string& kernel);

  const Session* session_;
  InputName input_name_;
  InputKind input_kind_ = InputKind::Pyrender;
  std::unique_ptr<GraphReader> graph_reader_;
};

// Calls `each` with every graph of an INPUT, in order. Stops at the first error of the input or of `each`, and when the
// session is cancelled. An INPUT without graphs is an error. The graphs include kernels of tinygrad's runtime, which
// `each` must not execute (is_runtime_kernel). `take_malformed`: see GraphSource::accept_malformed_graphs.
Status for_each_graph(const Session& session, const std::string& spec, const std::string& kernel,
                      const std::function<Status(InputGraph)>& each, bool take_malformed = false);

// Like for_each_graph(), but calls `each` with the pipeline of every graph (Session::pipeline).
Status for_each_pipeline(const Session& session, const std::string& spec, const std::string& kernel,
                         const std::function<Status(Pipeline&)>& each);

}  // namespace tgc
