// TensorCore: one matrix multiply-accumulate instruction of a target, D = A * B + C with A of M x K, B of K x N, C and
// D of M x N (tinygrad codegen/opt/tc.py). All its axes have two elements; their letters are 'l' local,
// 'u' upcast and 'r' reduce.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dtype/dtype.h"

namespace tgc {

// An axis of two elements. In `opts` the number is a dimension (0: N, 1: M),
// elsewhere it counts the axes of its letter.
struct TcAxis {
  char letter;
  int number;
  friend bool operator==(TcAxis, TcAxis) = default;
};

// Lists of axes are texts: "l0 l1 u0".
std::vector<TcAxis> tc_axes(std::string_view text);
std::string to_text(std::span<const TcAxis> axes);

struct TensorCore {
  // What the local, the upcast and the reduce axes become, in this order, for one operand.
  struct Swizzle {
    std::string_view local, upcast, reduce;
  };

  std::array<int64_t, 3> dims;                 // N, M, K
  int64_t threads;                             // that construct the warp
  std::array<int64_t, 3> elements_per_thread;  // of A, B and C
  DType dtype_in, dtype_out;                   // of A and B; of C and D
  std::string_view opts;                       // in order: "u0" upcasts dimension 0, "l1" makes dimension 1 local
  std::array<Swizzle, 2> swizzle;              // of A and of B

  std::string str() const;                          // "WMMA_8_16_16_half_float"
  int num_reduce_axes() const;                      // log2 of K
  std::vector<TcAxis> base_shape() const;           // the axes in the order that opts, then the unrolls, make them
  std::vector<TcAxis> base_upcast_axes() const;     // the axes an operand's elements lie along, innermost first
  // For each operand: the place in `shape` of what each axis of `shape` becomes. Throws Failure when it is not there.
  std::array<std::vector<size_t>, 2> permutes(std::span<const TcAxis> shape) const;
};

namespace tensor_cores {

std::span<const TensorCore> cuda(int arch);              // of sm_<arch>
std::span<const TensorCore> ptx(int arch);               // those of them that the PTX renderer has
std::span<const TensorCore> amd(std::string_view arch);  // of "gfx942"; an arch that is not listed has RDNA3's
std::span<const TensorCore> metal();
std::span<const TensorCore> amx();
std::span<const TensorCore> intel();

}  // namespace tensor_cores

}  // namespace tgc
