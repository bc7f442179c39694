// The table of ONNX ops, and OpCall, from which an op's function reads its node's inputs and attributes. The rows are
// in the files ops_*.cpp:
//   {"TensorScatter", 24, "axis mode", tensor_scatter},
// The columns are name, first opset version of this row, supported attributes (separated by blanks), function, and for
// some ops the domain. A node uses the newest row of its op that is not newer than its opset version. Ops that
// tinygrad's nn/onnx.py has follow it, except where it differs from the ONNX specification (testdata/known_gaps.md).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/onnx.h"
#include "lib/model/value.h"

namespace tgc {

class ModelBuilder;

class OpCall {
 public:
  OpCall(ModelBuilder& builder, const onnx::NodeProto& node, int64_t version, Values inputs);

  const onnx::NodeProto& node() const { return node_; }
  ModelBuilder& builder() const { return builder_; }
  Graph& graph() const;
  // The version of the op's domain that the node's model or model-local function uses.
  int64_t opset_version() const { return opset_version_; }
  size_t num_outputs() const { return node_.outputs.size(); }

  // ---- inputs by index. A missing one throws Failure, except in has_input() and the functions *_or_none.
  size_t num_inputs() const { return inputs_.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && !inputs_[i].is_none(); }
  const Value& value(size_t i) const;
  onnx::ElementType type(size_t i) const;
  Tensor tensor(size_t i) const;
  Tensor tensor_or_none(size_t i) const { return has_input(i) ? tensor(i) : Tensor(); }
  Tensors tensors(size_t from = 0) const;

  // array(), ints(), numbers(), integer() and number() compute an input's values during the build. They throw Failure
  // for unknown values. ints() and integer() need integers or bools; integer() and number() need one element.
  Array array(size_t i) const;
  Ints ints(size_t i) const;
  std::optional<Ints> ints_or_none(size_t i) const { return has_input(i) ? std::optional(ints(i)) : std::nullopt; }
  std::vector<double> numbers(size_t i) const;
  int64_t integer(size_t i) const;
  double number(size_t i) const;
  // Throws Failure if a value that is known without a kernel is not in [low, high]. `what` names the value in the
  // error.
  void check_range(size_t i, int64_t low, int64_t high, std::string_view what) const;

  // ---- attributes. A function for one kind of attribute throws Failure for an attribute of another kind.
  const onnx::Attribute* op_attribute(std::string_view name) const { return node_.attribute(name); }
  const onnx::Attribute* op_attribute(std::string_view name, onnx::Attribute::Kind kind) const;
  int64_t attribute_int(std::string_view name, int64_t otherwise) const;
  int64_t attribute_int(std::string_view name) const;           // throws Failure if the attribute is missing
  bool attribute_flag(std::string_view name, bool otherwise) const;  // throws Failure for a value other than 0 and 1
  double attribute_float(std::string_view name, double otherwise) const;
  std::string attribute_string(std::string_view name, std::string_view otherwise) const;
  // Throws Failure unless the attribute, or `otherwise` if it is missing, is one of `choices`.
  std::string attribute_choice(std::string_view name, std::string_view otherwise,
                               std::initializer_list<std::string_view> choices) const;
  Ints attribute_ints(std::string_view name, const Ints& otherwise = {}) const;
  std::optional<Ints> attribute_ints_or_none(std::string_view name) const;
  const onnx::GraphProto& attribute_graph(std::string_view name) const;
  DType dtype_of(int64_t onnx_type) const;                  // throws Failure for an unsupported type

 private:
  ModelBuilder& builder_;
  const onnx::NodeProto& node_;
  int64_t opset_version_;
  Values inputs_;
};

// Converts a tensor to a narrow type (onnx.h:is_narrow_type), and returns it in the wider dtype of this type
// (onnx.h:dtype_of). An integer type keeps the low bits. A float type rounds; a number that is too large becomes the
// largest finite one, with `saturate` or if the type has neither infinity nor NaN; else infinity or NaN.
Tensor to_narrow_type(const Tensor& x, onnx::ElementType type, bool saturate);

Tensor equality_of_strings(OpCall& c);  // defined in ops_text.cpp

struct OpDef {
  std::string_view name;
  int64_t first_opset;
  std::string_view attributes;  // names, separated by blanks
  Values (*run)(OpCall&);       // returns the node's outputs
  std::string_view domain = "";

  bool has_attribute(std::string_view attribute) const;
};

// Returns the op's newest row that is not newer than opset `version`, or null.
const OpDef* find_op(std::string_view domain, std::string_view name, int64_t version);
std::vector<const OpDef*> all_ops();

// ---- the op families, in ops_<family>.cpp; loss_ops() is in ops_nn.cpp
std::span<const OpDef> math_ops();
std::span<const OpDef> movement_ops();
std::span<const OpDef> reduce_ops();
std::span<const OpDef> nn_ops();
std::span<const OpDef> index_ops();
std::span<const OpDef> control_ops();
std::span<const OpDef> resize_ops();
std::span<const OpDef> sample_ops();
std::span<const OpDef> attention_ops();
std::span<const OpDef> quantize_ops();
std::span<const OpDef> loss_ops();
std::span<const OpDef> training_ops();
std::span<const OpDef> recurrent_ops();
std::span<const OpDef> text_ops();
std::span<const OpDef> signal_ops();
std::span<const OpDef> contrib_ops();

}  // namespace tgc
