#include "lib/target/tensor_core.h"

#include <doctest/doctest.h>

#include <set>

#include "lib/support/result.h"

namespace tgc {
namespace {

// What tinygrad 0.12.0 derives from each tensor core: str(), the shape after its opts, the permutations of A and B, base_upcast_axes().
struct Expected {
  std::span<const TensorCore> list;
  size_t index;
  std::string_view name;
  int64_t threads;
  std::string_view elements, shape, permute_a, permute_b, upcast_axes;
};
const Expected kExpected[] = {
    {tensor_cores::cuda(75), 0, "WMMA_8_16_8_half_float", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "7 8 9 3 4 5 6 1 2 0", "6 8 9 0 1 2 7 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::cuda(75), 1, "WMMA_8_16_8_half_half", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "7 8 9 3 4 5 6 1 2 0", "6 8 9 0 1 2 7 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::cuda(89), 0, "WMMA_8_16_16_half_float", 32, "8 4 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3", "6 8 9 3 4 5 10 1 2 0 7", "7 8 9 0 1 2 10 3 4 5 6", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::cuda(89), 1, "WMMA_8_16_16___bf16_float", 32, "8 4 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3", "6 8 9 3 4 5 10 1 2 0 7", "7 8 9 0 1 2 10 3 4 5 6", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::cuda(89), 2, "WMMA_8_16_16_half_half", 32, "8 4 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3", "6 8 9 3 4 5 10 1 2 0 7", "7 8 9 0 1 2 10 3 4 5 6", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::cuda(89), 3, "WMMA_8_16_8_half_float", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "7 8 9 3 4 5 6 1 2 0", "6 8 9 0 1 2 7 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::cuda(89), 4, "WMMA_8_16_8_half_half", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "7 8 9 3 4 5 6 1 2 0", "6 8 9 0 1 2 7 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::cuda(89), 5, "WMMA_8_16_8_float_float", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "6 7 8 3 4 5 9 1 2 0", "6 7 8 0 1 2 9 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::cuda(89), 6, "WMMA_8_16_32_float8_e4m3_float", 32, "16 8 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3 r4", "6 9 10 3 4 5 11 1 2 0 7 8", "8 9 10 0 1 2 11 3 4 5 6 7", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::cuda(89), 7, "WMMA_8_16_32_float8_e5m2_float", 32, "16 8 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3 r4", "6 9 10 3 4 5 11 1 2 0 7 8", "8 9 10 0 1 2 11 3 4 5 6 7", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::ptx(80), 0, "WMMA_8_16_16_half_float", 32, "8 4 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3", "6 8 9 3 4 5 10 1 2 0 7", "7 8 9 0 1 2 10 3 4 5 6", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::ptx(80), 1, "WMMA_8_16_16_half_half", 32, "8 4 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2 r3", "6 8 9 3 4 5 10 1 2 0 7", "7 8 9 0 1 2 10 3 4 5 6", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::ptx(80), 2, "WMMA_8_16_8_half_float", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "7 8 9 3 4 5 6 1 2 0", "6 8 9 0 1 2 7 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::ptx(80), 3, "WMMA_8_16_8_half_half", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "7 8 9 3 4 5 6 1 2 0", "6 8 9 0 1 2 7 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::ptx(80), 4, "WMMA_8_16_8_float_float", 32, "4 2 4", "u0 l0 l1 l2 l3 l4 u1 r0 r1 r2", "6 7 8 3 4 5 9 1 2 0", "6 7 8 0 1 2 9 3 4 5", "u1 u0 r2 r1 r0"},
    {tensor_cores::amd("gfx1100"), 0, "WMMA_16_16_16_half_float", 32, "16 16 8", "l0 l1 l2 l3 l4 u0 u1 u2 r0 r1 r2 r3", "4 5 6 7 0 9 10 11 1 2 3 8", "0 1 2 3 4 9 10 11 5 6 7 8", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx1100"), 1, "WMMA_16_16_16_half_half", 32, "16 16 8", "l0 l1 l2 l3 l4 u0 u1 u2 r0 r1 r2 r3", "4 5 6 7 0 9 10 11 1 2 3 8", "0 1 2 3 4 9 10 11 5 6 7 8", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx1100"), 2, "WMMA_16_16_16___bf16_float", 32, "16 16 8", "l0 l1 l2 l3 l4 u0 u1 u2 r0 r1 r2 r3", "4 5 6 7 0 9 10 11 1 2 3 8", "0 1 2 3 4 9 10 11 5 6 7 8", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx1201"), 0, "WMMA_16_16_16_half_float", 32, "8 8 8", "l0 l1 l2 l3 u0 u1 u2 l4 r0 r1 r2 r3", "4 5 6 7 8 9 11 10 0 1 2 3", "0 1 2 3 8 9 11 10 7 4 5 6", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx1201"), 1, "WMMA_16_16_16_half_half", 32, "8 8 8", "l0 l1 l2 l3 u0 u1 u2 l4 r0 r1 r2 r3", "4 5 6 7 8 9 11 10 0 1 2 3", "0 1 2 3 8 9 11 10 7 4 5 6", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx1201"), 2, "WMMA_16_16_16___bf16_float", 32, "8 8 8", "l0 l1 l2 l3 u0 u1 u2 l4 r0 r1 r2 r3", "4 5 6 7 8 9 11 10 0 1 2 3", "0 1 2 3 8 9 11 10 7 4 5 6", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx1201"), 3, "WMMA_16_16_16___bf16___bf16", 32, "8 8 8", "l0 l1 l2 l3 u0 u1 u2 l4 r0 r1 r2 r3", "4 5 6 7 8 9 11 10 0 1 2 3", "0 1 2 3 8 9 11 10 7 4 5 6", "u2 u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx942"), 0, "WMMA_16_16_32_float8_e5m2_float", 64, "8 8 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4", "4 5 6 7 8 9 11 12 0 1 2 3 10", "0 1 2 3 8 9 11 12 6 7 4 5 10", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx942"), 1, "WMMA_16_16_32_float8_e4m3_float", 64, "8 8 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4", "4 5 6 7 8 9 11 12 0 1 2 3 10", "0 1 2 3 8 9 11 12 6 7 4 5 10", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx942"), 2, "WMMA_16_16_16_half_float", 64, "4 4 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3", "4 5 6 7 8 9 10 11 0 1 2 3", "0 1 2 3 8 9 10 11 6 7 4 5", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx942"), 3, "WMMA_16_16_16___bf16_float", 64, "4 4 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3", "4 5 6 7 8 9 10 11 0 1 2 3", "0 1 2 3 8 9 10 11 6 7 4 5", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 0, "WMMA_16_16_128_float8_e5m2_float", 64, "32 32 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4 r5 r6", "4 5 6 7 8 9 13 14 0 1 2 3 10 11 12", "0 1 2 3 8 9 13 14 6 7 4 5 10 11 12", "u1 u0 r6 r5 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 1, "WMMA_16_16_128_float8_e4m3_float", 64, "32 32 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4 r5 r6", "4 5 6 7 8 9 13 14 0 1 2 3 10 11 12", "0 1 2 3 8 9 13 14 6 7 4 5 10 11 12", "u1 u0 r6 r5 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 2, "WMMA_16_16_32_float8_e5m2_float", 64, "8 8 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4", "4 5 6 7 8 9 11 12 0 1 2 3 10", "0 1 2 3 8 9 11 12 6 7 4 5 10", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 3, "WMMA_16_16_32_float8_e4m3_float", 64, "8 8 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4", "4 5 6 7 8 9 11 12 0 1 2 3 10", "0 1 2 3 8 9 11 12 6 7 4 5 10", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 4, "WMMA_16_16_32_half_float", 64, "8 8 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4", "4 5 6 7 8 9 11 12 0 1 2 3 10", "0 1 2 3 8 9 11 12 6 7 4 5 10", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 5, "WMMA_16_16_32___bf16_float", 64, "8 8 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3 r4", "4 5 6 7 8 9 11 12 0 1 2 3 10", "0 1 2 3 8 9 11 12 6 7 4 5 10", "u1 u0 r4 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 6, "WMMA_16_16_16_half_float", 64, "4 4 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3", "4 5 6 7 8 9 10 11 0 1 2 3", "0 1 2 3 8 9 10 11 6 7 4 5", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::amd("gfx950"), 7, "WMMA_16_16_16___bf16_float", 64, "4 4 4", "l0 l1 l2 l3 u0 u1 l4 l5 r0 r1 r2 r3", "4 5 6 7 8 9 10 11 0 1 2 3", "0 1 2 3 8 9 10 11 6 7 4 5", "u1 u0 r3 r2 r1 r0"},
    {tensor_cores::metal(), 0, "WMMA_8_8_8_float_float", 32, "2 2 2", "u0 l0 l1 l2 l3 l4 r0 r1 r2", "6 7 2 3 8 5 0 1 4", "0 1 6 7 4 8 2 3 5", "u0 r2 r1 r0"},
    {tensor_cores::metal(), 1, "WMMA_8_8_8_half_float", 32, "2 2 2", "u0 l0 l1 l2 l3 l4 r0 r1 r2", "6 7 2 3 8 5 0 1 4", "0 1 6 7 4 8 2 3 5", "u0 r2 r1 r0"},
    {tensor_cores::metal(), 2, "WMMA_8_8_8_half_half", 32, "2 2 2", "u0 l0 l1 l2 l3 l4 r0 r1 r2", "6 7 2 3 8 5 0 1 4", "0 1 6 7 4 8 2 3 5", "u0 r2 r1 r0"},
    {tensor_cores::metal(), 3, "WMMA_8_8_8___bf16_float", 32, "2 2 2", "u0 l0 l1 l2 l3 l4 r0 r1 r2", "6 7 2 3 8 5 0 1 4", "0 1 6 7 4 8 2 3 5", "u0 r2 r1 r0"},
    {tensor_cores::metal(), 4, "WMMA_8_8_8___bf16___bf16", 32, "2 2 2", "u0 l0 l1 l2 l3 l4 r0 r1 r2", "6 7 2 3 8 5 0 1 4", "0 1 6 7 4 8 2 3 5", "u0 r2 r1 r0"},
    {tensor_cores::amx(), 0, "WMMA_16_16_1_float_float", 1, "16 16 256", "u0 u1 u2 u3 u4 u5 u6 u7", "0 1 2 3 4 5 6 7", "4 5 6 7 0 1 2 3", "u7 u6 u5 u4 u3 u2 u1 u0"},
    {tensor_cores::intel(), 0, "WMMA_8_8_16_half_float", 8, "16 16 8", "l0 l1 l2 u0 u1 u2 r0 r1 r2 r3", "7 8 9 3 4 5 0 1 2 6", "0 1 2 7 8 9 3 4 5 6", "u2 u1 u0 r3 r2 r1 r0"},
};

