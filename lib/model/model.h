// Builds the tensor graph of an ONNX model, node by node, in one Graph. Values that the graph's structure depends on
// (shapes, axes, conditions) are computed during the build. Mirrors tinygrad's nn/onnx.py:OnnxRunner.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/model/op.h"

namespace tgc {

// A model input, with its symbolic sizes bound.
struct ModelInput {
  std::string name;
  onnx::TypeProto type;
  DType dtype;              // element type of a numeric tensor, else void
  std::optional<Ints> shape;  // nullopt: the shape is not fixed, or the input is not a tensor
};

// A node of the model's main graph, and its output tensors.
struct MadeOfNode {
  std::string label;  // "Conv 'conv1'"
  std::vector<UOp> tensors;
};

struct ModelOutputs {
  std::vector<std::string> names;
  Values values;
  std::vector<MadeOfNode> made = {};  // in execution order
  std::unordered_map<UOp, std::string> buffers = {};  // names of the inputs and initializers, by their BUFFER
};

class Model {
 public:
  // Reads and checks a model. One error lists all unsupported ops, attributes and types, cycles, undefined values and
  // values defined twice. `weights`, if not empty, is a file of tensors for initializers and inputs (weights.h).
  static Result<Model> open(const std::string& path, const std::string& weights = "");
  static Result<Model> from_proto(onnx::ModelProto proto);

  const onnx::ModelProto& proto() const { return *proto_; }
  std::string folder() const;  // folder of the model's file; paths of external data are relative to this folder

  // Returns the inputs that a run must supply, with symbolic sizes replaced by their values in `vars`. Returns an error
  // if `vars` lacks symbolic sizes (the error lists all of them) or has a size that no input uses.
  Result<std::vector<ModelInput>> inputs(const std::map<std::string, int64_t>& vars) const;
  // Returns the inputs that have no initializer. Their sizes may be symbolic.
  std::vector<const onnx::ValueInfo*> declared_inputs() const;
  std::vector<std::string> output_names() const;

  // Builds the model in `graph`. `inputs` maps every declared input's name to its value.
  Result<ModelOutputs> build(Graph& graph, const std::map<std::string, Value>& inputs) const;

 private:
  std::shared_ptr<const onnx::ModelProto> proto_;
};

// Builds tensors from ONNX nodes in nested scopes of value names.
class ModelBuilder {
 public:
  ModelBuilder(Graph& graph, const onnx::ModelProto& model, std::string folder)
      : graph_(graph), model_(model), folder_(std::move(folder)) {}

  Graph& graph() { return graph_; }
  const onnx::ModelProto& model() const { return model_; }

  // Builds a subgraph, with its inputs by position or by name, and returns its outputs. It can use outer values.
  Values run(const onnx::GraphProto& graph, const Values& inputs);
  Values run(const onnx::GraphProto& graph, const std::map<std::string, Value>& inputs);

  // Computes the values of a tensor in REF. Throws Failure if they depend on a buffer without values.
  Array evaluate(const Tensor& tensor);
  // True if evaluate can compute the tensor: it depends on no buffer with unknown values.
  bool is_known(const Tensor& tensor);

  Value value_of(const onnx::TensorProto& tensor);  // the value of an initializer or of a tensor attribute
  std::string tensor_name(UOp buffer) const;        // for messages: the input that `buffer` belongs to, or ""
  std::vector<MadeOfNode> take_made() { return std::move(made_); }
  std::unordered_map<UOp, std::string> take_buffers() { return std::move(buffers_); }

 private:
  using Scope = std::unordered_map<std::string, Value>;
  Values run_nodes(const std::vector<onnx::NodeProto>& nodes, const std::vector<std::string>& outputs,
                   const std::map<std::string, int64_t>& opsets);
  Values run_node(const onnx::NodeProto& node, const std::map<std::string, int64_t>& opsets);
  Values run_function(const onnx::FunctionProto& function, const onnx::NodeProto& node, const Values& inputs);
  const Value* find(const std::string& name) const;

  Graph& graph_;
  const onnx::ModelProto& model_;
  std::string folder_;
  std::vector<Scope> scopes_;
  std::vector<MadeOfNode> made_;
  std::unordered_map<UOp, std::string> buffers_;  // see ModelOutputs
  const std::map<std::string, int64_t>* opsets_ = nullptr;
  std::unordered_map<UOp, std::shared_ptr<Array>> evaluated_;
  int64_t depth_ = 0, nodes_run_ = 0;  // limited by Limit::ModelDepth and Limit::ModelNodes
};

}  // namespace tgc
