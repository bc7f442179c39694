// Tests of ops that tinygrad's frontend lacks, or in which it differs from the ONNX specification
// (testdata/known_gaps.md).
#include <doctest/doctest.h>

#include <cmath>

#include "lib/model/conformance.h"
#include "lib/model/testing.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

using onnx::ElementType;

Value run(Graph& g, const std::string& op, const Values& inputs, std::vector<onnx::Attribute> attributes = {}) {
  onnx::ModelProto model{.ir_version = 10, .opsets = {{"", 23}}};
  onnx::NodeProto node{.op = op, .outputs = {"y"}, .attributes = std::move(attributes)};
  for (size_t i = 0; i < inputs.size(); i++) node.inputs.push_back(inputs[i].is_none() ? "" : "x" + std::to_string(i));
  for (size_t i = 0; i < inputs.size(); i++) model.graph.inputs.push_back({"x" + std::to_string(i), {}});
  model.graph.nodes.push_back(node);
  model.graph.outputs.push_back({"y", {}});
  OnnxModel opened = std::move(OnnxModel::make_from_proto(model).value_or_throw());
  std::map<std::string, Value> named;
  for (size_t i = 0; i < inputs.size(); i++) named["x" + std::to_string(i)] = inputs[i];
  return opened.build_graph(g, named).value_or_throw().values[0];
}

Value narrow(Graph& g, ElementType type, const Ints& shape, const std::string& bytes) {
  onnx::ModelProto model;
  onnx::TensorProto t{.name = "w", .type = type, .dims = shape, .raw_data = bytes};
  return ModelBuilder(g, model, "").value_of(t);
}

}  // namespace

TEST_CASE("spec: a causal Attention lets query i use the keys of the cache and the keys up to i") {
  Graph g;
  Tensor q = row(g, {0, 0, 0}, {1, 1, 3, 1}), k = row(g, {0, 0, 0, 0}, {1, 1, 4, 1}),
         v = row(g, {1, 3, 5, 9}, {1, 1, 4, 1});
  check_near(run(g, "Attention", {q, k, v}, {attribute("is_causal", 1)}), {1, 2, 3});
  Tensor past = row(g, {0}, {1, 1, 1, 1}), past_value = row(g, {7}, {1, 1, 1, 1});
  check_near(run(g, "Attention", {q, k, v, Value(), past, past_value}, {attribute("is_causal", 1)}), {4, 11.0 / 3, 4});
  // the result is 0 for a query that may use no key
  Tensor none = Tensor::from_values(g, Ints{0, 0, 0, 0}, dtypes::bool_).reshape({1, 4});
  check_near(run(g, "Attention", {row(g, {0}, {1, 1, 1, 1}), k, v, none}), {0});
}

TEST_CASE("spec: QuantizeLinear rounds exact quotients, ties to even, to every type") {
  Graph g;
  Tensor half = row(g, {0.5, 1.5, 2.5, -0.5, 300});
  Tensor one = row(g, {1}, {});
  check_near(run(g, "QuantizeLinear", {half, one}), {0, 2, 2, 0, 255});
  check_near(run(g, "QuantizeLinear",
                 {row(g, {1.55, 2.35}), row(g, {0.1, 0.1}), Tensor::from_values(g, Ints{0, 1}, dtypes::int8)},
                 {attribute("axis", 0)}),
             {15, 24});  // with reciprocals, the quotients would be 15.5 and 23.5
  Value four =
      run(g, "QuantizeLinear", {row(g, {-9, -1, 7, 30}), one}, {attribute("output_dtype", int64_t(ElementType::Int4))});
  CHECK(four.narrow_type() == ElementType::Int4);
  check_near(four, {-8, -1, 7, 7});
  // blocks of two elements along axis 0, which has three: the last block is not complete
  Tensor blocks = row(g, {1, 2, 4, 8}, {2, 2});
  check_near(
      run(g, "DequantizeLinear", {Tensor::from_values(g, Ints{1, 1, 1, 1, 1, 1}, dtypes::int8).reshape({3, 2}), blocks},
          {attribute("axis", 0), attribute("block_size", 2)}),
      {1, 2, 1, 2, 4, 8});
  CHECK_THROWS_AS(run(g, "QuantizeLinear", {half, row(g, {1, 2})}, {attribute("axis", 0)}), Failure);
}

