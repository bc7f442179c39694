#include <doctest/doctest.h>

#include <cmath>

#include "lib/model/testing.h"

namespace tgc {
namespace {

onnx::Attribute attribute(std::string name, std::vector<std::string> strings) {
  return {.name = std::move(name), .kind = onnx::Attribute::Kind::Strings, .strings = std::move(strings)};
}

Values run(Graph& g, std::string op, Values inputs, std::vector<onnx::Attribute> attributes = {},
           std::string domain = "") {
  onnx::ModelProto model;
  ModelBuilder builder(g, model, "");
  onnx::NodeProto node{.op = op, .domain = domain, .attributes = std::move(attributes)};
  const OpDef* def = find_op(domain, op, 30);
  REQUIRE(def);
  for (auto& a : node.attributes) REQUIRE(def->has_attribute(a.name));
  OpCall call(builder, node, 30, std::move(inputs));
  return def->run(call);
}

}  // namespace

TEST_CASE("com.microsoft: SkipLayerNormalization gives the normalized sum and the sum") {
  Graph g;
  Values out =
      run(g, "SkipLayerNormalization",
          {row(g, {1, 2}, {1, 1, 2}), row(g, {3, 6}, {1, 1, 2}), row(g, {2, 1}), row(g, {0, 1})}, {}, "com.microsoft");
  REQUIRE(out.size() == 4);
  check_near(out[0], {-2, 2});
  check_near(out[3], {4, 8});
}

TEST_CASE("com.microsoft: Attention with zero queries averages the values; unidirectional, only the preceding ones") {
  Graph g;
  // the weights make all queries and keys 0, and the values equal to x
  Tensor x = row(g, {1, 3}, {1, 2, 1}), weights = row(g, {0, 0, 1}, {1, 3}),
         lengths = Tensor::from_values(g, Ints{1}, dtypes::int32);
  check_near(run(g, "Attention", {x, weights}, {attribute("num_heads", 1)}, "com.microsoft")[0], {2, 2});
  check_near(run(g, "Attention", {x, weights}, {attribute("num_heads", 1), attribute("unidirectional", 1)},
                 "com.microsoft")[0],
             {1, 2});
  check_near(run(g, "Attention", {x, weights, Value(), lengths}, {attribute("num_heads", 1)}, "com.microsoft")[0],
             {1, 1});
}

TEST_CASE("com.microsoft: EmbedLayerNormalization reads rows of its tables") {
  Graph g;
  Values out =
      run(g, "EmbedLayerNormalization",
          {Tensor::from_values(g, Ints{1, 0}, dtypes::int32).reshape({1, 2}), Value(), row(g, {0, 2, 4, 10}, {2, 2}),
           row(g, {1, 1, 2, 2}, {2, 2}), Value(), row(g, {1, 1}), row(g, {0, 0})},
          {}, "com.microsoft");
  check_near(out[2], {5, 11, 2, 4});
  check_near(out[0], {-1, 1, -1, 1});
}

TEST_CASE("RNN: a sequence that has ended keeps its state and outputs 0; reverse starts at the sequence's end") {
  Graph g;
  Tensor x = row(g, {1, 2, 3}, {3, 1, 1}), w = row(g, {1}, {1, 1, 1}), r = row(g, {0.5}, {1, 1, 1}),
         lengths = Tensor::from_values(g, Ints{2}, dtypes::int32);
  auto forward =
      run(g, "RNN", {x, w, r, Value(), lengths}, {attribute("activations", std::vector<std::string>{"Affine"})});
  check_near(forward[0], {1, 2.5, 0});
  check_near(forward[1], {2.5});
  auto reverse = run(g, "RNN", {x, w, r, Value(), lengths},
                     {attribute("activations", std::vector<std::string>{"Affine"}), attribute("direction", "reverse")});
  check_near(reverse[0], {2, 2, 0});
  check_near(reverse[1], {2});
  CHECK_THROWS_AS(run(g, "RNN", {x, w, r}, {attribute("activations", std::vector<std::string>{"Sine"})}), Failure);
  // a bidirectional layer needs weights for two directions
  CHECK_THROWS_AS(run(g, "RNN", {x, w, r}, {attribute("direction", "bidirectional")}), Failure);
}

TEST_CASE("Resize: linear mode interpolates between element centers; unknown modes are refused") {
  Graph g;
  Values in{row(g, {1, 2}, {1, 1, 2}), Value(), row(g, {1, 1, 2})};
  check_near(run(g, "Resize", in, {attribute("mode", "linear")})[0], {1, 1.25, 1.75, 2});
  check_near(run(g, "Resize", in,
                 {attribute("mode", "linear"), attribute("coordinate_transformation_mode", "align_corners")})[0],
             {1, 4.0 / 3, 5.0 / 3, 2});
  check_near(run(g, "Resize", in, {attribute("mode", "nearest")})[0], {1, 1, 2, 2});
  CHECK_THROWS_AS(run(g, "Resize", in, {attribute("mode", "wavy")}), Failure);
  CHECK_THROWS_AS(run(g, "Resize", in, {attribute("coordinate_transformation_mode", "elsewhere")}), Failure);
  CHECK_THROWS_AS(run(g, "Resize", {in[0], Value(), row(g, {2})}), Failure);
  for (float scale : {1e30f, -1.f, NAN, INFINITY})  // scales that give no valid number of elements
    CHECK_THROWS_AS(run(g, "Resize", {in[0], Value(), row(g, {1, 1, scale})}), Failure);
}

TEST_CASE("quantization: values are quantized per axis, clamped, and dequantized") {
  Graph g;
  Tensor x = row(g, {1, 2, 300, -8}, {2, 2}), scale = row(g, {0.5, 4}),
         zero = Tensor::from_values(g, Ints{0, 1}, dtypes::int8);
  Values q = run(g, "QuantizeLinear", {x, scale, zero}, {attribute("axis", 0)});
  check_near(q[0], {2, 4, 76, -1});
  check_near(run(g, "QuantizeLinear", {x, row(g, {0.5}, {}), Tensor::constant(g, 0, dtypes::int8)})[0],
             {2, 4, 127, -16});
  check_near(run(g, "DequantizeLinear", {q[0], scale, zero}, {attribute("axis", 0)})[0], {1, 2, 300, -8});
}

TEST_CASE("NonMaxSuppression keeps the best of overlapping boxes") {
  Graph g;
  Tensor boxes = row(g, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 5, 1, 6}, {1, 3, 4}),
         scores = row(g, {0.5, 0.9, 0.4}, {1, 1, 3});
  Tensor most = Tensor::constant(g, 3, dtypes::int64), iou = row(g, {0.5}, {}), least = row(g, {0.45}, {});
  check_near(run(g, "NonMaxSuppression", {boxes, scores, most, iou})[0], {0, 0, 1, 0, 0, 2});
  check_near(run(g, "NonMaxSuppression", {boxes, scores, most, iou, least})[0], {0, 0, 1});
}

