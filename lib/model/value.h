// Value: an input or output of a node: a numeric tensor, a string tensor, a sequence, or none (an omitted input or an
// empty optional).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/model/onnx.h"
#include "lib/model/tensor.h"

namespace tgc {

struct StringTensor {
  Ints shape;
  std::vector<std::string> items;
};

class Value;
using Values = std::vector<Value>;

class Value {
 public:
  enum class Kind : uint8_t { None, Tensor, StringTensor, Sequence };

  Value() = default;
  Value(Tensor t, onnx::ElementType narrow = onnx::ElementType::Undefined)
      : kind_(t ? Kind::Tensor : Kind::None), tensor_(t), narrow_type_(narrow) {}
  Value(StringTensor s) : kind_(Kind::StringTensor), strings_(std::make_shared<const StringTensor>(std::move(s))) {}
  static Value sequence(Values items) {
    Value out;
    out.kind_ = Kind::Sequence;
    out.items_ = std::make_shared<const Values>(std::move(items));
    return out;
  }

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  bool is_strings() const { return kind_ == Kind::StringTensor; }
  bool is_sequence() const { return kind_ == Kind::Sequence; }
  const Tensor& tensor() const { return require_kind(Kind::Tensor, "tensor"), tensor_; }
  // Returns the tensor's ONNX type if this type is narrow (onnx.h:is_narrow_type), else Undefined.
  onnx::ElementType narrow_type() const { return narrow_type_; }
  const StringTensor& strings() const { return require_kind(Kind::StringTensor, "tensor of strings"), *strings_; }
  const Values& items() const { return require_kind(Kind::Sequence, "sequence"), *items_; }

 private:
  void require_kind(Kind kind, const char* what) const {
    if (kind_ != kind) throw Failure(std::string("a ") + what + " is needed here");
  }

  Kind kind_ = Kind::None;
  Tensor tensor_;
  onnx::ElementType narrow_type_ = onnx::ElementType::Undefined;
  std::shared_ptr<const StringTensor> strings_;
  std::shared_ptr<const Values> items_;
};

}  // namespace tgc
