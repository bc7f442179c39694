#include "lib/model/model.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/model/conformance.h"
#include "lib/model/realize.h"
#include "lib/runtime/npz.h"
#include "lib/support/limits.h"
#include "lib/support/testing.h"

namespace tgc {
namespace {

std::string varint(uint64_t v) {
  std::string out;
  for (; v > 127; v >>= 7) out += char(v | 128);
  return out + char(v);
}
std::string number(int field, int64_t v) { return varint(uint64_t(field) << 3) + varint(uint64_t(v)); }
std::string bytes(int field, const std::string& s) { return varint(uint64_t(field) << 3 | 2) + varint(s.size()) + s; }

std::string tensor(const std::string& name, std::vector<int64_t> dims, int type, const std::string& rest) {
  std::string out = bytes(8, name) + number(2, type) + rest;
  for (int64_t d : dims) out += number(1, d);
  return out;
}
std::string floats(std::vector<float> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}
std::string node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 const std::string& attributes = "") {
  std::string out = bytes(4, op) + attributes;
  for (auto& i : inputs) out += bytes(1, i);
  for (auto& o : outputs) out += bytes(2, o);
  return bytes(1, out);
}
std::string attribute(const std::string& name, int64_t value) {
  return bytes(5, bytes(1, name) + number(3, value) + number(20, 2));
}
std::string value_info(int field, const std::string& name, const std::vector<std::string>& dims) {
  std::string shape;
  for (auto& d : dims) shape += bytes(1, std::isdigit(d[0]) ? number(1, std::stoll(d)) : bytes(2, d));
  return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape))));
}
std::string model_of(const std::string& graph) { return number(1, 8) + bytes(7, graph) + bytes(8, number(2, 17)); }

Result<OnnxModel> load(const std::string& data, const std::string& path = "") {
  auto proto = onnx::read_model_bytes(onnx::SharedBytes::bytes_from_string(data), path);
  return proto ? OnnxModel::make_from_proto(std::move(*proto)) : Result<OnnxModel>(proto.diag());
}
std::string error_of(const std::string& data) {
  auto m = load(data);
  return m ? "" : m.diag().message;
}

std::vector<float> values_of_tensor(const Tensor& t) {
  Array a = std::move(realize(std::span(&t, 1))[0]);
  REQUIRE(a.dtype() == dtypes::float32);
  return {a.as<float>().begin(), a.as<float>().end()};
}

Tensor row(Graph& g, std::vector<double> values) { return Tensor::from_values(g, values); }

TEST_CASE("tensors: dtype promotion and broadcasting follow tinygrad") {
  Graph g;
  Tensor f = row(g, {1, 2, 3}), i = Tensor::from_values(g, Ints{10, 20}).reshape({2, 1});
  CHECK((f + i).dtype() == dtypes::float32);
  CHECK((f + i).shape() == Ints{2, 3});
  CHECK((i + 1).dtype() == dtypes::int64);
  CHECK((i + 1.5).dtype() == dtypes::float32);
  CHECK((i / 2).dtype() == dtypes::float32);
  CHECK(f.lt(Const(2)).dtype() == dtypes::bool_);
  CHECK(values_of_tensor(f + i) == std::vector<float>{11, 12, 13, 21, 22, 23});
  CHECK_THROWS_AS((f + row(g, {1, 2})), Failure);
}