TEST_CASE("spec: tensors of four bits and of small floats are read, converted and written") {
  Graph g;
  check_near(narrow(g, ElementType::Int4, {3}, "\x8F\x07"), {-1, -8, 7});
  check_near(narrow(g, ElementType::UInt4, {3}, "\x8F\x07"), {15, 8, 7});
  check_near(narrow(g, ElementType::Float8E4M3FN, {4}, "\x38\xFE\x01\x08"), {1, -448, 0x1p-9, 0x1p-6});
  check_near(narrow(g, ElementType::Float8E5M2, {3}, "\x3C\xFB\x01"), {1, -57344, 0x1p-16});
  check_near(narrow(g, ElementType::Float8E4M3FNUZ, {2}, "\x40\x7F"), {1, 240});
  check_near(narrow(g, ElementType::Float4E2M1, {4}, "\x21\xF7"), {0.5, 1, 6, -6});
  CHECK(std::isnan(values_of_tensor(narrow(g, ElementType::Float8E5M2FNUZ, {1}, "\x80"))[0]));
  auto cast = [&](std::vector<double> values, ElementType to, int64_t saturate = 1) {
    return run(g, "Cast", {row(g, values)}, {attribute("to", int64_t(to)), attribute("saturate", saturate)});
  };
  check_near(cast({17, 18.1, 1e9, -500, 0x1p-10, 0x1.8p-9}, ElementType::Float8E4M3FN), {16, 18, 448, -448, 0, 0x1p-8});
  CHECK(std::isnan(values_of_tensor(cast({500}, ElementType::Float8E4M3FN, 0))[0]));
  CHECK(values_of_tensor(cast({1e9}, ElementType::Float8E5M2, 0))[0] == HUGE_VAL);
  check_near(cast({9.7, -9, 3}, ElementType::Int4), {-7, 7, 3});
  Value turned = run(g, "Reshape", {narrow(g, ElementType::Int4, {2}, "\x2F"), Tensor::from_values(g, Ints{2, 1})});
  CHECK(turned.narrow_type() == ElementType::Int4);
  check_near(run(g, "DequantizeLinear", {turned, row(g, {0.5}, {})}), {-0.5, 1});
  CHECK_THROWS_WITH_AS(run(g, "Add", {turned, turned}), "Add 'y': input 0 is of INT4, which is not supported", Failure);
}

TEST_CASE("spec: what Loop and Scan stack keeps its type of four bits") {
  Graph g;
  auto with_body = [](const onnx::GraphProto& body) {
    return onnx::Attribute{
        .name = "body", .kind = onnx::Attribute::Kind::Graph, .g = std::make_shared<onnx::GraphProto>(body)};
  };
  const Value x = narrow(g, ElementType::Int4, {3}, "\x8F\x07");
  onnx::GraphProto scan_body{.nodes = {{.op = "Identity", .inputs = {"in"}, .outputs = {"out"}}},
                             .inputs = {{"in", {}}}, .outputs = {{"out", {}}}};
  Value scanned = run(g, "Scan", {x}, {with_body(scan_body), attribute("num_scan_inputs", 1)});
  CHECK(scanned.narrow_type() == ElementType::Int4);
  check_near(scanned, {-1, -8, 7});
  onnx::GraphProto loop_body{
      .nodes = {{.op = "Identity", .inputs = {"w"}, .outputs = {"out"}}},
      .initializers = {{.name = "w", .type = ElementType::Int4, .dims = {1}, .raw_data = "\x05"}},
      .inputs = {{"i", {}}, {"condition", {}}},
      .outputs = {{"condition", {}}, {"out", {}}}};
  Value looped = run(g, "Loop", {Tensor::constant(g, 2, dtypes::int64), Tensor::constant(g, true, dtypes::bool_)},
                     {with_body(loop_body)});
  CHECK(looped.narrow_type() == ElementType::Int4);
  check_near(looped, {5, 5});
}

TEST_CASE("spec: Resize with antialias averages the elements that a smaller result covers") {
  Graph g;
  Tensor x = row(g, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 8});
  check_near(
      run(g, "Resize", {x, Value(), row(g, {1, 1, 0.5})}, {attribute("mode", "linear"), attribute("antialias", 1)}),
      {1.625, 3.5, 5.5, 7.375});
  CHECK_THROWS_AS(run(g, "Resize", {x, Value(), row(g, {1, 1, 0.5})}, {attribute("antialias", 1)}), Failure);
  check_near(run(g, "Resize",
                 {Tensor::from_values(g, Ints{0, 5}, dtypes::uint8).reshape({1, 1, 2}), Value(), row(g, {1, 1, 2})},
                 {attribute("mode", "linear")}),
             {0, 1, 4, 5});
}

