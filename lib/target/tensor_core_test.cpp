#include "lib/target/tensor_core.h"

#include <doctest/doctest.h>

#include <set>

#include "lib/support/result.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

// A line of testdata/expect/tensor_cores.txt: what tinygrad 0.12.0 derives from a tensor core.
struct Expected {
  const TensorCore* core;
  std::string name, threads, elements, shape, permute_a, permute_b, upcast_axes;
};

std::span<const TensorCore> cores_of(const std::string& renderer, const std::string& arch) {
  if (renderer == "cuda") return tensor_cores::cuda(std::stoi(arch));
  if (renderer == "ptx") return tensor_cores::ptx(std::stoi(arch));
  if (renderer == "amd") return tensor_cores::amd(arch);
  return renderer == "metal" ? tensor_cores::metal() : renderer == "amx" ? tensor_cores::amx() : tensor_cores::intel();
}

std::vector<Expected> expected_cores() {
  std::vector<Expected> out;
  for (const std::string& line : read_test_lines("expect/tensor_cores.txt")) {
    std::vector<std::string> f(1);
    for (size_t i = 0; i < line.size(); i++) {
      if (line.compare(i, 3, " | ") == 0) f.emplace_back(), i += 2;
      else f.back() += line[i];
    }
    REQUIRE(f.size() == 8);
    auto whose = words_of(f[0]);  // such as "amd gfx942 0" or "metal 0"
    auto cores = cores_of(whose[0], whose[1]);
    size_t index = std::stoul(whose.back());
    REQUIRE(index < cores.size());
    out.push_back({&cores[index], f[1], f[2], f[3], f[4], f[5], f[6], f[7]});
  }
  REQUIRE(out.size() == 41);
  return out;
}

template <class Numbers>
std::string joined(const Numbers& numbers) {
  std::string out;
  for (auto n : numbers) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}

TEST_CASE("tensor cores: derived values equal tinygrad's") {
  for (const Expected& e : expected_cores()) {
    const TensorCore& tc = *e.core;
    CAPTURE(e.name);
    CHECK(tc.str() == e.name);
    CHECK(std::to_string(tc.threads) == e.threads);
    CHECK(joined(tc.elements_per_thread) == e.elements);
    CHECK(tc_axes_text(tc.base_shape()) == e.shape);
    auto permutes = tc.permutes(tc.base_shape());
    CHECK(joined(permutes[0]) == e.permute_a);
    CHECK(joined(permutes[1]) == e.permute_b);
    CHECK(tc_axes_text(tc.base_upcast_axes()) == e.upcast_axes);
  }
}

TEST_CASE("tensor cores: opts produce the warp size and the output tile") {
  for (const Expected& e : expected_cores()) {
    const TensorCore& tc = *e.core;
    int64_t locals = 1, upcasts = 1, sizes[2] = {1, 1};
    for (TcAxis a : parse_tc_axes(tc.opts)) {
      (a.letter == 'l' ? locals : upcasts) *= 2;
      sizes[a.number] *= 2;
    }
    CAPTURE(e.name);
    CHECK(locals == tc.threads);
    CHECK(upcasts == tc.elements_per_thread[2]);
    CHECK(sizes[0] == tc.dims[0]);
    CHECK(sizes[1] == tc.dims[1]);
    for (auto& permute : tc.permutes(tc.base_shape())) {
      CHECK(permute.size() == tc.base_shape().size());
      CHECK(std::set(permute.begin(), permute.end()).size() == permute.size());
    }
  }
}

TEST_CASE("tensor cores: axes that are not the tensor core's keep their index") {
  const TensorCore& tc = tensor_cores::amx()[0];
  auto shape = parse_tc_axes("g0 u0 u1 u2 u3 u4 u5 u6 u7");
  CHECK(joined(tc.permutes(shape)[1]) == "0 5 6 7 8 1 2 3 4");
  CHECK_THROWS_AS(tensor_cores::metal()[0].permutes(parse_tc_axes("u0 l0")), Failure);
}

TEST_CASE("tensor cores: each arch has tinygrad's") {
  CHECK(tensor_cores::cuda(70).empty());
  CHECK(tensor_cores::cuda(75).size() == 2);
  CHECK(tensor_cores::cuda(80).size() == 6);
  CHECK(tensor_cores::cuda(120).size() == 8);
  CHECK(tensor_cores::ptx(75).size() == 2);
  CHECK(tensor_cores::ptx(90).size() == 5);  // none for bf16 and fp8
  CHECK(tensor_cores::amd("gfx1103").size() == 3);
}

}  // namespace
}  // namespace tgc
