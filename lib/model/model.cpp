#include "lib/model/model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "lib/model/realize.h"
#include "lib/model/weights.h"
#include "lib/support/limits.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

int64_t opset_of(const std::map<std::string, int64_t>& opsets, const std::string& domain) {
  auto found = opsets.find(domain);
  return found == opsets.end() ? 1 : found->second;
}

using FunctionName = std::pair<std::string_view, std::string_view>;
FunctionName function_name(const onnx::FunctionProto& f) { return {f.name, f.domain}; }

// Returns null if `node` calls no model-local function. make_from_proto() has sorted the functions.
const onnx::FunctionProto* find_function(const onnx::ModelProto& model, const onnx::NodeProto& node) {
  FunctionName wanted(node.op, node.domain);
  auto found = std::ranges::lower_bound(model.functions, wanted, {}, function_name);
  return found != model.functions.end() && function_name(*found) == wanted ? &*found : nullptr;
}

class ModelChecker {
 public:
  explicit ModelChecker(const onnx::ModelProto& model) : model_(model) {}

  void check() {
    graph(model_.graph, nullptr, model_.opsets, 0);
    for (auto& f : model_.functions) {
      ScopeNames names{{f.inputs.begin(), f.inputs.end()}, nullptr};
      nodes(f.nodes, names, f.opsets.empty() ? model_.opsets : f.opsets, 0);
    }
    if (problems_.empty()) return;
    std::string all;
    for (auto& t : problems_) all += (all.empty() ? "" : "\n  ") + t;
    if (num_more_problems_) all += "\n  and " + std::to_string(num_more_problems_) + " more";
    throw Failure(problems_.size() == 1 ? all : "the model cannot be run:\n  " + all);
  }

 private:
  struct ScopeNames {
    std::set<std::string_view> own_names;
    const ScopeNames* outer;
    bool contains(std::string_view name) const { return own_names.contains(name) || (outer && outer->contains(name)); }
  };

  void add_problem(std::string text) {
    constexpr size_t kMaxProblems = 50;
    if (std::find(problems_.begin(), problems_.end(), text) != problems_.end()) return;
    if (problems_.size() < kMaxProblems) problems_.push_back(std::move(text));
    else num_more_problems_++;
  }

  void graph(const onnx::GraphProto& g, const ScopeNames* outer, const std::map<std::string, int64_t>& opsets,
             int depth) {
    ScopeNames names{{}, outer};
    check_limit(Limit::ModelDepth, depth);
    for (auto& i : g.inputs) names.own_names.insert(i.name);
    for (auto& t : g.initializers) {
      names.own_names.insert(t.name);
      if (!onnx::dtype_of(t.type) && t.type != onnx::ElementType::String)
        add_problem("initializer '" + t.name + "' is of " + onnx::name_of(t.type) + ", which is not supported");
    }
    nodes(g.nodes, names, opsets, depth);
    for (auto& o : g.outputs)
      if (!names.contains(o.name)) add_problem("no node defines the output '" + o.name + "'");
  }

  // Checks the nodes of `list`, and adds their outputs to `names`.
  void nodes(const std::vector<onnx::NodeProto>& list, ScopeNames& names,
             const std::map<std::string, int64_t>& opsets, int depth) {
    std::set<std::string_view> made_here, later;
    for (auto& n : list)
      for (auto& o : n.outputs) later.insert(o);
    for (auto& n : list) {
      check_op(n, opsets);
      for (auto& i : n.inputs) {
        if (i.empty() || names.contains(i)) continue;
        add_problem(n.label() + " needs '" + i + "', which " +
                    (later.contains(i) ? "a later node defines: the graph has a cycle or is out of order"
                                   : "no node defines"));
      }
      for (auto& a : n.attributes)
        if (a.g) graph(*a.g, &names, opsets, depth + 1);
      for (auto& o : n.outputs) {
        if (!o.empty() && !made_here.insert(o).second)
          add_problem(n.label() + " defines '" + o + "', which another node defines too");
        names.own_names.insert(o);
      }
    }
  }

  void check_op(const onnx::NodeProto& n, const std::map<std::string, int64_t>& opsets) {
    if (find_function(model_, n)) return;
    int64_t version = opset_of(opsets, n.domain);
    const OpDef* def = find_op(n.domain, n.op, version);
    if (!def)
      return add_problem(n.label() + " is not supported, in opset " + std::to_string(version) +
                         (n.domain.empty() ? "" : " of " + n.domain));
    for (auto& a : n.attributes) {
      if (!def->has_attribute(a.name))
        add_problem(n.label() + " has the attribute '" + a.name + "', which is not supported");
      if (a.t && !onnx::dtype_of(a.t->type) && a.t->type != onnx::ElementType::String)
        add_problem(n.label() + ": attribute '" + a.name + "' is of " + onnx::name_of(a.t->type) +
                    ", which is not supported");
    }
  }

