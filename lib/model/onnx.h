// ONNX files as they are: messages of onnx.proto3, read from mapped bytes. Tensor data stay in the file until someone
// asks for them. What the ops mean is in op.h; this knows only the format.
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

// A file in memory, read-only, mapped; or bytes of our own.
class Bytes {
 public:
  static Result<std::shared_ptr<const Bytes>> map(const std::string& path);
  static std::shared_ptr<const Bytes> own(std::string bytes);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  std::string_view view() const { return view_; }
  bool is_mapped() const { return map_ != nullptr; }

 private:
  Bytes() = default;
  std::string_view view_;
  std::string own_;
  void* map_ = nullptr;
};

// TensorProto.DataType
enum class Type : int32_t {
  Undefined, Float, UInt8, Int8, UInt16, Int16, Int32, Int64, String, Bool, Float16, Double, UInt32, UInt64, Complex64,
  Complex128, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, UInt4, Int4
};
std::string name_of(Type type);              // "FLOAT16", "type 99"
std::optional<DType> dtype_of(Type type);    // nullopt for what tgc has no dtype for
Type type_of(DType dtype);

struct TensorProto {
  std::string name;
  Type type = Type::Undefined;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw = {};
  std::vector<std::string_view> floats, doubles;  // little-endian chunks
  std::vector<int64_t> ints;                      // int32_data, int64_data, uint64_data
  std::vector<std::string_view> strings;
  bool external = false;
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length = {};
  std::shared_ptr<const Bytes> file = {};         // keeps the views valid

  int64_t count() const;  // of elements; throws Failure when a size is negative or all is too large
};

// SequenceProto, OptionalProto or a TensorProto alone: what a test's input files hold.
struct ValueProto {
  enum class Kind : uint8_t { None, Tensor, Sequence } kind = Kind::None;
  TensorProto tensor;
  std::vector<ValueProto> items;
};

// TypeProto: a tensor of a type and shape, or a sequence or an option of such.
struct TypeProto {
  enum class Kind : uint8_t { None, Tensor, Sequence, Optional, Other } kind = Kind::None;
  Type elem = Type::Undefined;
  struct Dim {
    std::optional<int64_t> value;  // nullopt: unknown, or `name`
    std::string name;
  };
  std::optional<std::vector<Dim>> shape = {};  // nullopt: of any rank
  std::shared_ptr<TypeProto> of = {};          // of Sequence and Optional
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
  std::string reference;  // inside a function: the attribute of the call that gives the value
};

struct NodeProto {
  std::string name, op, domain;  // domain "" for ai.onnx
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;

  const Attribute* attribute(std::string_view name) const;
  std::string label() const;  // for messages: "Conv 'conv1'", or by its first output when it has no name
};

struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

// A model-local function.
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
  std::map<std::string, int64_t> opsets;  // version by domain
  std::vector<FunctionProto> functions;
  std::string path;                       // of the file; empty when it had none
};

// Each gives an error with the place in the file when the bytes are not what they should be.
Result<ModelProto> read_model(const std::string& path);
Result<ModelProto> read_model_bytes(std::shared_ptr<const Bytes> bytes, const std::string& path = "");
Result<TensorProto> read_tensor(const std::string& path);
Result<ValueProto> read_value(const std::string& path, const TypeProto& type);

// Whether the bytes begin as a ModelProto does.
bool looks_like_model(std::string_view bytes);

// The elements of a tensor in row-major order, wherever they are: external ones in a file of `folder` or below, never
// outside of it. A view of the file where they lie there as they are; nothing is copied,
// so they may lie at any address.
struct TensorBytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner = {};
  bool mapped = false;  // pages of a file, which the system can read again
};
TensorBytes bytes_of(const TensorProto& tensor, const std::string& folder);  // throws Failure

Array array_of(const TensorProto& tensor, const std::string& folder = "");  // a copy; throws Failure

}  // namespace tgc::onnx