TEST_CASE("DFT: a constant signal has only frequency 0, and the inverse restores it") {
  Graph g;
  Tensor x = row(g, {1, 1, 1, 1}, {1, 4, 1});
  Tensor f = run(g, "DFT", {x})[0].tensor();
  auto values = values_of_tensor(f);
  CHECK(values[0] == doctest::Approx(4));
  for (size_t i = 1; i < values.size(); i++) CHECK(std::abs(values[i]) < 1e-5);
  auto back = values_of_tensor(run(g, "DFT", {f}, {attribute("inverse", 1)})[0]);
  for (size_t i = 0; i < 4; i++) CHECK(back[2 * i] == doctest::Approx(1));
}

TEST_CASE("StringNormalizer drops stopwords and changes case; an empty result is one empty string") {
  Graph g;
  StringTensor days{{3}, {"Monday", "tuesday", "Friday"}};
  auto lower =
      run(g, "StringNormalizer", {days},
          {attribute("case_change_action", "LOWER"), attribute("stopwords", std::vector<std::string>{"monday"})})[0]
          .strings();
  CHECK(lower.items == std::vector<std::string>{"tuesday", "friday"});
  auto exact = run(g, "StringNormalizer", {days},
                   {attribute("is_case_sensitive", 1), attribute("stopwords", std::vector<std::string>{"monday"})})[0]
                   .strings();
  CHECK(exact.items == days.items);
  auto none = run(g, "StringNormalizer", {StringTensor{{1}, {"Monday"}}},
                  {attribute("stopwords", std::vector<std::string>{"monday"})})[0]
                  .strings();
  CHECK(none.items == std::vector<std::string>{""});
  CHECK_THROWS_AS(run(g, "StringNormalizer", {StringTensor{{2, 1}, {"a", "b"}}}), Failure);
}

}  // namespace tgc