TEST_CASE("spec: Pad wraps and reflects more than once") {
  Graph g;
  Tensor x = row(g, {1, 2, 3}), pads = Tensor::from_values(g, Ints{4, 7});
  check_near(run(g, "Pad", {x, pads}, {attribute("mode", "wrap")}), {3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1});
  check_near(run(g, "Pad", {x, pads}, {attribute("mode", "reflect")}), {1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2});
}

TEST_CASE("spec: Col2Im adds blocks, RotaryEmbedding turns pairs, GridSample reads volumes") {
  Graph g;
  check_near(
      run(g, "Col2Im",
          {row(g, {1, 2, 3, 4}, {1, 2, 2}), Tensor::from_values(g, Ints{1, 3}), Tensor::from_values(g, Ints{1, 2})}),
      {1, 5, 4});
  CHECK_THROWS_AS(
      run(g, "Col2Im",
          {row(g, {1, 2}, {1, 2, 1}), Tensor::from_values(g, Ints{1, 3}), Tensor::from_values(g, Ints{1, 2})}),
      Failure);
  Tensor cos = row(g, {0, 1}, {1, 1, 2}), sin = row(g, {1, 0}, {1, 1, 2}), x = row(g, {1, 2, 3, 4}, {1, 1, 1, 4});
  check_near(run(g, "RotaryEmbedding", {x, cos, sin}), {-3, 2, 1, 4});
  check_near(run(g, "RotaryEmbedding", {x, cos, sin}, {attribute("interleaved", 1)}), {-2, 1, 3, 4});
  CHECK_THROWS_AS(run(g, "RotaryEmbedding", {x, cos, sin}, {attribute("rotary_embedding_dim", 2)}), Failure);
  Tensor volume = row(g, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 2, 2, 2});
  check_near(
      run(g, "GridSample", {volume, row(g, {1, -1, -1, 0, 0, 0}, {1, 1, 1, 2, 3})}, {attribute("align_corners", 1)}),
      {1, 3.5});
}

TEST_CASE("spec: thousands of ScatterND updates make small kernels; the last of equal indices wins") {
  Graph g;
  Ints at;
  std::vector<double> updates;
  for (int64_t i = 0; i < 5000; i++) at.push_back(i % 3), updates.push_back(double(i));
  Tensor x = row(g, {-1, -2, -3, -4}), indices = Tensor::from_values(g, at).reshape({-1, 1});
  Value last = run(g, "ScatterND", {x, indices, row(g, updates)});
  CHECK(toposort(last.tensor().uop()).size() < 200);
  check_near(last, {4998, 4999, 4997, -4});
  check_near(run(g, "ScatterND", {x, indices, row(g, updates)}, {attribute("reduction", "max")}),
             {4998, 4999, 4997, -4});
  check_near(run(g, "ScatterND", {x, Tensor::from_values(g, Ints{3, 3, 0}).reshape({3, 1}), row(g, {2, 3, 5})},
                 {attribute("reduction", "mul")}),
             {-5, -2, -3, -24});
  CHECK_THROWS_AS(run(g, "ScatterND", {x, indices, row(g, updates)}, {attribute("reduction", "mean")}), Failure);
}

TEST_CASE("spec: LabelEncoder maps keys to values, others to the default") {
  Graph g;
  onnx::ModelProto model;
  ModelBuilder builder(g, model, "");
  auto encode = [&](Value in, std::vector<onnx::Attribute> attributes) {
    onnx::NodeProto node{.op = "LabelEncoder", .domain = "ai.onnx.ml", .attributes = std::move(attributes)};
    OpCall call(builder, node, 2, {std::move(in)});
    return find_op("ai.onnx.ml", "LabelEncoder", 2)->run(call)[0];
  };
  using Kind = onnx::Attribute::Kind;
  onnx::Attribute keys{.name = "keys_strings", .kind = Kind::Strings, .strings = {"a", "b", "a"}},
      values{.name = "values_int64s", .kind = Kind::Ints, .ints = {1, 2, 3}},
      numbers{.name = "keys_floats", .kind = Kind::Floats, .floats = {0.5, NAN, 2}},
      texts{.name = "values_strings", .kind = Kind::Strings, .strings = {"x", "y", "z"}};
  check_near(encode(StringTensor{{3}, {"b", "a", "c"}}, {keys, values}), {2, 3, -1});
  check_near(encode(row(g, {2, 0.5, 7, NAN}), {numbers, values, attribute("default_int64", 9)}), {3, 1, 9, 2});
  CHECK(encode(row(g, {2, 7}), {numbers, texts}).strings().items == std::vector<std::string>{"z", "_Unused"});
  CHECK_THROWS_AS(encode(row(g, {2}), {keys, values}), Failure);
}