template <class Numbers>
std::string joined(const Numbers& numbers) {
  std::string out;
  for (auto n : numbers) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}

TEST_CASE("every tensor core's derived values are tinygrad's") {
  for (const Expected& e : kExpected) {
    REQUIRE(e.index < e.list.size());
    const TensorCore& tc = e.list[e.index];
    CAPTURE(e.name);
    CHECK(tc.str() == e.name);
    CHECK(tc.threads == e.threads);
    CHECK(joined(tc.elements_per_thread) == e.elements);
    CHECK(to_text(tc.base_shape()) == e.shape);
    auto permutes = tc.permutes(tc.base_shape());
    CHECK(joined(permutes[0]) == e.permute_a);
    CHECK(joined(permutes[1]) == e.permute_b);
    CHECK(to_text(tc.base_upcast_axes()) == e.upcast_axes);
  }
}

TEST_CASE("a tensor core's opts make its warp and its output tile") {
  for (const Expected& e : kExpected) {
    const TensorCore& tc = e.list[e.index];
    int64_t locals = 1, upcasts = 1, sizes[2] = {1, 1};
    for (TcAxis a : tc_axes(tc.opts)) {
      (a.letter == 'l' ? locals : upcasts) *= 2;
      sizes[a.number] *= 2;
    }
    CAPTURE(e.name);
    CHECK(locals == tc.threads);
    CHECK(upcasts == tc.elements_per_thread[2]);
    CHECK(sizes[0] == tc.dims[0]);
    CHECK(sizes[1] == tc.dims[1]);
    for (auto& permute : tc.permutes(tc.base_shape())) {  // each axis goes somewhere else
      CHECK(permute.size() == tc.base_shape().size());
      CHECK(std::set(permute.begin(), permute.end()).size() == permute.size());
    }
  }
}

TEST_CASE("axes beside a tensor core's own stay where they are") {
  const TensorCore& tc = tensor_cores::amx()[0];
  auto shape = tc_axes("g0 u0 u1 u2 u3 u4 u5 u6 u7");
  CHECK(joined(tc.permutes(shape)[1]) == "0 5 6 7 8 1 2 3 4");
  CHECK_THROWS_AS(tensor_cores::metal()[0].permutes(tc_axes("u0 l0")), Failure);
}

TEST_CASE("which tensor cores an arch has") {
  CHECK(tensor_cores::cuda(70).empty());
  CHECK(tensor_cores::cuda(75).size() == 2);
  CHECK(tensor_cores::cuda(80).size() == 6);
  CHECK(tensor_cores::cuda(120).size() == 8);
  CHECK(tensor_cores::ptx(75).size() == 2);
  CHECK(tensor_cores::ptx(90).size() == 5);  // PTX has neither bf16 nor fp8
  CHECK(tensor_cores::amd("gfx1103").size() == 3);
}

}  // namespace
}  // namespace tgc