  const onnx::ModelProto& model_;
  std::vector<std::string> problems_;
  size_t num_more_problems_ = 0;
};

}  // namespace

Result<OnnxModel> OnnxModel::open(const std::string& path, const std::string& weights) {
  auto proto = onnx::read_model_file(path);
  if (!proto) return proto.diag();
  if (!weights.empty()) {
    auto tensors = read_weights(weights);
    if (!tensors) return tensors.diag();
    auto used = set_model_weights(*proto, std::move(*tensors));
    if (!used) {
      used.diag().file = weights;
      return used.diag();
    }
  }
  return make_from_proto(std::move(*proto));
}

Result<OnnxModel> OnnxModel::make_from_proto(onnx::ModelProto proto) {
  auto out = catch_failures([&] {
    std::ranges::stable_sort(proto.functions, {}, function_name);
    ModelChecker(proto).check();
    OnnxModel model;
    model.model_proto_ = std::make_shared<const onnx::ModelProto>(std::move(proto));
    return model;
  });
  if (!out && out.diag().file.empty()) out.diag().file = proto.path;
  return out;
}

std::string OnnxModel::folder() const { return std::filesystem::path(model_proto_->path).parent_path().string(); }

std::vector<const onnx::ValueInfo*> OnnxModel::declared_inputs() const {
  std::set<std::string> initialized;
  for (auto& t : model_proto_->graph.initializers) initialized.insert(t.name);
  std::vector<const onnx::ValueInfo*> out;
  for (auto& i : model_proto_->graph.inputs)
    if (!initialized.contains(i.name)) out.push_back(&i);
  return out;
}

std::vector<std::string> OnnxModel::output_names() const {
  std::vector<std::string> out;
  for (auto& o : model_proto_->graph.outputs) out.push_back(o.name);
  return out;
}

Result<std::vector<ModelInput>> OnnxModel::inputs(const std::map<std::string, int64_t>& vars) const {
  return catch_failures([&] {
    std::vector<ModelInput> out;
    std::set<std::string> unbound, used;
    for (auto* info : declared_inputs()) {
      ModelInput input{info->name, info->type, dtypes::void_, {}};
      if (info->type.kind == onnx::TypeProto::Kind::Tensor) {
        if (auto d = onnx::dtype_of(info->type.element_type)) input.dtype = *d;
        else if (info->type.element_type != onnx::ElementType::String)
          throw Failure("input '" + info->name + "' is of " + onnx::name_of(info->type.element_type) +
                        ", which is not supported");
        if (info->type.shape) {
          input.shape.emplace();
          for (auto& dim : *info->type.shape) {
            auto bound = vars.find(dim.name);
            if (!dim.value && bound == vars.end())
              unbound.insert(dim.name.empty() ? "a size of input '" + info->name + "' that has no name" : dim.name);
            if (!dim.value && bound != vars.end()) used.insert(dim.name);
            input.shape->push_back(dim.value ? *dim.value : bound != vars.end() ? bound->second : 0);
          }
        }
      }
      out.push_back(std::move(input));
    }
    std::string names;
    for (auto& n : unbound) names += (names.empty() ? "" : ", ") + n;
    if (!unbound.empty())
      throw Failure("the model's inputs have sizes that are not bound: " + names + "; give them with --var NAME=SIZE");
    for (auto& [name, value] : vars) {
      if (!used.contains(name)) throw Failure("no input of the model has the size '" + name + "'");
      if (value < 0) throw Failure("the size '" + name + "' is negative");
    }
    return out;
  });
}

Result<ModelOutputs> OnnxModel::build_graph(Graph& graph, const std::map<std::string, Value>& inputs) const {
  auto out = catch_failures([&] {
    for (auto* info : declared_inputs())
      if (!inputs.contains(info->name)) throw Failure("the model's input '" + info->name + "' is not given");
    ModelBuilder builder(graph, *model_proto_, folder());
    Values values = builder.run_graph(model_proto_->graph, inputs);
    return ModelOutputs{output_names(), std::move(values), builder.take_node_tensors(), builder.take_buffer_names()};
  });
  if (!out && out.diag().file.empty()) out.diag().file = model_proto_->path;
  return out;
}

// An op fails for inputs of narrow types (onnx.h:is_narrow_type), gives the type to its outputs, or handles them in its
// function.
enum class NarrowTypeUse : uint8_t { Refused, Kept, Handled };