TEST_CASE("tensors: indexing, joining, padding, scans and sorting give known values") {
  Graph g;
  Tensor x = Tensor::arange(g, 0.0, 6.0, 1.0, dtypes::float32).reshape({2, 3});
  CHECK(values_of_tensor(x.slice_axis(1, {std::nullopt, std::nullopt, -2})) == std::vector<float>{2, 0, 5, 3});
  CHECK(values_of_tensor(x.getitem({int64_t(-1)})) == std::vector<float>{3, 4, 5});
  CHECK(values_of_tensor(x.getitem({Slice{}, Tensor::from_values(g, Ints{2, 0})})) == std::vector<float>{2, 0, 5, 3});
  CHECK(values_of_tensor(x.setitem({Tensor::from_values(g, Ints{1, 1})}, row(g, {7, 8, 9}))) ==
        std::vector<float>{0, 1, 2, 7, 8, 9});
  CHECK_THROWS_AS(x.setitem({int64_t(1)}, row(g, {7, 8, 9})), Failure);
  CHECK_THROWS_AS(x.setitem({Tensor::from_values(g, Ints{1}), int64_t(0)}, row(g, {7})), Failure);
  CHECK(values_of_tensor(x.cat({x}, 1).sum(Ints{1})) == std::vector<float>{6, 24});
  CHECK(values_of_tensor(row(g, {1, 2, 3}).pad({{2, 1}}, 0.0, "reflect")) == std::vector<float>{3, 2, 1, 2, 3, 2});
  CHECK(values_of_tensor(row(g, {1, 2, 3}).pad({{1, 1}}, 9.0)) == std::vector<float>{9, 1, 2, 3, 9});
  CHECK(values_of_tensor(x.cumsum(1)) == std::vector<float>{0, 1, 3, 3, 7, 12});
  auto [values, indices] = row(g, {3, 1, 3, 2, 5}).sort();
  CHECK(values_of_tensor(values) == std::vector<float>{1, 2, 3, 3, 5});
  CHECK(values_of_tensor(indices.cast(dtypes::float32)) == std::vector<float>{1, 3, 0, 2, 4});
  CHECK(values_of_tensor(Tensor::einsum("ij,kj->ik", {x, x})) == std::vector<float>{5, 14, 14, 50});
}

TEST_CASE("tensors: conv2d gives known values") {
  Graph g;
  Tensor x = Tensor::arange(g, 0.0, 16.0, 1.0, dtypes::float32).reshape({1, 1, 4, 4}),
         w = row(g, {1, 0, 0, 1}).reshape({1, 1, 2, 2});
  CHECK(values_of_tensor(x.conv2d(w, {}, 1, {2, 2}, {1, 1}, {0, 0, 0, 0})) == std::vector<float>{5, 9, 21, 25});
  CHECK(x.conv2d(w, {}, 1, {1, 1}, {2, 2}, {1, 1, 1, 1}).shape() == Ints{1, 1, 4, 4});
}

TEST_CASE("models: a model is read, its sizes are bound, and its graph is built") {
  std::string graph = node("Add", {"x", "w"}, {"h"}) + node("ReduceSum", {"h"}, {"y"}, attribute("keepdims", 0)) +
                      bytes(5, tensor("w", {2}, 1, bytes(9, floats({10, 20})))) + value_info(11, "x", {"batch", "2"}) +
                      value_info(12, "y", {});
  auto model = load(model_of(graph));
  REQUIRE(model.ok());
  CHECK(model->inputs({}).diag().message ==
        "the model's inputs have sizes that are not bound: batch; give them with --var NAME=SIZE");
  CHECK_FALSE(model->inputs({{"batch", 3}, {"other", 1}}).ok());
  auto inputs = model->inputs({{"batch", 3}});
  REQUIRE(inputs.ok());
  CHECK(inputs->at(0).shape == Ints{3, 2});
  Graph g;
  CHECK_FALSE(model->build_graph(g, {}).ok());
  auto outputs = model->build_graph(g, {{"x", Tensor::full(g, {3, 2}, 1.0, dtypes::float32)}});
  REQUIRE(outputs.ok());
  CHECK(values_of_tensor(outputs->values[0].tensor()) == std::vector<float>{96});
}