TEST_CASE("spec: attributes of another kind, missing attributes and unknown names are errors") {
  Graph g;
  Tensor x = row(g, {1, 2, 3, 4}, {1, 1, 2, 2});
  auto message = [&](const std::string& op, std::vector<onnx::Attribute> attributes) -> std::string {
    try {
      run(g, op, {x, x}, std::move(attributes));
    } catch (Failure& f) { return f.diag().message; }
    return "";
  };
  onnx::Attribute wrong{.name = "axis", .kind = onnx::Attribute::Kind::Float, .f = 1};
  CHECK(message("Concat", {wrong}) == "Concat 'y': attribute 'axis' is FLOAT, INT is needed");
  CHECK(message("Concat", {}) == "Concat 'y': attribute 'axis' is missing");
  CHECK(message("Concat", {attribute("axis", 9)}) != "");
  CHECK(message("Mod", {attribute("fmod", 2)}) == "Mod 'y': attribute 'fmod' is 2, expected 0 or 1");
  CHECK(message("MaxPool", {}) == "MaxPool 'y': attribute 'kernel_shape' is missing");
  CHECK(message("DepthToSpace", {attribute("blocksize", 1), attribute("mode", "RDC")}) ==
        "DepthToSpace 'y': attribute 'mode' is 'RDC', expected one of: DCR, CRD");
  CHECK(message("Conv", {attribute("auto_pad", "SAME")}) ==
        "Conv 'y': attribute 'auto_pad' is 'SAME', expected one of: NOTSET, SAME_UPPER, SAME_LOWER, VALID");
}

TEST_CASE("spec: indices out of range and axes named twice are errors") {
  Graph g;
  Tensor x = row(g, {1, 2, 3, 4}, {2, 2});
  auto at = [&](Ints values, Ints shape) { return Tensor::from_values(g, values).reshape(shape); };
  CHECK_THROWS_WITH_AS(run(g, "GatherElements", {x, at({2, 0}, {1, 2})}),
                       "GatherElements 'y': index 2 is not between -2 and 1", Failure);
  CHECK_THROWS_AS(run(g, "GatherND", {x, at({0, 5}, {1, 2})}), Failure);
  CHECK_THROWS_AS(run(g, "ScatterND", {x, at({-3}, {1, 1}), row(g, {1, 2}, {1, 2})}), Failure);
  CHECK_THROWS_AS(run(g, "Unsqueeze", {x, at({0, 0}, {2})}), Failure);
  CHECK_THROWS_AS(run(g, "ReduceSum", {x, at({0, -2}, {2})}), Failure);
  CHECK_THROWS_AS(run(g, "NegativeLogLikelihoodLoss", {x, at({0, 2}, {2})}), Failure);
}

TEST_CASE("spec: BitShift by more bits than the type has gives 0") {
  Graph g;
  const Tensor x = Tensor::from_values(g, Ints{1, 3, 255, 7, 200, 1}, dtypes::uint8),
               y = Tensor::from_values(g, Ints{0, 1, 128, 200, 7, 255}, dtypes::uint8);
  check_near(run(g, "BitShift", {x, y}, {attribute("direction", "LEFT")}), {1, 6, 0, 0, 0, 0});
  check_near(run(g, "BitShift", {x, y}, {attribute("direction", "RIGHT")}), {1, 1, 0, 0, 1, 0});
}

TEST_CASE("spec: ArgMin of unsigned integers, strings, one-sided inverse DFT") {
  Graph g;
  check_near(run(g, "ArgMin", {Tensor::from_values(g, Ints{7, 0, 255}, dtypes::uint8)}), {1});
  StringTensor words{{2, 1}, {"a b", " c"}};
  CHECK(run(g, "StringConcat", {words, StringTensor{{2}, {"x", ""}}}).strings().items ==
        std::vector<std::string>{"a bx", "a b", " cx", " c"});
  CHECK(run(g, "StringSplit", {words}).strings().items == std::vector<std::string>{"a", "b", "c", ""});
  CHECK(run(g, "StringSplit", {words}, {attribute("delimiter", "b")}).strings().items ==
        std::vector<std::string>{"a ", "", " c", ""});
  Value back =
      run(g, "DFT", {row(g, {10, 0, -2, 2, -2, 0}, {1, 3, 2})}, {attribute("inverse", 1), attribute("onesided", 1)});
  check_near(back, {1, 2, 3, 4});
}

