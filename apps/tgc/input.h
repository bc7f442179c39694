// INPUT of a command, of any kind: a file or standard input, one graph or many.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tgc/options.h"
#include "lib/text/formats.h"
#include "lib/text/golden.h"

namespace tgc {

class Model;

// One graph of an input, with a Graph of its own.
struct InputGraph {
  std::unique_ptr<Graph> graph;
  UOp root;
  std::vector<UOp> list;           // of a listing: its nodes in order; else empty
  GraphInfo info;                  // name, and what the input says of stage, target and settings
  bool is_tensor_graph = false;    // it is to be scheduled into kernels
  std::string text, file;          // what it was read from
  ReadReport report;

  Diag diag_at(UOp node, std::string message) const;  // at the node's place in the text
};

class Input {
 public:
  // `spec` is FILE, FILE#ID or "-". `kernel` picks one of many: by number from 0, by name or record id; of a tensor record that FILE#ID
  // picks, or of any other tensor graph, one of its kernels. Empty: all.
  static Result<Input> open(const std::string& spec, const std::string& kernel, const PipelineOptions& options);

  InputKind kind() const { return kind_; }
  // The next graph; nullopt at the end.
  Result<std::optional<InputGraph>> next();

 private:
  Input() = default;
  Result<std::optional<InputGraph>> next_record();
  Result<InputGraph> graph_of(const GoldenRecord& record);
  Result<InputGraph> graph_of_model();
  Result<InputGraph> read_text(InputKind kind, std::string_view text, const std::string& file, const std::map<std::string, std::string>& recorded);

  InputKind kind_ = InputKind::Pyrender;
  std::string file_, id_, kernel_;
  const PipelineOptions* options_ = nullptr;
  std::string text_;                     // of one graph
  std::optional<GoldenReader> records_;  // of many
  std::shared_ptr<const Model> model_;   // of ONNX
  size_t number_ = 0;                    // of records read
  bool found_ = false, done_ = false;
};

// The target that a device of a tensor graph stands for, CPU for those that run no kernels of their own (NPY, DISK).
std::string target_of_device(std::string_view device, const Settings& settings);

// Whether a file is an ONNX model: by its content.
bool is_model_file(const std::string& path);

// Splits FILE#ID; the id is empty when there is none, or when a file of that very name exists.
std::pair<std::string, std::string> split_spec(const std::string& spec);

}  // namespace tgc
