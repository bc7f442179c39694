#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "lib/dtype/const.h"
#include "lib/model/onnx.h"
#include "lib/support/open_input.h"

namespace tgc::onnx {

SharedBytes::~SharedBytes() {
  if (file_mapping_) munmap(file_mapping_, bytes_view_.size());
}

std::shared_ptr<const SharedBytes> SharedBytes::bytes_from_string(std::string bytes) {
  std::shared_ptr<SharedBytes> out(new SharedBytes);
  out->owned_bytes_ = std::move(bytes);
  out->bytes_view_ = out->owned_bytes_;
  return out;
}

Result<std::shared_ptr<const SharedBytes>> SharedBytes::map_file(const std::string& path) {
  auto trouble = [&](const char* what) {
    return Diag{.message = std::string(what) + ": " + std::strerror(errno), .file = path};
  };
  int fd = open_input_file(path);
  if (fd < 0) return trouble("cannot be opened");
  struct stat info;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) errno = EISDIR;
    auto diag = trouble("cannot be read");
    close(fd);
    return diag;
  }
  std::shared_ptr<SharedBytes> out(new SharedBytes);
  if (info.st_size > 0) {
    void* at = mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
      auto diag = trouble("cannot be mapped");
      close(fd);
      return diag;
    }
    out->file_mapping_ = at;
    out->bytes_view_ = std::string_view(static_cast<const char*>(at), size_t(info.st_size));
  }
  close(fd);
  return std::shared_ptr<const SharedBytes>(out);
}

namespace {

using Special = NarrowFloat::Special;

struct OnnxTypeInfo {
  const char* name;
  std::optional<DType> dtype = {};
  std::optional<NarrowFloat> narrow = {};
};
constexpr OnnxTypeInfo kTypes[] = {
    {"UNDEFINED"},
    {"FLOAT", dtypes::float32},
    {"UINT8", dtypes::uint8},
    {"INT8", dtypes::int8},
    {"UINT16", dtypes::uint16},
    {"INT16", dtypes::int16},
    {"INT32", dtypes::int32},
    {"INT64", dtypes::int64},
    {"STRING"},
    {"BOOL", dtypes::bool_},
    {"FLOAT16", dtypes::float16},
    {"DOUBLE", dtypes::float64},
    {"UINT32", dtypes::uint32},
    {"UINT64", dtypes::uint64},
    {"COMPLEX64"},
    {"COMPLEX128"},
    {"BFLOAT16", dtypes::bfloat16},
    {"FLOAT8E4M3FN", dtypes::float16, NarrowFloat{3, 7, 448, Special::Nan}},
    {"FLOAT8E4M3FNUZ", dtypes::float16, NarrowFloat{3, 8, 240, Special::NegativeZeroIsNan}},
    {"FLOAT8E5M2", dtypes::float16, NarrowFloat{2, 15, 57344, Special::Ieee}},
    {"FLOAT8E5M2FNUZ", dtypes::float16, NarrowFloat{2, 16, 57344, Special::NegativeZeroIsNan}},
    {"UINT4", dtypes::uint8},
    {"INT4", dtypes::int8},
    {"FLOAT4E2M1", dtypes::float16, NarrowFloat{1, 1, 6, Special::None, 4}}};

double narrow_float_value(const NarrowFloat& f, int bits) {
  int sign = bits >> (f.num_bits - 1), rest = bits & ((1 << (f.num_bits - 1)) - 1), exponent = rest >> f.mantissa_bits,
      fraction = rest & ((1 << f.mantissa_bits) - 1), most = (1 << (f.num_bits - 1 - f.mantissa_bits)) - 1;
  if (f.special == Special::NegativeZeroIsNan && sign && !rest) return NAN;
  if (f.special == Special::Nan && rest == (1 << (f.num_bits - 1)) - 1) return NAN;
  if (f.special == Special::Ieee && exponent == most) return fraction ? NAN : sign ? -HUGE_VAL : HUGE_VAL;
  double size = std::ldexp(exponent ? fraction + (1 << f.mantissa_bits) : fraction,
                           std::max(exponent, 1) - f.exponent_bias - f.mantissa_bits);
  return sign ? -size : size;
}

}  // namespace

std::string name_of(ElementType type) {
  auto i = size_t(type);
  return i < std::size(kTypes) ? kTypes[i].name : "type " + std::to_string(int(type));
}

std::optional<DType> dtype_of(ElementType type) {
  auto i = size_t(type);
  return i < std::size(kTypes) ? kTypes[i].dtype : std::nullopt;
}

bool is_narrow_type(ElementType type) { return type >= ElementType::Float8E4M3FN && type <= ElementType::Float4E2M1; }

std::optional<NarrowFloat> find_narrow_float(ElementType type) {
  return is_narrow_type(type) ? kTypes[size_t(type)].narrow : std::nullopt;
}

ElementType type_of(DType dtype) {
  for (int t = 1; t <= int(ElementType::BFloat16); t++)
    if (auto d = dtype_of(ElementType(t)); d && *d == dtype) return ElementType(t);
  return ElementType::Undefined;
}

int64_t TensorProto::num_elements() const {
  int64_t out = 1;
  for (int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(out, d, &out))
      throw Failure("tensor '" + name + "' has a size that is negative or too large");
  if (out > int64_t(1) << 46) throw Failure("tensor '" + name + "' has " + std::to_string(out) + " elements");
  return out;
}

