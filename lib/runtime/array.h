// Array: a dense host array in row-major order, what kernels read and write and what npz files hold. Its dtype is a
// scalar with a size (bool, ints, floats); fp8, bfloat16 and half are kept as their bits.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/support/result.h"

namespace tgc {

// Zeroed memory aligned to 64 bytes, freed with its owner. Throws Failure, naming the size, when there is not enough.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(size_t bytes);
  // Memory that a process forked from here shares: what it writes there is here.
  static HostMemory shared(size_t bytes);
  uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    size_t mapped;  // bytes of a mapping; 0: it is from the heap
    Free() : mapped(0) {}
    explicit Free(size_t bytes) : mapped(bytes) {}
    void operator()(uint8_t* p) const;
  };
  std::unique_ptr<uint8_t[], Free> data_;
  size_t size_ = 0;
};

class Array {
 public:
  Array() = default;
  // Zeros. Throws Failure when a size is negative, the whole does not fit memory, or the dtype has no size.
  Array(DType dtype, std::vector<int64_t> shape) : Array(dtype, std::move(shape), false) {}
  // The same in memory that a process forked from here shares.
  static Array shared(DType dtype, std::vector<int64_t> shape) { return {dtype, std::move(shape), true}; }

  DType dtype() const { return dtype_; }
  std::span<const int64_t> shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  size_t nbytes() const { return memory_.size(); }
  uint8_t* data() { return memory_.data(); }
  const uint8_t* data() const { return memory_.data(); }
  template <class T>
  std::span<T> as() { return {reinterpret_cast<T*>(data()), nbytes() / sizeof(T)}; }
  template <class T>
  std::span<const T> as() const { return {reinterpret_cast<const T*>(data()), nbytes() / sizeof(T)}; }

  Array copy() const;
  std::string describe() const;  // "float32 (3, 4)"

 private:
  Array(DType dtype, std::vector<int64_t> shape, bool shared);

  DType dtype_;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  HostMemory memory_;
};

// Arrays by name, in order; a file of them, or a kernel's.
struct NamedArray {
  std::string name;
  Array array;
};
using Arrays = std::vector<NamedArray>;
const Array* find_array(const Arrays& arrays, std::string_view name);
Arrays copy_of(const Arrays& arrays);

std::string shape_text(std::span<const int64_t> shape);  // "(3, 4)", "(3,)", "()"
std::string_view dtype_text(DType scalar);               // numpy's name where it has one: "float32", "bfloat16"

// The element at flat index `i`, as the file formats and messages print it.
double element_as_double(const Array& array, int64_t i);
std::string element_text(const Array& array, int64_t i);
// "[2, 5]" for the flat index 13 of shape (3, 4, ...).
std::string index_text(std::span<const int64_t> shape, int64_t flat);

// Bytes that a process can still take without swapping, as the kernel and the control group tell;
// a huge number when nobody tells.
uint64_t available_memory();
// The same for whoever takes that many bytes: of a few a huge number, since to ask costs more than most kernels.
uint64_t memory_for(double bytes);
std::string bytes_text(uint64_t bytes);  // "1.5 GB"

}  // namespace tgc