TEST_CASE("models: opening a model lists everything that is not supported") {
  std::string text = error_of(model_of(
      node("Frobnicate", {"x"}, {"a"}) + node("Relu", {"a"}, {"b"}, attribute("speed", 3)) +
      bytes(5, tensor("c", {1}, 14, bytes(9, "12345678"))) + value_info(11, "x", {"2"}) + value_info(12, "b", {})));
  CHECK(text.find("Frobnicate 'a' is not supported, in opset 17") != text.npos);
  CHECK(text.find("Relu 'b' has the attribute 'speed', which is not supported") != text.npos);
  CHECK(text.find("initializer 'c' is of COMPLEX64") != text.npos);
}

TEST_CASE("models: undefined values, values defined twice and wrong node order are errors") {
  auto x = value_info(11, "x", {"2"}), y = value_info(12, "y", {});
  CHECK(error_of(model_of(node("Relu", {"z"}, {"y"}) + x + y)) == "Relu 'y' needs 'z', which no node defines");
  CHECK(error_of(
            model_of(node("Add", {"x", "b"}, {"a"}) + node("Relu", {"a"}, {"b"}) + node("Relu", {"b"}, {"y"}) + x + y))
            .find("cycle") != std::string::npos);
  CHECK(error_of(model_of(node("Relu", {"x"}, {"y"}) + node("Neg", {"x"}, {"y"}) + x + y))
        .find("another node defines too") != std::string::npos);
  CHECK(error_of(model_of(node("Relu", {"x"}, {"h"}) + x + y)) == "no node defines the output 'y'");
}

TEST_CASE("models: truncated and corrupted files give errors") {
  std::string good = model_of(node("Add", {"x", "w"}, {"y"}) + bytes(5, tensor("w", {2}, 1, bytes(9, floats({1, 2})))) +
                              value_info(11, "x", {"2"}) + value_info(12, "y", {}));
  auto attempt = [](const std::string& data) {
    auto model = load(data);
    if (!model) return;
    auto inputs = model->inputs({});
    if (!inputs || inputs->size() != 1 || !inputs->at(0).shape || product(*inputs->at(0).shape) > 100) return;
    Graph g;
    (void)model->build_graph(g, {{inputs->at(0).name, Tensor::full(g, *inputs->at(0).shape, 1.0, dtypes::float32)}});
  };
  for (size_t n = 0; n < good.size(); n++) CHECK_MESSAGE(!load(good.substr(0, n)).ok(), n);
  for (size_t i = 0; i < good.size(); i++)
    for (int change : {1, 64, 128, 255}) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ change);
      attempt(bad);
    }
}