TEST_CASE("spec: large and infinite numbers do not overflow in between") {
  Graph g;
  const double inf = HUGE_VAL;
  check_near(run(g, "ReduceLogSumExp", {row(g, {1000, 1000, -1000})}), {1000 + std::log(2)});
  check_near(run(g, "ReduceLogSumExp", {row(g, {-1000, -1000})}, {attribute("keepdims", 0)}), {-1000 + std::log(2)});
  CHECK(values_of_tensor(run(g, "ReduceLogSumExp", {row(g, {-inf, -inf})}))[0] == -inf);
  CHECK(values_of_tensor(run(g, "ReduceLogSumExp", {row(g, {inf, 1})}))[0] == inf);
  check_near(run(g, "Asinh", {row(g, {-1e4, 1e4, -1e30, 0.5})}),
             {std::asinh(-1e4), std::asinh(1e4), std::asinh(-1e30), std::asinh(0.5)});
  check_near(run(g, "Acosh", {row(g, {1e30, 2})}), {std::acosh(1e30), std::acosh(2)});
  check_near(run(g, "Atan", {row(g, {-1e30, 1})}), {std::atan(-1e30), std::atan(1)});
  CHECK(values_of_tensor(run(g, "HardSwish", {row(g, {inf, 3})})) == std::vector<double>{inf, 3});
  Tensor halves = row(g, {40000, 40000}).cast(dtypes::float16);
  check_near(run(g, "ReduceLogSum", {halves}), {11.289062});  // log(80000), although 80000 overflows float16
  check_near(run(g, "Softplus", {row(g, {1000, 0, -1000})}), {1000, std::log(2), 0});
}

TEST_CASE("spec: LRN sums the squares of floor((size - 1) / 2) channels before and ceil((size - 1) / 2) after") {
  Graph g;
  Tensor x = row(g, {1, 2, 3, 4}, {1, 4, 1, 1});
  auto lrn = [&](int64_t size) {
    return run(g, "LRN", {x},
               {attribute("size", size),
                {.name = "alpha", .kind = onnx::Attribute::Kind::Float, .f = 1},
                {.name = "beta", .kind = onnx::Attribute::Kind::Float, .f = 1}});
  };
  check_near(lrn(2), {1 / (1 + 5 / 2.), 2 / (1 + 13 / 2.), 3 / (1 + 25 / 2.), 4 / (1 + 16 / 2.)});
  check_near(lrn(3), {1 / (1 + 5 / 3.), 2 / (1 + 14 / 3.), 3 / (1 + 29 / 3.), 4 / (1 + 25 / 3.)});
  check_near(lrn(4), {1 / (1 + 14 / 4.), 2 / (1 + 30 / 4.), 3 / (1 + 29 / 4.), 4 / (1 + 25 / 4.)});
}

TEST_CASE("spec: a backward Slice that starts before the first element has this element") {
  Graph g;
  auto one = [&](int64_t i) { return Tensor::from_values(g, Ints{i}); };
  auto sliced = [&](int64_t start, int64_t end, int64_t step) {
    return values_of_tensor(run(g, "Slice", {row(g, {1, 2, 3}), one(start), one(end), one(0), one(step)}));
  };
  CHECK(sliced(-9, INT64_MIN, -1) == std::vector<double>{1});
  CHECK(sliced(INT64_MAX, INT64_MIN, -1) == std::vector<double>{3, 2, 1});
  CHECK(sliced(-9, INT64_MAX, 2) == std::vector<double>{1, 3});
  CHECK(sliced(1, -9, -1) == std::vector<double>{2, 1});
}

