// Value: an input or output of a node: a numeric tensor, a string tensor, a sequence, or none (an omitted input or an
// empty optional).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "lib/model/onnx.h"
#include "lib/model/tensor.h"

namespace tgc {

struct Strings {
  Ints shape;
  std::vector<std::string> items;
};

class Value;
using Values = std::vector<Value>;

class Value {
 public:
  enum class Kind : uint8_t { None, Tensor, Strings, Sequence };

  Value() = default;
  Value(Tensor t, onnx::Type narrow = onnx::Type::Undefined)
      : kind_(t ? Kind::Tensor : Kind::None), tensor_(t), narrow_type_(narrow) {}
  Value(Strings s) : kind_(Kind::Strings), strings_(std::make_shared<const Strings>(std::move(s))) {}
  static Value sequence(Values items) {
    Value out;
    out.kind_ = Kind::Sequence;
    out.items_ = std::make_shared<const Values>(std::move(items));
    return out;
  }

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  bool is_strings() const { return kind_ == Kind::Strings; }
  bool is_sequence() const { return kind_ == Kind::Sequence; }
  const Tensor& tensor() const { return require_kind(Kind::Tensor, "tensor"), tensor_; }
  // Returns the tensor's ONNX type if this type is narrow (onnx.h:is_narrow_type), else Undefined.
  onnx::Type narrow_type() const { return narrow_type_; }
  const Strings& strings() const { return require_kind(Kind::Strings, "tensor of strings"), *strings_; }
  const Values& items() const { return require_kind(Kind::Sequence, "sequence"), *items_; }

 private:
  void require_kind(Kind kind, const char* what) const {
    if (kind_ != kind) throw Failure(std::string("a ") + what + " is needed here");
  }

  Kind kind_ = Kind::None;
  Tensor tensor_;
  onnx::Type narrow_type_ = onnx::Type::Undefined;
  std::shared_ptr<const Strings> strings_;
  std::shared_ptr<const Values> items_;
};

}  // namespace tgc
