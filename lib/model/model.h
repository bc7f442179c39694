// Builds the tensor graph of an ONNX model, node by node, in one Graph. Shapes, axes, conditions and other values that
// decide the structure of the graph are computed during the build (tinygrad: nn/onnx.py:OnnxRunner).
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/model/op.h"

namespace tgc {

// An input that a run of the model must supply. Its symbolic sizes have been replaced by numbers.
struct ModelInput {
  std::string name;
  onnx::TypeProto type;
  DType dtype;                // dtype of the elements of a numeric tensor; void for other inputs
  std::optional<Ints> shape;  // nullopt if the model does not fix the shape, or if the input is no tensor
};

// A node of the model's main graph, or of a function that it calls, and the node's output tensors.
struct NodeTensors {
  std::string label;  // op and name of the node, such as "Conv 'conv1'"
  std::vector<UOp> tensors;
};

struct ModelOutputs {
  std::vector<std::string> names;
  Values values;
  std::vector<NodeTensors> node_tensors = {};              // in execution order
  std::unordered_map<UOp, std::string> buffer_names = {};  // names of the inputs and initializers, by their BUFFER
};

class OnnxModel {
 public:
  // Reads and checks a model. Returns an error if a file cannot be read or used, or one that lists the model's
  // defects (at most 50), such as unsupported ops, cycles and undefined values. `weights`, if not empty, is a file of
  // tensors for initializers and inputs (weights.h).
  static Result<OnnxModel> open(const std::string& path, const std::string& weights = "");
  static Result<OnnxModel> make_from_proto(onnx::ModelProto proto);

  const onnx::ModelProto& proto() const { return *model_proto_; }
  std::string folder() const;  // folder of the model's file; paths of external data are relative to this folder

  // Returns the inputs that a run must supply, with symbolic sizes replaced by their values in `vars`. Returns an error
  // if `vars` lacks symbolic sizes (the error lists all of them), or has a negative size or one that no input uses, or
  // if an input's type is not supported.
  Result<std::vector<ModelInput>> inputs(const std::map<std::string, int64_t>& vars) const;
  // Returns the inputs that have no initializer. Their sizes may be symbolic.
  std::vector<const onnx::ValueInfo*> declared_inputs() const;
  std::vector<std::string> output_names() const;

  // Builds the model in `graph`. `inputs` maps every declared input's name to its value. An error of a
  // node names the node.
  Result<ModelOutputs> build_graph(Graph& graph, const std::map<std::string, Value>& inputs) const;

 private:
  std::shared_ptr<const onnx::ModelProto> model_proto_;
};

// Builds the tensors of ONNX nodes. Values are named in nested scopes: a node of a subgraph can also use the values of
// the enclosing graphs.
class ModelBuilder {
 public:
  ModelBuilder(Graph& graph, const onnx::ModelProto& model, std::string folder)
      : graph_(graph), model_(model), folder_(std::move(folder)) {}

  Graph& graph() { return graph_; }
  const onnx::ModelProto& model() const { return model_; }

  // Builds a graph or subgraph with the given inputs (by position or by name), and returns its outputs.
  Values run_graph(const onnx::GraphProto& graph, const Values& inputs);
  Values run_graph(const onnx::GraphProto& graph, const std::map<std::string, Value>& inputs);

  // Computes the values of a tensor in REF. Throws Failure if they depend on a buffer without values.
  Array evaluate_tensor(const Tensor& tensor);
  // Returns true if evaluate_tensor() can compute the tensor, because it depends on no buffer without values.
  bool is_known(const Tensor& tensor);

  Value value_of(const onnx::TensorProto& tensor);  // returns the value of an initializer or of a tensor attribute
  // Returns the name of the outermost scope's tensor whose elements are in `buffer`, for messages; "" if it has none.
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
  std::unordered_map<UOp, std::string> buffer_names_;  // names of the inputs and initializers, by their BUFFER
  const std::map<std::string, int64_t>* current_opsets_ = nullptr;
  std::unordered_map<UOp, std::shared_ptr<Array>> evaluated_arrays_;
  int64_t nesting_depth_ = 0, num_nodes_run_ = 0;  // limited by Limit::ModelDepth and Limit::ModelNodes
};

}  // namespace tgc