TEST_CASE("models: external data outside the model's folder are refused") {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / ("tgc_model_test_" + std::to_string(getpid()));
  fs::create_directories(folder / "model");
  std::ofstream(folder / "model" / "w.bin", std::ios::binary) << "pads" << floats({3, 4});
  std::ofstream(folder / "secret.bin", std::ios::binary) << floats({3, 4});
  fs::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  auto with = [&](const std::string& location, int64_t offset) {
    auto entry = [](const std::string& k, const std::string& v) { return bytes(13, bytes(1, k) + bytes(2, v)); };
    std::string w = tensor(
        "w", {2}, 1,
        number(14, 1) + entry("location", location) + entry("offset", std::to_string(offset)) + entry("length", "8"));
    auto model = load(model_of(node("Neg", {"w"}, {"y"}) + bytes(5, w) + value_info(12, "y", {})),
                      (folder / "model" / "m.onnx").string());
    REQUIRE(model.ok());
    Graph g;
    auto out = model->build_graph(g, {});
    if (!out) return out.diag().message;
    CHECK(values_of_tensor(out->values[0].tensor()) == std::vector<float>{-3, -4});
    return std::string("read");
  };
  CHECK(with("w.bin", 4) == "read");
  CHECK(with("../secret.bin", 0).find("outside the model's folder: refused") != std::string::npos);
  CHECK(with("link.bin", 0).find("outside the model's folder: refused") != std::string::npos);
  CHECK(with((folder / "secret.bin").string(), 0).find("not a relative path") != std::string::npos);
  CHECK(with("w.bin", 8).find("the data end at 16") != std::string::npos);
  REQUIRE(mkfifo((folder / "model" / "fifo.bin").c_str(), 0600) == 0);
  CHECK(with("fifo.bin", 0).find("not a regular file") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("models: windows that do not fit their tensor are errors") {
  auto ints = [](const std::string& name, std::vector<int64_t> values) {
    std::string out = bytes(1, name) + number(20, 7);
    for (int64_t v : values) out += number(8, v);
    return bytes(5, out);
  };
  auto trouble = [&](const std::string& op, const std::string& attributes) {
    auto model = load(model_of(node(op, {"x", "x"}, {"y"}, attributes) + value_info(11, "x", {"1", "1", "2", "2"}) +
                               value_info(12, "y", {})));
    REQUIRE(model.ok());
    Graph g;
    auto out = model->build_graph(g, {{"x", Tensor::full(g, {1, 1, 2, 2}, 1.0, dtypes::float32)}});
    return out ? "" : out.diag().message;
  };
  CHECK(trouble("MaxUnpool", ints("kernel_shape", {1, 1}) + ints("strides", {1, 1}) + ints("pads", {1, 0, 1, 0})) ==
        "MaxUnpool 'y': its output would have a size of 0");
  CHECK(trouble("MaxUnpool", ints("kernel_shape", {1, 1}) + ints("strides", {1})) ==
        "MaxUnpool 'y': its strides or pads do not fit");
  CHECK(trouble("Conv", "") == "");  // no error: the second input, of shape 1x1x2x2, serves as the weights
  CHECK(trouble("Conv", ints("strides", {0, 1})) == "Conv 'y': a window, stride or dilation that is not positive");
}

TEST_CASE("models: an unknown value that a shape depends on is named in the error") {
  std::string graph = node("Reshape", {"x", "shape"}, {"y"}) + value_info(11, "x", {"4"}) +
                      value_info(11, "shape", {"2"}) + value_info(12, "y", {});
  auto model = load(model_of(graph));
  REQUIRE(model.ok());
  Graph g;
  auto out = model->build_graph(
      g, {{"x", Tensor::buffer(g, {4}, dtypes::float32)}, {"shape", Tensor::buffer(g, {2}, dtypes::int64)}});
  REQUIRE_FALSE(out.ok());
  CHECK(out.diag().message.find("Reshape 'y'") == 0);
  CHECK(out.diag().message.find("depends on the values of the model's input 'shape'") != std::string::npos);
}

TEST_CASE("models: node count and depth of functions are limited, and name lookup is fast") {
  auto doubling = [](int n) {
    std::string functions;
    auto call = [](const std::string& op, const char* in, const char* out) {
      return bytes(7, bytes(4, op) + bytes(1, in) + bytes(2, out) + (op == "Relu" ? "" : bytes(7, "d")));
    };
    for (int k = 0; k < n; k++) {
      std::string op = k ? "F" + std::to_string(k - 1) : "Relu";
      functions += bytes(25, bytes(1, "F" + std::to_string(k)) + bytes(4, "a") + bytes(5, "b") + call(op, "a", "m") +
                         call(op, "m", "b") + bytes(9, number(2, 17)) + bytes(9, bytes(1, "d") + number(2, 1)) +
                         bytes(10, "d"));
    }
    return model_of(bytes(1, bytes(4, "F" + std::to_string(n - 1)) + bytes(1, "x") + bytes(2, "y") + bytes(7, "d")) +
                    value_info(11, "x", {"4"}) + value_info(12, "y", {"4"})) +
           bytes(8, bytes(1, "d") + number(2, 1)) + functions;
  };
  auto built = [](const std::string& data) {
    auto model = load(data);
    if (!model) return model.diag().message;
    Graph g;
    auto out = model->build_graph(g, {{"x", Tensor::buffer(g, {4}, dtypes::float32)}});
    return out ? std::string("built") : out.diag().message;
  };
  CHECK(built(doubling(5)) == "built");
  REQUIRE(set_limits("model-nodes=5000").ok());
  CHECK(built(doubling(40)).find("more than 5000 executed ONNX nodes") != std::string::npos);
  CHECK(built(doubling(100)).find("more than 64 levels of nested ONNX functions and subgraphs") != std::string::npos);
  REQUIRE(set_limits("model-nodes=1000000").ok());

  std::string unknown;
  for (int i = 0; i < 200; i++) unknown += node("Nothing" + std::to_string(i), {"x"}, {"y" + std::to_string(i)});
  std::string why = error_of(model_of(unknown + value_info(11, "x", {"4"}) + value_info(12, "y0", {"4"})));
  CHECK(why.ends_with("\n  and 150 more"));
}

TEST_CASE("models: small models of real architectures match onnxruntime") {
  for (std::string name : {"resnet50", "mobilenetv2", "bert", "gpt2", "unet"}) {
    INFO(name);
    auto model = OnnxModel::open(test_path("models/" + name + ".onnx"));
    REQUIRE_MESSAGE(model.ok(), (model ? "" : model.diag().text()));
    auto given = read_arrays(test_path("models/" + name + ".inputs.npz")),
         expected = read_arrays(test_path("models/" + name + ".expect.npz"));
    REQUIRE(given.ok());
    REQUIRE(expected.ok());
    Graph g;
    std::map<std::string, Value> inputs;
    for (auto& a : *given) inputs[a.name] = make_input_value(g, a.array);
    auto outputs = model->build_graph(g, inputs);
    REQUIRE_MESSAGE(outputs.ok(), (outputs ? "" : outputs.diag().text()));
    REQUIRE(outputs->names.size() == expected->size());
    Tensors tensors;
    for (auto& v : outputs->values) tensors.push_back(v.tensor());
    std::vector<Array> values = realize(tensors);
    for (size_t i = 0; i < values.size(); i++) {
      const Array* e = find_array(*expected, outputs->names[i]);
      REQUIRE(e);
      auto c = compare_arrays(outputs->names[i], values[i], *e, {.rtol = 1e-3, .atol = 1e-3});
      REQUIRE(c.ok());
      CHECK_MESSAGE(c->has_passed(), c->text());
    }
  }
}

TEST_CASE("models: a sample of the ONNX conformance suite passes") {
  const std::string suites = "/usr/share/libonnx-testdata/data/";
  REQUIRE_MESSAGE(std::filesystem::exists(suites),
                  "the package libonnx-testdata is missing: scripts/setup installs it");
  for (const char* name : {"node/test_add_bcast", "node/test_conv_with_strides_and_asymmetric_padding",
                           "node/test_averagepool_2d_ceil", "node/test_maxpool_2d_dilations",
                           "node/test_layer_normalization_3d_axis1_epsilon", "node/test_softmax_axis_0",
                           "node/test_gather_negative_indices", "node/test_scatternd_add",
                           "node/test_top_k_negative_axis", "node/test_loop13_seq", "node/test_scan9_sum",
                           "node/test_if_seq", "node/test_slice_neg_steps", "node/test_convtranspose_output_shape",
                           "node/test_einsum_batch_diagonal", "node/test_cumsum_1d_reverse_exclusive",
                           "node/test_cast_FLOAT_to_STRING", "node/test_nonzero_example",
                           "node/test_unique_sorted_with_axis_3d", "node/test_gemm_all_attributes",
                           "simple/test_sequence_model6", "pytorch-converted/test_Conv2d_groups",
                           "pytorch-operator/test_operator_lstm_dummy"}) {
    if (!std::filesystem::exists(suites + name)) continue;
    OnnxCaseResult r = run_onnx_case(suites + name, {});
    CHECK_MESSAGE(r.passed(), name, ": ", r.message);
  }
}

}  // namespace
}  // namespace tgc