namespace {

// Returns the path with symbolic links resolved.
std::string external_path(const TensorProto& t, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path base = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) throw Failure("the folder '" + folder + "' of the model cannot be read");
  fs::path wanted = fs::path(t.location);
  if (t.location.empty() || wanted.is_absolute())
    throw Failure("tensor '" + t.name + "': its data are in '" + t.location +
                  "', which is not a relative path in the model's folder");
  fs::path at = fs::weakly_canonical(base / wanted, error);
  auto [rest, mismatch] = std::mismatch(base.begin(), base.end(), at.begin(), at.end());
  if (error || rest != base.end())
    throw Failure("tensor '" + t.name + "': its data are in '" + t.location + "', outside the model's folder: refused");
  if (fs::exists(at, error) && !fs::is_regular_file(at, error))  // opening a FIFO would wait for a writer
    throw Failure("tensor '" + t.name + "': its data are in '" + t.location + "', which is not a regular file");
  return at.string();
}

// Maps the file, or returns this thread's earlier mapping of it if that is still in use.
std::shared_ptr<const SharedBytes> external_file(const std::string& path) {
  static thread_local std::map<std::string, std::weak_ptr<const SharedBytes>> open;
  if (auto bytes = open[path].lock()) return bytes;
  auto bytes = SharedBytes::map_file(path).value_or_throw();
  open[path] = bytes;
  return bytes;
}

template <class T, class From>
void append_converted(std::string& out, const std::vector<From>& values) {
  for (From v : values) {
    auto t = T(v);
    out.append(reinterpret_cast<const char*>(&t), sizeof t);
  }
}

bool is_four_bit_type(ElementType type) { return type >= ElementType::UInt4 && type <= ElementType::Float4E2M1; }

size_t num_stored_bytes(const TensorProto& t) {
  auto count = size_t(t.num_elements());
  if (is_four_bit_type(t.type)) return (count + 1) / 2;
  return is_narrow_type(t.type) ? count : count * size_t(dtype_of(t.type)->itemsize());
}

// A byte holds two elements of four bits: the first one in the low bits.
std::shared_ptr<std::string> widen_elements(const TensorProto& t, std::string_view packed) {
  auto out = std::make_shared<std::string>();
  auto format = find_narrow_float(t.type);
  for (int64_t i = 0; i < t.num_elements(); i++) {
    int bits =
        is_four_bit_type(t.type) ? uint8_t(packed[size_t(i / 2)]) >> 4 * (i % 2) & 15 : uint8_t(packed[size_t(i)]);
    if (format) append_converted<uint16_t>(*out, std::vector{float_to_half_bits(narrow_float_value(*format, bits))});
    else *out += char(t.type == ElementType::Int4 && bits > 7 ? bits - 16 : bits);
  }
  return out;
}

// int32_data also has the bits of floats of at most 16 bits.
std::string typed_field_bytes(const TensorProto& t, DType dtype) {
  std::string out;
  for (auto chunk : t.floats) out += chunk;
  for (auto chunk : t.doubles) out += chunk;
  if (!out.empty() || t.ints.empty()) return out;
  switch (is_narrow_type(t.type) ? 1 : dtype.itemsize()) {
    case 1: append_converted<uint8_t>(out, t.ints); break;
    case 2: append_converted<uint16_t>(out, t.ints); break;
    case 4: append_converted<uint32_t>(out, t.ints); break;
    default: append_converted<uint64_t>(out, t.ints); break;
  }
  return out;
}

}  // namespace

TensorBytes bytes_of_tensor(const TensorProto& t, const std::string& folder) {
  auto dtype = dtype_of(t.type);
  if (!dtype) throw Failure("tensor '" + t.name + "' is of " + name_of(t.type) + ", which is not supported");
  size_t wanted = num_stored_bytes(t);
  std::string_view view;
  std::shared_ptr<const void> owner = t.file;
  bool mapped = t.file && t.file->is_mapped();
  if (t.is_external) {
    auto file = external_file(external_path(t, folder));
    auto size = int64_t(file->view().size()), length = t.length.value_or(int64_t(wanted));
    if (t.offset > size || length > size - t.offset) {
      throw Failure("tensor '" + t.name + "': '" + t.location + "' has " + std::to_string(size) +
                    " bytes, the data end at " + std::to_string(t.offset + length));
    }
    view = file->view().substr(size_t(t.offset), size_t(length));
    owner = file;
    mapped = true;
  } else if (t.raw_data) {
    view = *t.raw_data;
  } else {
    auto own = std::make_shared<std::string>(typed_field_bytes(t, *dtype));
    view = *own;
    owner = own;
    mapped = false;
  }
  if (view.size() != wanted)
    throw Failure("tensor '" + t.name + "' has " + std::to_string(view.size()) + " bytes of data, its shape needs " +
                  std::to_string(wanted));
  if (is_narrow_type(t.type)) {
    auto wide = widen_elements(t, view);
    view = *wide;
    owner = wide;
    mapped = false;
  }
  return {reinterpret_cast<const uint8_t*>(view.data()), view.size(), owner, mapped};
}

Array array_of_tensor(const TensorProto& t, const std::string& folder) {
  TensorBytes bytes = bytes_of_tensor(t, folder);
  Array out(*dtype_of(t.type), t.dims);
  std::memcpy(out.data(), bytes.data, bytes.size);
  return out;
}

}  // namespace tgc::onnx
