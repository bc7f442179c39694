#pragma once
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/model/model.h"
#include "lib/model/realize.h"

namespace tgc {

inline onnx::Attribute attribute(std::string name, int64_t i) {
  return {.name = std::move(name), .kind = onnx::Attribute::Kind::Int, .i = i};
}
inline onnx::Attribute attribute(std::string name, std::string s) {
  return {.name = std::move(name), .kind = onnx::Attribute::Kind::String, .s = std::move(s)};
}

inline std::vector<double> values_of_tensor(const Value& v) {
  Array a = std::move(realize(std::span(&v.tensor(), 1))[0]);
  std::vector<double> out;
  for (int64_t i = 0; i < a.size(); i++) out.push_back(element_as_double(a, i));
  return out;
}
inline void check_near(const Value& v, const std::vector<double>& expected) {
  auto values = values_of_tensor(v);
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); i++) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}
inline Tensor row(Graph& g, std::vector<double> values, Ints shape = {-1}) {
  return Tensor::from_values(g, values).reshape(shape);
}

}  // namespace tgc
