// Reads ONNX files (protobuf messages of onnx.proto3).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/runtime/array.h"
#include "lib/support/result.h"

namespace tgc::onnx {

class SharedBytes {
 public:
  static Result<std::shared_ptr<const SharedBytes>> map_file(const std::string& path);
  static std::shared_ptr<const SharedBytes> bytes_from_string(std::string bytes);
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  std::string_view view() const { return bytes_view_; }
  bool is_mapped() const { return file_mapping_ != nullptr; }

 private:
  SharedBytes() = default;
  std::string_view bytes_view_;
  std::string owned_bytes_;
  void* file_mapping_ = nullptr;
};

// Values of TensorProto.DataType.
enum class ElementType : int32_t {
  Undefined, Float, UInt8, Int8, UInt16, Int16, Int32, Int64, String, Bool, Float16, Double, UInt32, UInt64, Complex64,
  Complex128, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, UInt4, Int4, Float4E2M1
};
std::string name_of(ElementType type);  // returns ONNX's name, such as "FLOAT16", or "type 99" for an unknown type
// Returns the dtype in which elements are kept, a wider one for a narrow type; nullopt if there is none.
std::optional<DType> dtype_of(ElementType type);
// Returns the type that is not narrow and whose elements have this dtype, or Undefined.
ElementType type_of(DType dtype);
// Returns true for the 4-bit types and the 8-bit floats.
bool is_narrow_type(ElementType type);

struct NarrowFloat {
  int mantissa_bits, exponent_bias;  // `mantissa_bits` in bits
  double max_finite;
  // Which bit patterns are infinity or NaN. Ieee: those with the largest exponent. Nan: those whose bits except the
  // sign are all set are NaN. NegativeZeroIsNan: the bits of -0 are NaN. None: all are finite numbers.
  enum class Special : uint8_t { Ieee, Nan, NegativeZeroIsNan, None } special;
  int num_bits = 8;
};
std::optional<NarrowFloat> find_narrow_float(ElementType type);

struct TensorProto {
  std::string name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw_data = {};
  std::vector<std::string_view> floats, doubles;  // little-endian bytes, in chunks
  std::vector<int64_t> ints;                      // elements of int32_data, int64_data or uint64_data
  std::vector<std::string_view> strings;
  bool is_external = false;
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length = {};
  std::shared_ptr<const SharedBytes> file = {};         // owns what the string_views refer to
  // Throws Failure for a negative size, and for more than 2^46 elements.
  int64_t num_elements() const;
};

// A TensorProto, SequenceProto or OptionalProto.
struct ValueProto {
  enum class Kind : uint8_t { None, Tensor, Sequence } kind = Kind::None;
  TensorProto tensor;
  std::vector<ValueProto> items;
};

struct TypeProto {
  enum class Kind : uint8_t { None, Tensor, Sequence, Optional, Other } kind = Kind::None;
  ElementType element_type = ElementType::Undefined;
  struct Dim {
    std::optional<int64_t> value;  // nullopt: the size is symbolic (`name`) or unknown
    std::string name;
  };
  std::optional<std::vector<Dim>> shape = {};  // nullopt: the type allows any shape
  std::shared_ptr<TypeProto> item_type = {};   // element type of Sequence and Optional
};

struct ValueInfo {
  std::string name;
  TypeProto type;
};

struct GraphProto;

struct Attribute {
  enum class Kind : int32_t {
    Undefined, Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Tensors, Graphs, SparseTensor, SparseTensors,
    TypeProto, TypeProtos
  };
  std::string name;
  Kind kind = Kind::Undefined;
  double f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<TensorProto> t;
  std::shared_ptr<GraphProto> g;
  std::shared_ptr<tgc::onnx::TypeProto> type;
  std::string ref_attr_name;  // in a model-local function: the attribute of the calling node that has the value
};

struct NodeProto {
  std::string name, op, domain;  // `domain` is "" for "ai.onnx"
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;

  const Attribute* attribute(std::string_view name) const;
  std::string label() const;  // returns "[DOMAIN.]OP 'NAME'"; for an unnamed node, NAME is an output
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

struct FunctionProto {
  std::string name, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<NodeProto> nodes;
  std::map<std::string, int64_t> opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string producer;
  GraphProto graph;
  std::map<std::string, int64_t> opsets;
  std::vector<FunctionProto> functions;
  std::string path;
};

// Fail if the file cannot be read, or if the data are malformed or not supported.
Result<ModelProto> read_model_file(const std::string& path);
Result<ModelProto> read_model_bytes(std::shared_ptr<const SharedBytes> bytes, const std::string& path = "");
Result<ValueProto> read_value(const std::string& path, const TypeProto& type);

// Guesses from the first bytes whether `bytes` begins an ONNX model.
bool looks_like_model(std::string_view bytes);

// The elements of a tensor in row-major order. `data` may be unaligned.
struct TensorBytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner = {};
  bool is_mapped = false;
};
// Throws Failure for an unsupported type, and for data that are unreadable, outside of `folder`, or of the wrong size.
TensorBytes bytes_of_tensor(const TensorProto& tensor, const std::string& folder);

// Throws Failure as bytes_of_tensor() does.
Array array_of_tensor(const TensorProto& tensor, const std::string& folder = "");

}  // namespace tgc::onnx
