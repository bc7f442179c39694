// GraphReader: reads the graphs of one INPUT, and selects the graphs that FILE#ID and --kernel name. GraphSource
// (source.h) chooses the reader, and lets the session's pipeline compile what the reader returns.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "lib/driver/input_name.h"
#include "lib/driver/session.h"

namespace tgc {

class OnnxModel;

class GraphReader {
 public:
  // `kernel`: see GraphSource::open. `session` must outlive the reader.
  GraphReader(const Session& session, InputName name, std::string kernel)
      : session_(session), input_name_(std::move(name)), kernel_name_(std::move(kernel)) {}
  virtual ~GraphReader() = default;

  // Returns the next graph that FILE#ID and --kernel select; nullopt at the end. Fails if the graph cannot be read or
  // made, or if FILE#ID, --kernel or --target excludes all graphs.
  virtual Result<std::optional<InputGraph>> next_graph() = 0;
  // Null if the INPUT is no file of golden records.
  virtual const GoldenHeader* header() const { return nullptr; }
  // Returns the value of --kernel if it selects a kernel in the schedule of the graph that next_graph() returned; ""
  // for all kernels.
  virtual std::string kernel_of_schedule() const { return {}; }
  // Returns true if a running tinygrad has compiled the graph that next_graph() returned.
  virtual bool is_compiled() const { return false; }

  bool accepts_malformed_graphs = false;  // see GraphSource::accept_malformed_graphs
  bool accepts_runtime_kernels = false;  // see GraphSource::accept_runtime_kernels

 protected:
  // Reads the graph in `text` with the settings `recorded` or, if there are none, with those that the text names.
  // `file` is for messages. `producer` is that of the recording.
  Result<InputGraph> read_text(InputKind kind, std::string_view text, const std::string& file,
                               const std::map<std::string, std::string>& recorded = {}, std::string_view producer = {},
                               bool is_tensor_graph = false) const;

  const Session& session_;
  const InputName input_name_;
  const std::string kernel_name_;
};

// Make the readers of golden records, of a text with one or several graphs, and of an ONNX model.
std::unique_ptr<GraphReader> make_record_reader(const Session& session, const InputName& name,
                                                const std::string& kernel, GoldenReader records);
std::unique_ptr<GraphReader> make_text_reader(const Session& session, const InputName& name, const std::string& kernel,
                                              InputKind kind, std::string text);
std::unique_ptr<GraphReader> make_model_reader(const Session& session, const InputName& name, const std::string& kernel,
                                               OnnxModel model);

}  // namespace tgc
