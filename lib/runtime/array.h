// Array: a dense row-major array in host memory. Its dtype is a scalar that memory can hold, which excludes void and
// index. fp8, bfloat16 and half elements are stored as their bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/support/result.h"

namespace tgc {

// Zeroed memory, aligned to at least 64 bytes. Allocation throws Failure if memory runs out, or if the deadline passes
// while a large block is zeroed.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(size_t bytes);
  static HostMemory allocate_shared(size_t bytes);
  uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct MemoryDeleter {
    size_t mapped_bytes;  // size of a mapping; 0 if the memory is from the heap
    MemoryDeleter() : mapped_bytes(0) {}
    explicit MemoryDeleter(size_t bytes) : mapped_bytes(bytes) {}
    void operator()(uint8_t* p) const;
  };
  std::unique_ptr<uint8_t[], MemoryDeleter> data_;
  size_t size_ = 0;
};

class Array {
 public:
  Array() = default;
  // Creates an array of zeros. Throws Failure if the dtype or shape is invalid, if the array is too large, or if the
  // deadline passes while a large array is zeroed.
  Array(DType dtype, std::vector<int64_t> shape) : Array(dtype, std::move(shape), false) {}
  // The array is in memory that is shared with forked child processes.
  static Array allocate_shared(DType dtype, std::vector<int64_t> shape) { return {dtype, std::move(shape), true}; }

  DType dtype() const { return dtype_; }
  std::span<const int64_t> shape() const { return shape_; }
  int64_t size() const { return size_; }
  size_t nbytes() const { return host_memory_.size(); }
  uint8_t* data() { return host_memory_.data(); }
  const uint8_t* data() const { return host_memory_.data(); }
  template <class T>
  std::span<T> as() { return {reinterpret_cast<T*>(data()), nbytes() / sizeof(T)}; }
  template <class T>
  std::span<const T> as() const { return {reinterpret_cast<const T*>(data()), nbytes() / sizeof(T)}; }

  Array copy() const;
  std::string describe() const;  // returns text such as "float32 (3, 4)"

 private:
  Array(DType dtype, std::vector<int64_t> shape, bool shared);

  DType dtype_;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  HostMemory host_memory_;
};

struct NamedArray {
  std::string name;
  Array array;
};
using Arrays = std::vector<NamedArray>;
const Array* find_array(const Arrays& arrays, std::string_view name);
Arrays copy_arrays(const Arrays& arrays);

std::string shape_text(std::span<const int64_t> shape);  // returns text such as "(3, 4)", "(3,)", "()"
std::string_view dtype_text(DType scalar);               // returns the full name, such as "bfloat16"

// Returns the element with flat index `i` as a double (64-bit integers are rounded) or as text ("True", "-3", "0.25").
double element_as_double(const Array& array, int64_t i);
std::string element_text(const Array& array, int64_t i);
// Returns "[2, 1]" for the flat index 9 in the shape (3, 4).
std::string index_text(std::span<const int64_t> shape, int64_t flat);

// Returns how many bytes this process can still allocate without swapping; the maximum of uint64_t if unknown.
uint64_t available_memory_bytes();
// Returns available_memory_bytes() if `bytes` is more than 1 MiB, else the maximum of uint64_t: to read the system's
// files would take longer than most kernels.
uint64_t available_memory_for(double bytes);
std::string bytes_text(uint64_t bytes);  // returns text such as "1.5 GB"

// The bytes of a buffer in host memory, at any alignment. `memory_owner`, if not null, keeps them alive.
struct HostData {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> memory_owner = {};
  bool is_mapped = false;  // the bytes are pages of a file, which the system can drop and read again
};

}  // namespace tgc
