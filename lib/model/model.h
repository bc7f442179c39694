// Builds the tensor graph of an ONNX model, node by node, in one Graph (tinygrad: nn/onnx.py:OnnxRunner).
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/model/op.h"

namespace tgc {

struct ModelInput {
  std::string name;
  onnx::TypeProto type;
  DType dtype;                // void unless the input is a numeric tensor
  std::optional<Ints> shape;  // nullopt unless the model declares a tensor shape
};

struct NodeTensors {
  std::string label;  // such as "Conv 'conv1'"
  std::vector<UOp> tensors;
};

struct ModelOutputs {
  std::vector<std::string> names;
  Values values;
  std::vector<NodeTensors> node_tensors = {};
  std::unordered_map<UOp, std::string> buffer_names = {};  // the key is the base node of an input or initializer
};

class OnnxModel {
 public:
  // Reads and checks a model, with the tensors of the file `weights` unless this is "". Fails if a file cannot be used,
  // or if the model has defects.
  static Result<OnnxModel> open(const std::string& path, const std::string& weights = "");
  static Result<OnnxModel> make_from_proto(onnx::ModelProto proto);

  const onnx::ModelProto& proto() const { return *model_proto_; }
  std::string folder() const;

  // Returns the declared inputs, with values of `vars` for symbolic sizes. Fails if `vars` does not fit, or for an
  // unsupported type.
  Result<std::vector<ModelInput>> inputs(const std::map<std::string, int64_t>& vars) const;
  // Returns the inputs without an initializer.
  std::vector<const onnx::ValueInfo*> declared_inputs() const;
  std::vector<std::string> output_names() const;

  // Builds the model's tensors in `graph`. `inputs` has the values of the declared inputs, by name. Fails if one is
  // missing, or if the graph cannot be built.
  Result<ModelOutputs> build_graph(Graph& graph, const std::map<std::string, Value>& inputs) const;

 private:
  std::shared_ptr<const onnx::ModelProto> model_proto_;
};

// Builds the tensors of nodes. A subgraph can use the values of the graphs around it.
class ModelBuilder {
 public:
  ModelBuilder(Graph& graph, const onnx::ModelProto& model, std::string folder)
      : graph_(graph), model_(model), folder_(std::move(folder)) {}

  Graph& graph() { return graph_; }
  const onnx::ModelProto& model() const { return model_; }

  // Build the nodes of `graph` and return its outputs. `inputs` has the inputs by position or by name.
  Values run_graph(const onnx::GraphProto& graph, const Values& inputs);
  Values run_graph(const onnx::GraphProto& graph, const std::map<std::string, Value>& inputs);

  // Computes a tensor in REF. Throws Failure if REF fails, or if the tensor depends on a buffer without values.
  Array evaluate_tensor(const Tensor& tensor);
  // Returns true if the tensor depends on no buffer without values.
  bool has_known_value(const Tensor& tensor);

  Value value_of(const onnx::TensorProto& tensor);
  // Returns the name of the outermost scope's tensor in `buffer`, or "".
  std::string tensor_name(UOp buffer) const;
  std::vector<NodeTensors> take_node_tensors() { return std::move(node_tensors_); }
  std::unordered_map<UOp, std::string> take_buffer_names() { return std::move(buffer_names_); }

 private:
  using Scope = std::unordered_map<std::string, Value>;
  Values run_nodes(const std::vector<onnx::NodeProto>& nodes, const std::vector<std::string>& outputs,
                   const std::map<std::string, int64_t>& opsets);
  Values run_node(const onnx::NodeProto& node, const std::map<std::string, int64_t>& opsets);
  Values run_function(const onnx::FunctionProto& function, const onnx::NodeProto& node, const Values& inputs);
  const Value* find_value(const std::string& name) const;

  Graph& graph_;
  const onnx::ModelProto& model_;
  std::string folder_;
  std::vector<Scope> scopes_;
  std::vector<NodeTensors> node_tensors_;
  std::unordered_map<UOp, std::string> buffer_names_;
  const std::map<std::string, int64_t>* current_opsets_ = nullptr;
  std::unordered_map<UOp, std::shared_ptr<Array>> evaluated_arrays_;
  int64_t nesting_depth_ = 0, num_nodes_run_ = 0;  // limited by Limit::ModelDepth and Limit::ModelNodes
};

}  // namespace tgc
