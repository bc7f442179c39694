#include "lib/runtime/npz.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace tgc {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

// The header's dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
struct NpyHeader {
  std::string descr;
  bool is_fortran_order = false;
  std::vector<int64_t> shape;
};

class NpyHeaderReader {
 public:
  explicit NpyHeaderReader(std::string_view text) : text_(text) {}

  NpyHeader parse_header() {
    NpyHeader h;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = string();
      expect(':');
      if (key == "descr") h.descr = string(), descr = true;
      else if (key == "fortran_order") h.is_fortran_order = parse_boolean(), order = true;
      else if (key == "shape") h.shape = parse_shape(), shape = true;
      else throw Failure("the header has an unknown key '" + key + "'");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) throw Failure("the header lacks 'descr', 'fortran_order' or 'shape'");
    skip_spaces();
    if (position_ != text_.size()) throw Failure("the header has text after its dict");
    return h;
  }

 private:
  void skip_spaces() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      position_++;
  }
  bool accept(char c) {
    skip_spaces();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    position_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      throw Failure("the header is malformed at byte " + std::to_string(position_) + ", expected '" +
                    std::string(1, c) + "'");
  }
  std::string string() {
    skip_spaces();
    char quote = position_ < text_.size() ? text_[position_] : 0;
    if (quote == '[') throw Failure("a structured dtype is not supported");
    if (quote != '\'' && quote != '"')
      throw Failure("the header is malformed at byte " + std::to_string(position_) + ", expected a string");
    size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) throw Failure("the header has a string without an end");
    std::string out(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return out;
  }
  bool parse_boolean() {
    skip_spaces();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) return position_ += word.size(), value;
    }
    throw Failure("'fortran_order' is neither True nor False");
  }
  std::vector<int64_t> parse_shape() {
    std::vector<int64_t> out;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      int64_t n = 0;
      auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), n);
      if (error != std::errc() || n < 0) throw Failure("'shape' is not a tuple of sizes");
      position_ = size_t(end - text_.data());
      out.push_back(n);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string_view text_;
  size_t position_ = 0;
};

// Sets `swap` to whether the byte order of a descr such as "<f4" differs from this computer's. Throws Failure for an
// unsupported dtype.
DType dtype_of_descr(const std::string& descr, bool& swap) {
  static constexpr std::pair<std::string_view, Scalar> kKinds[] = {
      {"b1", Scalar::Bool},   {"i1", Scalar::Int8},    {"u1", Scalar::UInt8},   {"i2", Scalar::Int16},
      {"u2", Scalar::UInt16}, {"i4", Scalar::Int32},   {"u4", Scalar::UInt32},  {"i8", Scalar::Int64},
      {"u8", Scalar::UInt64}, {"f2", Scalar::Float16}, {"f4", Scalar::Float32}, {"f8", Scalar::Float64},
      {"V1", Scalar::UInt8},  {"V2", Scalar::UInt16},
  };
  bool little = std::endian::native == std::endian::little;
  std::string_view rest = descr;
  char order = rest.empty() ? '?' : rest[0];
  if (std::string_view("<>|=").find(order) != std::string_view::npos) rest.remove_prefix(1);
  swap = order == (little ? '>' : '<');
  for (auto [name, scalar] : kKinds)
    if (name == rest) return dtypes::of(scalar);
  throw Failure("the dtype '" + descr + "' is not supported");
}

std::string descr_of(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::BFloat16: return "|V2";
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return "|V1";
    default: break;
  }
  char kind = dtype == dtypes::bool_ ? 'b' : dtypes::is_float(dtype) ? 'f' : dtypes::is_unsigned(dtype) ? 'u' : 'i';
  char order = dtype.itemsize() == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  return std::string{order, kind} + std::to_string(dtype.itemsize());
}

void swap_bytes(Array& array) {
  size_t item = size_t(array.dtype().itemsize());
  for (size_t at = 0; at < array.nbytes(); at += item) std::reverse(array.data() + at, array.data() + at + item);
}