NarrowTypeUse narrow_type_use(std::string_view op) {
  static const std::set<std::string_view> kKept{"Concat",  "Expand", "Flatten", "Gather", "Identity",  "Pad",
                                                "Reshape", "Slice",  "Squeeze", "Tile",   "Transpose", "Unsqueeze"},
      kHandled{"Cast", "CastLike", "DequantizeLinear",   "If",                 "Loop",           "Optional",
               "Scan", "Shape",    "OptionalGetElement", "OptionalHasElement", "QuantizeLinear", "Size"};
  return kKept.contains(op)      ? NarrowTypeUse::Kept
         : kHandled.contains(op) ? NarrowTypeUse::Handled
                                 : NarrowTypeUse::Refused;
}

const Value* ModelBuilder::find_value(const std::string& name) const {
  for (auto it = scopes_.rbegin(); it != scopes_.rend(); ++it)
    if (auto found = it->find(name); found != it->end()) return &found->second;
  return nullptr;
}

Value ModelBuilder::value_of(const onnx::TensorProto& t) {
  if (t.type == onnx::ElementType::String) {
    StringTensor out{t.dims, {}};
    for (auto s : t.strings) out.items.emplace_back(s);
    if (int64_t(out.items.size()) != t.num_elements())
      throw Failure("tensor '" + t.name + "' has " + std::to_string(out.items.size()) + " strings, its shape needs " +
                    std::to_string(t.num_elements()));
    return out;
  }
  onnx::TensorBytes bytes = onnx::bytes_of_tensor(t, folder_);
  auto narrow = onnx::is_narrow_type(t.type) ? t.type : onnx::ElementType::Undefined;
  Tensor out = Tensor::buffer(graph_, t.dims, *onnx::dtype_of(t.type));
  shared_tensor_state(graph_).buffer_data[base_of(out.uop())] = {bytes.data, bytes.size, bytes.owner, bytes.is_mapped};
  if (!t.dims.empty()) return {out, narrow};
  Array value = evaluate_tensor(out);  // make a scalar a CONST instead of a BUFFER
  if (out.is_floating_point()) return {Tensor::constant(graph_, element_as_double(value, 0), out.dtype()), narrow};
  if (out.dtype() == dtypes::uint64)
    return Tensor::constant(graph_,
                            Int(int64_t(value.as<uint64_t>()[0] >> 1)) +
                                Int(int64_t(value.as<uint64_t>()[0] - (value.as<uint64_t>()[0] >> 1))),
                            out.dtype());
  if (out.dtype() == dtypes::int64) return Tensor::constant(graph_, value.as<int64_t>()[0], out.dtype());
  return {Tensor::constant(graph_, int64_t(element_as_double(value, 0)), out.dtype()), narrow};
}

std::string ModelBuilder::tensor_name(UOp buffer) const {
  if (!scopes_.empty())
    for (auto& [name, value] : scopes_[0])
      if (value.is_tensor() && base_of(value.tensor().uop()) == buffer) return name;
  return "";
}

bool ModelBuilder::has_known_value(const Tensor& tensor) { return unknown_buffers(std::span(&tensor, 1)).empty(); }

Array ModelBuilder::evaluate_tensor(const Tensor& tensor) {
  auto& slot = evaluated_arrays_[tensor.uop()];
  if (slot) return slot->copy();
  for (UOp u : unknown_buffers(std::span(&tensor, 1))) {
    throw Failure("it depends on the values of the model's input '" + tensor_name(u) + "'; give them with --inputs");
  }
  slot = std::make_shared<Array>(std::move(realize(std::span(&tensor, 1))[0]));
  return slot->copy();
}

Values ModelBuilder::run_graph(const onnx::GraphProto& graph, const Values& inputs) {
  if (inputs.size() > graph.inputs.size())
    throw Failure("the subgraph '" + graph.name + "' has " + std::to_string(graph.inputs.size()) +
                  " inputs, it is given " + std::to_string(inputs.size()));
  std::map<std::string, Value> named;
  for (size_t i = 0; i < inputs.size(); i++) named[graph.inputs[i].name] = inputs[i];
  return run_graph(graph, named);
}

