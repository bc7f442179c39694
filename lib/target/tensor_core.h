// TensorCore: a matrix multiply-accumulate instruction, D = A * B + C. A is M x K, B is K x N, C and D are
// M x N (tinygrad codegen/opt/tc.py). The dimensions are split into axes of two elements each, which have letters: 'l'
// (local) for the number of the thread, 'u' (upcast) for the elements of a thread, and 'r' for the reduced dimension K.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"

namespace tgc {

// An axis of two elements. In `opts`, `number` is the dimension that the axis splits (0: N, 1: M). Elsewhere, it is the
// index of the axis among the axes with its letter.
struct TcAxis {
  char letter;
  int number;
  friend bool operator==(TcAxis, TcAxis) = default;
};

// Convert between a list of axes and its text "l0 l1 u0".
std::vector<TcAxis> parse_tc_axes(std::string_view text);
std::string tc_axes_text(std::span<const TcAxis> axes);

struct TensorCore {
  // The axes that replace the local, the upcast and the reduce axes of one operand.
  struct Swizzle {
    std::string_view local, upcast, reduce;
  };

  std::array<int64_t, 3> dims;                 // N, M, K
  int64_t threads;
  std::array<int64_t, 3> elements_per_thread;
  DType dtype_in, dtype_out;                   // of A and B; of C and D
  std::string_view opts;                       // splits in order: "u0" makes an upcast axis of N, "l1" a local one of M
  std::array<Swizzle, 2> swizzle;

  std::string str() const;                          // such as "WMMA_8_16_16_half_float"
  int num_reduce_axes() const;                      // log2 of K
  std::vector<TcAxis> base_shape() const;           // the axes of `opts`, then the reduce axes
  std::vector<TcAxis> base_upcast_axes() const;     // the upcast, then the reduce axes, each in descending order
  // Returns, for A and for B, the index in `shape` of the axis that replaces each axis. An axis that does not belong to
  // the tensor core stays. Throws Failure if `shape` lacks a replacement axis.
  std::array<std::vector<size_t>, 2> permutes(std::span<const TcAxis> shape) const;
};

namespace tensor_cores {

std::span<const TensorCore> cuda(int arch);              // sm_<arch>
std::span<const TensorCore> ptx(int arch);  // those of cuda(arch) that the PTX renderer supports
// The tensor cores of an AMD arch; for an unknown arch, those of RDNA3.
std::span<const TensorCore> amd(std::string_view arch);
std::span<const TensorCore> metal();
std::span<const TensorCore> amx();
std::span<const TensorCore> intel();

}  // namespace tensor_cores

}  // namespace tgc
