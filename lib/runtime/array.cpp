#include "lib/runtime/array.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "lib/dtype/const.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

constexpr size_t kAlignment = 64;

template <class T>
T load_element(const Array& array, int64_t i) {
  T value;
  std::memcpy(&value, array.data() + size_t(i) * sizeof(T), sizeof(T));
  return value;
}

template <class Work>
void for_each_piece(size_t bytes, Work work) {
  constexpr size_t kPiece = 64 << 20;
  for (size_t at = 0; at < bytes; at += kPiece) {
    if (at) throw_if_late();
    work(at, std::min(kPiece, bytes - at));
  }
}

std::optional<uint64_t> read_number_from_file(const char* path) {
  std::ifstream in(path);
  uint64_t value;
  if (in >> value) return value;
  return std::nullopt;
}

}  // namespace

HostMemory::HostMemory(size_t bytes) : size_(bytes) {
  size_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  void* p = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (!p) throw Failure("not enough memory for an array of " + bytes_text(bytes));
  data_.reset(static_cast<uint8_t*>(p));
  for_each_piece(rounded, [&](size_t at, size_t size) { std::memset(data_.get() + at, 0, size); });
}

HostMemory HostMemory::allocate_shared(size_t bytes) {
  size_t mapped = std::max<size_t>(bytes, 1);
  void* p = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw Failure("not enough memory for an array of " + bytes_text(bytes));
  HostMemory out;
  out.data_ = {static_cast<uint8_t*>(p), MemoryDeleter(mapped)};
  out.size_ = bytes;
  return out;
}

void HostMemory::MemoryDeleter::operator()(uint8_t* p) const {
  if (mapped_bytes) ::munmap(p, mapped_bytes);
  else std::free(p);
}

Array::Array(DType dtype, std::vector<int64_t> shape, bool shared) : dtype_(dtype), shape_(std::move(shape)), size_(1) {
  if (!dtype.is_value() || dtype.count() != 1 || dtype.bitsize() == 0 || dtype == dtypes::index)
    throw Failure("an array cannot have the dtype " + std::string(dtype.repr()));
  for (int64_t n : shape_) {
    if (n < 0) throw Failure("an array cannot have the shape " + shape_text(shape_));
    if (__builtin_mul_overflow(size_, n, &size_))
      throw Failure("an array of shape " + shape_text(shape_) + " is too large");
  }
  int64_t bytes;
  if (__builtin_mul_overflow(size_, int64_t(dtype.itemsize()), &bytes))
    throw Failure("an array of shape " + shape_text(shape_) + " is too large");
  if (uint64_t free = available_memory_for(double(bytes)); uint64_t(bytes) > free)
    throw Failure("not enough memory for an array of " + bytes_text(uint64_t(bytes)) + " (" + bytes_text(free) +
                  " are free)");
  host_memory_ = shared ? HostMemory::allocate_shared(size_t(bytes)) : HostMemory(size_t(bytes));
}

Array Array::copy() const {
  Array out(dtype_, shape_);
  for_each_piece(nbytes(), [&](size_t at, size_t size) { std::memcpy(out.data() + at, data() + at, size); });
  return out;
}

std::string Array::describe() const { return std::string(dtype_text(dtype_)) + " " + shape_text(shape_); }

const Array* find_array(const Arrays& arrays, std::string_view name) {
  for (const NamedArray& a : arrays)
    if (a.name == name) return &a.array;
  return nullptr;
}

Arrays copy_arrays(const Arrays& arrays) {
  Arrays out;
  for (const NamedArray& a : arrays) out.push_back({a.name, a.array.copy()});
  return out;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); i++) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string_view dtype_text(DType scalar) {
  switch (scalar.scalar_kind()) {
#define X(id, long_name, ...) \
  case Scalar::id: return long_name;
    TGC_SCALARS(X)
#undef X
    case Scalar::Other: break;
  }
  return "";
}

double element_as_double(const Array& a, int64_t i) {
  switch (a.dtype().scalar_kind()) {
    case Scalar::Bool: return load_element<uint8_t>(a, i) != 0;
    case Scalar::Int8: return load_element<int8_t>(a, i);
    case Scalar::UInt8: return load_element<uint8_t>(a, i);
    case Scalar::Int16: return load_element<int16_t>(a, i);
    case Scalar::UInt16: return load_element<uint16_t>(a, i);
    case Scalar::Int32: return load_element<int32_t>(a, i);
    case Scalar::UInt32: return load_element<uint32_t>(a, i);
    case Scalar::Int64: return double(load_element<int64_t>(a, i));
    case Scalar::UInt64: return double(load_element<uint64_t>(a, i));
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return fp8_to_float(load_element<uint8_t>(a, i), a.dtype().scalar_kind());
    case Scalar::Float16: return half_bits_to_float(load_element<uint16_t>(a, i));
    case Scalar::BFloat16: return bf16_bits_to_float(load_element<uint16_t>(a, i));
    case Scalar::Float32: return load_element<float>(a, i);
    case Scalar::Float64: return load_element<double>(a, i);
    default: return 0;
  }
}

std::string element_text(const Array& a, int64_t i) {
  switch (a.dtype().scalar_kind()) {
    case Scalar::Bool: return load_element<uint8_t>(a, i) ? "True" : "False";
    case Scalar::Int64: return std::to_string(load_element<int64_t>(a, i));
    case Scalar::UInt64: return std::to_string(load_element<uint64_t>(a, i));
    default: break;
  }
  if (dtypes::is_int(a.dtype())) return std::to_string(int64_t(element_as_double(a, i)));
  char buffer[40];
  int digits = a.dtype() == dtypes::float64 ? 17 : a.dtype() == dtypes::float32 ? 9 : 6;
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, element_as_double(a, i));
  return buffer;
}

std::string index_text(std::span<const int64_t> shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    index[k] = flat % shape[k];
    flat /= shape[k];
  }
  std::string out = "[";
  for (size_t k = 0; k < index.size(); k++) out += (k ? ", " : "") + std::to_string(index[k]);
  return out + "]";
}

uint64_t available_memory_for(double bytes) {
  constexpr double kFew = 1 << 20;
  return bytes > kFew ? available_memory_bytes() : std::numeric_limits<uint64_t>::max();
}

uint64_t available_memory_bytes() {
  uint64_t available = std::numeric_limits<uint64_t>::max();
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (unsigned long long kb; std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kb) == 1) available = kb * 1024;
  auto limit = read_number_from_file("/sys/fs/cgroup/memory.max"),
       used = read_number_from_file("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, *limit > *used ? *limit - *used : 0);
  rlimit address_space;
  if (auto pages = read_number_from_file("/proc/self/statm");
      pages && getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    uint64_t taken = *pages * uint64_t(sysconf(_SC_PAGESIZE));
    available = std::min(available, address_space.rlim_cur > taken ? address_space.rlim_cur - taken : 0);
  }
  return available;
}

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) value /= 1000, unit++;
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return buffer;
}

}  // namespace tgc