Values ModelBuilder::run_graph(const onnx::GraphProto& graph, const std::map<std::string, Value>& inputs) {
  std::vector<std::string> outputs;
  for (auto& o : graph.outputs) outputs.push_back(o.name);
  scopes_.emplace_back();
  for (auto& t : graph.initializers) scopes_.back()[t.name] = value_of(t);
  for (auto& [name, value] : inputs) scopes_.back()[name] = value;
  for (auto& info : graph.inputs) {
    auto given = inputs.find(info.name);
    if (given != inputs.end() && given->second.is_tensor() && onnx::is_narrow_type(info.type.element_type))
      scopes_.back()[info.name] = {given->second.tensor(), info.type.element_type};
  }
  if (scopes_.size() == 1)
    for (auto& [name, value] : scopes_[0])
      if (value.is_tensor()) buffer_names_.emplace(base_of(value.tensor().uop()), name);
  return run_nodes(graph.nodes, outputs, current_opsets_ ? *current_opsets_ : model_.opsets);
}

// Runs the nodes in the innermost scope, and closes it.
Values ModelBuilder::run_nodes(const std::vector<onnx::NodeProto>& nodes, const std::vector<std::string>& outputs,
                               const std::map<std::string, int64_t>& opsets) {
  check_limit(Limit::ModelDepth, ++nesting_depth_);
  auto* outer = std::exchange(current_opsets_, &opsets);
  for (auto& node : nodes) {
    check_limit(Limit::ModelNodes, ++num_nodes_run_);
    Values made;
    try {
      made = run_node(node, opsets);
    } catch (Failure& f) {
      if (f.diag().file.empty() && !f.diag().message.starts_with(node.label()))
        f.diag().message = node.label() + ": " + f.diag().message;
      throw Failure(f.diag());
    }
    if (made.size() < node.outputs.size())
      throw Failure(node.label() + ": gives " + std::to_string(made.size()) + " of its " +
                    std::to_string(node.outputs.size()) + " outputs");
    for (size_t i = 0; i < node.outputs.size(); i++)
      if (!node.outputs[i].empty()) scopes_.back()[node.outputs[i]] = made[i];
    if (scopes_.size() > 1) continue;
    node_tensors_.push_back({node.label(), {}});
    for (const Value& v : made)
      if (v.is_tensor()) node_tensors_.back().tensors.push_back(v.tensor().uop());
  }
  Values out;
  for (auto& name : outputs) {
    const Value* v = find_value(name);
    if (!v) throw Failure("no node defines the output '" + name + "'");
    out.push_back(*v);
  }
  scopes_.pop_back();
  current_opsets_ = outer;
  nesting_depth_--;
  return out;
}

Values ModelBuilder::run_node(const onnx::NodeProto& node, const std::map<std::string, int64_t>& opsets) {
  Values inputs;
  for (auto& name : node.inputs) {
    const Value* v = name.empty() ? nullptr : find_value(name);
    if (!name.empty() && !v) throw Failure("no node defines its input '" + name + "'");
    inputs.push_back(v ? *v : Value());
  }
  if (auto* function = find_function(model_, node)) return run_function(*function, node, inputs);
  int64_t version = opset_of(opsets, node.domain);
  const OpDef* def = find_op(node.domain, node.op, version);
  if (!def) throw Failure("the op is not supported");
  const NarrowTypeUse use = narrow_type_use(node.op);
  auto narrow = onnx::ElementType::Undefined;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (inputs[i].narrow_type() == onnx::ElementType::Undefined) continue;
    if (use == NarrowTypeUse::Refused)
      throw Failure("input " + std::to_string(i) + " is of " + onnx::name_of(inputs[i].narrow_type()) +
                    ", which is not supported");
    narrow = inputs[i].narrow_type();
  }
  OpCall call(*this, node, version, std::move(inputs));
  Values out = def->run(call);
  if (use == NarrowTypeUse::Kept && narrow != onnx::ElementType::Undefined)
    for (Value& v : out) v = {v.tensor(), narrow};
  return out;
}

Values ModelBuilder::run_function(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                                  const Values& inputs) {
  std::vector<onnx::NodeProto> nodes = function.nodes;
  for (auto& n : nodes) {
    std::erase_if(n.attributes, [&](onnx::Attribute& a) {
      if (a.ref_attr_name.empty()) return false;
      auto* given = node.attribute(a.ref_attr_name);
      if (!given) return true;
      std::string name = a.name;
      a = *given;
      a.name = name;
      return false;
    });
  }
  auto scopes = std::exchange(scopes_, {});  // a function cannot use the caller's values
  scopes_.emplace_back();
  for (size_t i = 0; i < inputs.size() && i < function.inputs.size(); i++)
    scopes_.back()[function.inputs[i]] = inputs[i];
  for (size_t i = inputs.size(); i < function.inputs.size(); i++) scopes_.back()[function.inputs[i]] = Value();
  Values out = run_nodes(nodes, function.outputs, function.opsets.empty() ? model_.opsets : function.opsets);
  scopes_ = std::move(scopes);
  return out;
}

}  // namespace tgc