TEST_CASE("spec: quantized products divide the scales first; a scale and zero point per row or channel") {
  Graph g;
  auto ints = [&](Ints values, Ints shape, DType dtype) {
    return Tensor::from_values(g, values, dtype).reshape(shape);
  };
  auto scale = [&](std::vector<double> values, Ints shape = {}) {
    return row(g, std::move(values), std::move(shape)).cast(dtypes::float32);
  };
  const DType u8 = dtypes::uint8;
  Tensor one = ints({1}, {1, 1}, u8), zero = ints({0}, {}, u8);
  // In float32, 35 * (0.1 * 0.3 / 0.1) is 10.5, which is rounded to 10 (ties to even); 35 * (0.1 * 0.3) / 0.1 is
  // larger.
  check_near(run(g, "QLinearMatMul",
                 {ints({35}, {1, 1}, u8), scale({0.1}), zero, one, scale({0.3}), zero, scale({0.1}), zero}),
             {10});
  Tensor a = ints({4, 9}, {2, 1}, u8);
  check_near(
      run(g, "QLinearMatMul", {a, scale({1, 2}, {2}), ints({0, 1}, {2}, u8), one, scale({1}), zero, scale({1}), zero}),
      {4, 16});
  Tensor image = ints({1, 2, 3}, {1, 1, 3}, u8), weights = ints({3, 5}, {2, 1, 1}, u8);
  check_near(run(g, "QLinearConv",
                 {image, scale({1}), zero, weights, scale({1, 2}, {2}), ints({1, 0}, {2}, u8), scale({1}), zero}),
             {2, 4, 6, 10, 20, 30});
  Value all_zero = run(g, "DynamicQuantizeLinear", {row(g, {0, 0})});
  check_near(all_zero, {0, 0});
}

TEST_CASE("spec: a recurrent layer's alphas belong to the activations that have one, in their order") {
  Graph g;
  auto tensor = [&](double v, Ints shape) { return row(g, {v}, std::move(shape)); };
  onnx::Attribute names{
      .name = "activations", .kind = onnx::Attribute::Kind::Strings, .strings = {"Relu", "LeakyRelu"}},
      alphas{.name = "activation_alpha", .kind = onnx::Attribute::Kind::Floats, .floats = {0.5}};
  Tensor x = tensor(-2, {1, 1, 1}), w = row(g, {1, 1}, {2, 1, 1}), r = row(g, {0, 0}, {2, 1, 1});
  check_near(run(g, "RNN", {x, w, r}, {attribute("direction", "bidirectional"), names, alphas}), {0, -1});
}

TEST_CASE("spec: RegexFullMatch matches whole texts by characters; a pattern that only RE2 has is an error") {
  Graph g;
  auto matches = [&](const std::string& pattern) {
    return values_of_tensor(
        run(g, "RegexFullMatch", {StringTensor{{3}, {"ab1", "\u00e9", ""}}}, {attribute("pattern", pattern)}));
  };
  CHECK(matches(".") == std::vector<double>{0, 1, 0});
  CHECK(matches("\\w+\\d") == std::vector<double>{1, 0, 0});
  CHECK(matches("(?:a|b|1)*") == std::vector<double>{1, 0, 1});
  CHECK(matches("(a*)*b1") == std::vector<double>{1, 0, 0});
  for (const char* pattern : {"(?i)ab1", "\\pL", "(a)\\1", "(", "[]a]"}) CHECK_THROWS_AS(matches(pattern), Failure);
}

TEST_CASE("spec: Resize keeps the aspect ratio, rounds sizes halfway up, and makes no elements of less than a half") {
  Graph g;
  auto resized = [&](Ints from, Ints sizes, const std::string& policy) {
    return run(g, "Resize",
               {row(g, std::vector<double>(size_t(product(from)), 1), from), Value(), Value(),
                Tensor::from_values(g, sizes)},
               {attribute("keep_aspect_ratio_policy", policy)})
        .tensor()
        .shape();
  };
  CHECK(resized({4, 6}, {8, 9}, "not_larger") == Ints{6, 9});
  CHECK(resized({4, 6}, {8, 9}, "not_smaller") == Ints{8, 12});
  CHECK(resized({5, 2}, {5, 1}, "not_larger") == Ints{3, 1});
  CHECK(resized({3, 7}, {7, 1}, "not_larger") == Ints{0, 1});
}

TEST_CASE("spec: MaxRoiPool takes maxima of overlapping bins of regions with inclusive corners") {
  Graph g;
  std::vector<double> pixels;
  for (int i = 0; i < 12; i++) pixels.push_back(i);
  onnx::Attribute shape{.name = "pooled_shape", .kind = onnx::Attribute::Kind::Ints, .ints = {2, 1}};
  check_near(run(g, "MaxRoiPool", {row(g, pixels, {1, 1, 3, 4}), row(g, {0, 1, 0, 2, 2}, {1, 5})}, {shape}), {6, 10});
}

}  // namespace tgc
