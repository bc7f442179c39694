#include "lib/model/op.h"

#include <algorithm>
#include <cmath>

#include "lib/model/model.h"
#include "lib/model/realize.h"

namespace tgc {

using Kind = onnx::Attribute::Kind;

OpCall::OpCall(ModelBuilder& builder, const onnx::NodeProto& node, int64_t version, Values inputs)
    : builder_(builder), node_(node), opset_version_(version), inputs_(std::move(inputs)) {}

Graph& OpCall::graph() const { return builder_.graph(); }

const Value& OpCall::value(size_t i) const {
  if (!has_input(i)) throw Failure("input " + std::to_string(i) + " is missing");
  return inputs_[i];
}

onnx::ElementType OpCall::type(size_t i) const {
  onnx::ElementType narrow = value(i).narrow_type();
  return narrow != onnx::ElementType::Undefined ? narrow
         : value(i).is_strings()         ? onnx::ElementType::String
                                         : onnx::type_of(tensor(i).dtype());
}

Tensor OpCall::tensor(size_t i) const {
  const Value& v = value(i);
  if (!v.is_tensor())
    throw Failure("input " + std::to_string(i) + " is " + (v.is_strings() ? "a tensor of strings" : "a sequence") +
                  ", a tensor of numbers is needed");
  return v.tensor();
}

Tensors OpCall::tensors(size_t from) const {
  Tensors out;
  for (size_t i = from; i < inputs_.size(); i++) out.push_back(tensor(i));
  return out;
}

Array OpCall::array(size_t i) const {
  try {
    return builder_.evaluate_tensor(tensor(i));
  } catch (Failure& f) {
    f.diag().message =
        "the value of its input " + std::to_string(i) + " is needed to build the graph: " + f.diag().message;
    throw Failure(f.diag());
  }
}

Ints OpCall::ints(size_t i) const {
  Array a = array(i);
  if (!dtypes::is_int(a.dtype()) && !dtypes::is_bool(a.dtype()))
    throw Failure("input " + std::to_string(i) + " is of " + std::string(a.dtype().repr()) + ", integers are needed");
  Ints out;
  for (int64_t j = 0; j < a.size(); j++) {
    switch (a.dtype().scalar_kind()) {
      case Scalar::Bool: case Scalar::UInt8: out.push_back(a.as<uint8_t>()[size_t(j)]); break;
      case Scalar::Int8: out.push_back(a.as<int8_t>()[size_t(j)]); break;
      case Scalar::Int16: out.push_back(a.as<int16_t>()[size_t(j)]); break;
      case Scalar::UInt16: out.push_back(a.as<uint16_t>()[size_t(j)]); break;
      case Scalar::Int32: out.push_back(a.as<int32_t>()[size_t(j)]); break;
      case Scalar::UInt32: out.push_back(a.as<uint32_t>()[size_t(j)]); break;
      default: out.push_back(a.as<int64_t>()[size_t(j)]); break;
    }
  }
  return out;
}

std::vector<double> OpCall::numbers(size_t i) const {
  Array a = array(i);
  std::vector<double> out;
  for (int64_t j = 0; j < a.size(); j++) out.push_back(element_as_double(a, j));
  return out;
}

namespace {
template <class T>
T only_element(const std::vector<T>& values, size_t input) {
  if (values.size() == 1) return values[0];
  throw Failure("input " + std::to_string(input) + " has " + std::to_string(values.size()) +
                " elements, one is needed");
}
}  // namespace
int64_t OpCall::integer(size_t i) const { return only_element(ints(i), i); }
double OpCall::number(size_t i) const { return only_element(numbers(i), i); }

const onnx::Attribute* OpCall::op_attribute(std::string_view name, Kind kind) const {
  static constexpr std::string_view kNames[] = {
      "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
      "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  const onnx::Attribute* a = op_attribute(name);
  if (!a || a->kind == kind || a->kind == Kind::Undefined) return a;  // attributes of IR version 1 have no kind
  auto own = size_t(a->kind);
  throw Failure("attribute '" + std::string(name) + "' is " +
                (own < std::size(kNames) ? std::string(kNames[own]) : "of kind " + std::to_string(own)) + ", " +
                std::string(kNames[size_t(kind)]) + " is needed");
}

void OpCall::check_range(size_t i, int64_t low, int64_t high, std::string_view what) const {
  if (!find_available_value(tensor(i))) return;
  for (int64_t v : ints(i))
    if (v < low || v > high)
      throw Failure(std::string(what) + " " + std::to_string(v) + " is not between " + std::to_string(low) + " and " +
                    std::to_string(high));
}

int64_t OpCall::attribute_int(std::string_view name, int64_t otherwise) const {
  auto* a = op_attribute(name, Kind::Int);
  return a ? a->i : otherwise;
}
int64_t OpCall::attribute_int(std::string_view name) const {
  if (!op_attribute(name)) throw Failure("attribute '" + std::string(name) + "' is missing");
  return attribute_int(name, 0);
}
bool OpCall::attribute_flag(std::string_view name, bool otherwise) const {
  int64_t value = attribute_int(name, otherwise);
  if (value != 0 && value != 1)
    throw Failure("attribute '" + std::string(name) + "' is " + std::to_string(value) + ", expected 0 or 1");
  return value == 1;
}
double OpCall::attribute_float(std::string_view name, double otherwise) const {
  auto* a = op_attribute(name, Kind::Float);
  return a ? a->f : otherwise;
}
std::string OpCall::attribute_string(std::string_view name, std::string_view otherwise) const {
  auto* a = op_attribute(name, Kind::String);
  return std::string(a ? a->s : otherwise);
}
std::string OpCall::attribute_choice(std::string_view name, std::string_view otherwise,
                                std::initializer_list<std::string_view> choices) const {
  std::string value = attribute_string(name, otherwise), list;
  if (std::ranges::find(choices, value) != choices.end()) return value;
  for (std::string_view choice : choices)
    if (!choice.empty()) list += (list.empty() ? "" : ", ") + std::string(choice);
  throw Failure("attribute '" + std::string(name) + "' is " + (op_attribute(name) ? "'" + value + "'" : "missing") +
                ", expected one of: " + list);
}
Ints OpCall::attribute_ints(std::string_view name, const Ints& otherwise) const {
  auto* a = op_attribute(name, Kind::Ints);
  return a ? a->ints : otherwise;
}
std::optional<Ints> OpCall::attribute_ints_or_none(std::string_view name) const {
  auto* a = op_attribute(name, Kind::Ints);
  return a ? std::optional(a->ints) : std::nullopt;
}

const onnx::GraphProto& OpCall::attribute_graph(std::string_view name) const {
  if (!op_attribute(name) || !op_attribute(name)->g)
    throw Failure("attribute '" + std::string(name) + "' is not a graph");
  return *op_attribute(name)->g;
}

DType OpCall::dtype_of(int64_t type) const {
  auto d = onnx::dtype_of(onnx::ElementType(int32_t(type)));
  if (!d) throw Failure("the type " + onnx::name_of(onnx::ElementType(int32_t(type))) + " is not supported");
  return *d;
}

bool OpDef::has_attribute(std::string_view attribute) const {
  for (std::string_view rest = attributes; !rest.empty();) {
    auto end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == attribute) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<const OpDef*> all_ops() {
  std::vector<const OpDef*> out;
  for (auto family :
       {math_ops, movement_ops, reduce_ops, nn_ops, index_ops, control_ops, resize_ops, sample_ops, attention_ops,
        quantize_ops, loss_ops, training_ops, recurrent_ops, text_ops, signal_ops, contrib_ops})
    for (auto& def : family()) out.push_back(&def);
  return out;
}

const OpDef* find_op(std::string_view domain, std::string_view name, int64_t version) {
  static const auto kByName = [] {
    std::map<std::string_view, std::vector<const OpDef*>> out;
    for (auto* def : all_ops()) out[def->name].push_back(def);
    return out;
  }();
  auto found = kByName.find(name);
  if (found == kByName.end()) return nullptr;
  const OpDef* best = nullptr;
  for (auto* def : found->second)
    if (def->domain == domain && def->first_opset <= version && (!best || def->first_opset > best->first_opset))
      best = def;
  return best;
}

Tensor to_narrow_type(const Tensor& x, onnx::ElementType type, bool saturate) {
  using Special = onnx::NarrowFloat::Special;
  auto format = onnx::find_narrow_float(type);
  DType dtype = *onnx::dtype_of(type);
  if (!format) {
    Tensor low = x.cast(dtypes::int32);
    return (type == onnx::ElementType::Int4 ? (low + 8).bitwise_and(low.number(15)) - 8
                                            : low.bitwise_and(low.number(15)))
        .cast(dtype);
  }
  // `step` is the distance between neighbouring numbers of the narrow format at x, a power of two.
  Tensor wide = x.cast(dtypes::float32);
  auto bitcast = [](const Tensor& t, DType to) { return Tensor(t.graph().node(Op::BITCAST, to, t.uop())); };
  Tensor bits = bitcast(wide, dtypes::int32), exponent = bits.bitwise_and(bits.number(0x7F800000));
  Tensor step = bitcast(exponent.maximum(Const((128 - format->exponent_bias) << 23)) - (format->mantissa_bits << 23),
                        dtypes::float32);
  Tensor y = (wide / step).round() * step;
  double beyond = saturate || format->special == Special::None ? format->max_finite
                  : format->special == Special::Ieee           ? HUGE_VAL
                                                               : NAN;
  Tensor over = wide.abs().gt(Const(format->max_finite)) & (y.abs().gt(Const(format->max_finite)) | wide.isinf());
  y = over.where(wide.lt(Const(0)).where(Const(-beyond), y.full_like(beyond)), y);
  return wide.isnan().where(wide, y).cast(dtype);
}

}  // namespace tgc