Array from_fortran_order(const Array& in) {
  Array out(in.dtype(), {in.shape().begin(), in.shape().end()});
  size_t item = size_t(in.dtype().itemsize());
  std::vector<int64_t> index(in.shape().size(), 0);
  for (int64_t flat = 0; flat < in.size(); flat++) {
    int64_t at = 0, stride = 1;
    for (size_t k = 0; k < index.size(); k++) at += index[k] * stride, stride *= in.shape()[k];
    std::memcpy(out.data() + size_t(flat) * item, in.data() + size_t(at) * item, item);
    for (size_t k = index.size(); k-- > 0;) {
      if (++index[k] < in.shape()[k]) break;
      index[k] = 0;
    }
  }
  return out;
}

Array parse_npy(std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 10) throw Failure("not an npy file");
  int version = uint8_t(text[6]);
  if (version < 1 || version > 3)
    throw Failure("npy version " + std::to_string(version) + " is not supported");
  size_t start = version == 1 ? 10 : 12, length = 0;
  if (text.size() < start) throw Failure("it ends in its header");
  for (size_t i = start; i-- > 8;) length = length << 8 | uint8_t(text[i]);
  if (length > text.size() - start) throw Failure("it ends in its header");
  NpyHeader header = NpyHeaderReader(text.substr(start, length)).parse_header();
  bool swap = false;
  DType dtype = dtype_of_descr(header.descr, swap);
  // checks the size before allocating
  uint64_t have = text.size() - start - length, need = uint64_t(dtype.itemsize());
  for (int64_t n : header.shape)
    if (__builtin_mul_overflow(need, uint64_t(n), &need))
      throw Failure("its shape " + shape_text(header.shape) + " is too large");
  if (need != have)
    throw Failure("its shape " + shape_text(header.shape) + " of " + std::string(dtype_text(dtype)) + " needs " +
                  std::to_string(need) + " bytes of data, but there are " + std::to_string(have));
  Array array(dtype, header.shape);
  if (have) std::memcpy(array.data(), bytes.data() + start + length, have);
  if (swap) swap_bytes(array);
  if (dtype == dtypes::bool_)
    for (uint8_t& b : array.as<uint8_t>()) b = b != 0;
  return header.is_fortran_order && header.shape.size() > 1 ? from_fortran_order(array) : std::move(array);
}

}  // namespace

Result<Array> read_npy(std::span<const uint8_t> bytes, std::string_view name) {
  auto result = catch_failures([&] { return parse_npy(bytes); });
  if (!result) result.diag().message = std::string(name) + ": " + result.diag().message;
  return result;
}

std::string npy_header(const Array& array) {
  std::string dict = "{'descr': '" + descr_of(array.dtype()) +
                     "', 'fortran_order': False, 'shape': " + shape_text(array.shape()) + ", }";
  size_t unpadded = 10 + dict.size() + 1;
  dict.append((64 - unpadded % 64) % 64, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', char(dict.size() & 255), char(dict.size() >> 8)};
  return out + dict;
}

std::string npy_file_bytes(const Array& array) {
  return npy_header(array) + std::string(reinterpret_cast<const char*>(array.data()), array.nbytes());
}

Result<Array> reinterpret_raw_bits(Array array, DType dtype, std::string_view name) {
  if (array.dtype() == dtype) return array;
  bool raw = dtype == dtypes::bfloat16 || dtypes::fp8s.contains(dtype);
  if (!raw || !dtypes::is_unsigned(array.dtype()) || array.dtype().itemsize() != dtype.itemsize())
    return Diag{.message = std::string(name) + " has dtype " + std::string(dtype_text(array.dtype())),
                .expected = std::string(dtype_text(dtype)) +
                            (raw ? ", as its bits (uint" + std::to_string(dtype.itemsize() * 8) + ")" : "")};
  return catch_failures([&] {
    Array out(dtype, {array.shape().begin(), array.shape().end()});
    std::memcpy(out.data(), array.data(), array.nbytes());
    return out;
  });
}

}  // namespace tgc
