// Models: a graph of ONNX nodes becomes tensors, node by node, in one Graph. What a model cannot do without knowing
// values (shapes, axes, conditions) is computed on the way. Mirrors OnnxRunner of tinygrad's nn/onnx.py.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/model/op.h"

namespace tgc {

// An input as the model declares it, symbolic sizes bound.
struct ModelInput {
  std::string name;
  onnx::TypeProto type;
  DType dtype;              // of a tensor of numbers
  std::optional<Ints> shape;  // nullopt: of any shape, or no tensor
};

// A node of the model's own graph, and the tensors that it gave.
struct MadeOfNode {
  std::string label;  // "Conv 'conv1'"
  std::vector<UOp> tensors;
};

struct ModelOutputs {
  std::vector<std::string> names;
  Values values;
  std::vector<MadeOfNode> made = {};  // in the order in which they ran
};

class Model {
 public:
  // Reads and checks it: every op, attribute and type that is not supported is named, in one error; a cycle, a value
  // that nothing makes and a name that two nodes make are errors too.
  // `weights`, if given, names a file of tensors for its initializers and inputs (weights.h).
  static Result<Model> open(const std::string& path, const std::string& weights = "");
  static Result<Model> from_proto(onnx::ModelProto proto);

  const onnx::ModelProto& proto() const { return *proto_; }
  std::string folder() const;  // of its file: where external data are

  // The inputs that a run must give. A size that `vars` does not bind is an error that names them all; a size given in
  // `vars` that no input has too.
  Result<std::vector<ModelInput>> inputs(const std::map<std::string, int64_t>& vars) const;
  // The inputs as declared, unbound.
  std::vector<const onnx::ValueInfo*> declared_inputs() const;
  std::vector<std::string> output_names() const;

  // The outputs as tensors of `graph`, for inputs by name.
  Result<ModelOutputs> build(Graph& graph, const std::map<std::string, Value>& inputs) const;

 private:
  std::shared_ptr<const onnx::ModelProto> proto_;
};

// A graph under construction, with the names that are visible where it is.
class ModelBuilder {
 public:
  ModelBuilder(Graph& graph, const onnx::ModelProto& model, std::string folder)
      : graph_(graph), model_(model), folder_(std::move(folder)) {}

  Graph& graph() { return graph_; }
  const onnx::ModelProto& model() const { return model_; }

  // Runs a subgraph: its inputs by position; names of the graphs around it are visible. Its outputs.
  Values run(const onnx::GraphProto& graph, const Values& inputs);
  Values run(const onnx::GraphProto& graph, const std::map<std::string, Value>& inputs);

  // The values of a tensor, now. Throws Failure when they depend on buffers whose values are not known.
  Array evaluate(const Tensor& tensor);
  // Whether they can be computed: nothing below has unknown values.
  bool is_known(const Tensor& tensor);

  Value value_of(const onnx::TensorProto& tensor);  // an initializer or an attribute
  std::string tensor_name(UOp buffer) const;        // of an input's buffer, for messages
  std::vector<MadeOfNode> take_made() { return std::move(made_); }

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
  const std::map<std::string, int64_t>* opsets_ = nullptr;
  std::unordered_map<UOp, std::shared_ptr<Array>> evaluated_;
  int64_t depth_ = 0, nodes_run_ = 0;  // see Limit::ModelDepth, Limit::ModelNodes
};

}  // namespace tgc
