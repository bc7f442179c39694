// The table of ONNX ops, and OpCall, from which an op's function reads its node's inputs and attributes. Each op family
// is a table in one of the files ops_*.cpp, with rows such as
//   {"Elu", 1, "alpha", [](OpCall& c) -> Values { return {c.tensor(0).elu(c.attr_float("alpha", 1))}; }},
// with the columns: name, first opset version of this row, supported attributes (separated by blanks), function, and
// for some ops the domain. A node uses the newest row of its op that is not newer than its opset version
// (OpCall::opset_version). An attribute that the row does not list is an error when the model is opened. Semantics are
// those of the ONNX specification. The graphs follow tinygrad's nn/onnx.py, except where it differs from the
// specification (testdata/known_gaps.md).
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

// The node being built, with its input values.
class OpCall {
 public:
  OpCall(ModelBuilder& builder, const onnx::NodeProto& node, int64_t version, Values inputs);

  const onnx::NodeProto& node() const { return node_; }
  ModelBuilder& builder() const { return builder_; }
  Graph& graph() const;
  // the opset version, for the op's domain, of the model or of the model-local function that has the node
  int64_t opset_version() const { return opset_version_; }
  size_t num_outputs() const { return node_.outputs.size(); }

  // ---- inputs by index. Reading a missing input throws Failure.
  size_t num_inputs() const { return inputs_.size(); }
  bool has_input(size_t i) const { return i < inputs_.size() && !inputs_[i].is_none(); }
  const Value& value(size_t i) const;
  onnx::Type type(size_t i) const;  // the ONNX type of an input that is a tensor
  Tensor tensor(size_t i) const;
  Tensor tensor_or_none(size_t i) const { return has_input(i) ? tensor(i) : Tensor(); }
  Tensors tensors(size_t from = 0) const;  // returns the inputs from index `from` on

  // array(), ints(), numbers(), integer() and number() return the values of an input that decides the structure of the
  // graph (a shape, axes, ...). If the values depend on an input of the model without values, they throw Failure with
  // the name of the model's input.
  Array array(size_t i) const;
  Ints ints(size_t i) const;
  std::optional<Ints> ints_or_none(size_t i) const { return has_input(i) ? std::optional(ints(i)) : std::nullopt; }
  std::vector<double> numbers(size_t i) const;
  int64_t integer(size_t i) const;  // returns the only element of the input
  double number(size_t i) const;    // returns the only element of the input
  // Throws Failure if the values of the input are known without a kernel and one is less than `low` or greater than
  // `high`. `what` is the name of such a value in the error.
  void check_range(size_t i, int64_t low, int64_t high, std::string_view what) const;

  // ---- attributes. A function for one kind of attribute throws Failure for an attribute of another kind.
  const onnx::Attribute* attr(std::string_view name) const { return node_.attribute(name); }
  const onnx::Attribute* attr(std::string_view name, onnx::Attribute::Kind kind) const;
  int64_t attr_int(std::string_view name, int64_t otherwise) const;
  int64_t attr_int(std::string_view name) const;                // throws Failure if the attribute is missing
  bool attr_flag(std::string_view name, bool otherwise) const;  // throws Failure for a value other than 0 and 1
  double attr_float(std::string_view name, double otherwise) const;
  std::string attr_string(std::string_view name, std::string_view otherwise) const;
  // Returns the value of an attribute, or `otherwise` if the node does not have the attribute. Throws Failure unless
  // the result is one of `choices`.
  std::string attr_choice(std::string_view name, std::string_view otherwise,
                          std::initializer_list<std::string_view> choices) const;
  Ints attr_ints(std::string_view name, const Ints& otherwise = {}) const;
  std::optional<Ints> attr_ints_or_none(std::string_view name) const;
  const onnx::GraphProto& attr_graph(std::string_view name) const;
  DType dtype_of(int64_t onnx_type) const;                  // throws Failure for an unsupported type

 private:
  ModelBuilder& builder_;
  const onnx::NodeProto& node_;
  int64_t opset_version_;
  Values inputs_;
};

// Converts a tensor to a narrow type (onnx.h:is_narrow) and returns the elements in the wider dtype of this type
// (onnx.h:dtype_of). Integers lose their high bits. Floats are rounded; numbers beyond the largest finite one become
// that one, with `saturate` or if the type has neither infinity nor NaN; else they become infinity or NaN.
Tensor to_narrow(const Tensor& x, onnx::Type type, bool saturate);

Tensor equal_strings(OpCall& c);  // returns whether the strings of two inputs are equal (ops_text.cpp)

// A row of the table of ops.
struct OpDef {
  std::string_view name;
  int64_t first_opset;          // the first opset version to which the row applies
  std::string_view attributes;  // names of the supported attributes, separated by blanks
  Values (*run)(OpCall&);       // builds the node, and returns its outputs
  std::string_view domain = "";

  bool has_attribute(std::string_view attribute) const;
};

// Returns the row for an op in an opset version, or null.
const OpDef* find_op(std::string_view domain, std::string_view name, int64_t version);
// Returns the rows of all op families.
std::vector<const OpDef*> all_ops();

// ---- the op families
std::span<const OpDef> math_ops();       // ops_math.cpp: elementwise, casts, comparisons, logic
std::span<const OpDef> movement_ops();   // ops_movement.cpp: shapes, constants, slices, padding
std::span<const OpDef> reduce_ops();     // ops_reduce.cpp: reductions, softmax, scans, sorting, selection
std::span<const OpDef> nn_ops();         // ops_nn.cpp: convolution, pooling, products, normalization, dropout
std::span<const OpDef> index_ops();      // ops_index.cpp: gathers and scatters
std::span<const OpDef> control_ops();    // ops_control.cpp: If, Loop, Scan, sequences, optionals
std::span<const OpDef> resize_ops();     // ops_resize.cpp: Resize, Upsample
std::span<const OpDef> sample_ops();     // ops_sample.cpp: sampling, AffineGrid, NonMaxSuppression
std::span<const OpDef> attention_ops();  // ops_attention.cpp: attention, rotary embedding
std::span<const OpDef> quantize_ops();   // ops_quantize.cpp: quantization, ops on quantized integers
std::span<const OpDef> loss_ops();       // ops_nn.cpp: loss functions
std::span<const OpDef> training_ops();   // ops_training.cpp: optimizer steps
std::span<const OpDef> recurrent_ops();  // ops_recurrent.cpp: RNN, GRU, LSTM
std::span<const OpDef> text_ops();       // ops_text.cpp: strings, LabelEncoder
std::span<const OpDef> signal_ops();     // ops_signal.cpp: windows, Fourier transforms, mel filters
std::span<const OpDef> contrib_ops();    // ops_contrib.cpp: transformer ops of com.microsoft

}  // namespace tgc
