#include "lib/model/weights.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/runtime/npz.h"

namespace tgc {
namespace {

std::string safetensors(const std::string& header, const std::string& data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, size_t begin,
                  size_t end) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}
std::string floats(std::vector<float> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

std::string error_of(const std::string& file) {
  auto read = read_safetensors(onnx::SharedBytes::bytes_from_string(file), "w.safetensors");
  return read ? "" : read.diag().text();
}

onnx::ModelProto model() {
  onnx::ModelProto out;
  out.graph.initializers.push_back({.name = "w", .type = onnx::ElementType::Float, .dims = {2}});
  onnx::TypeProto type{.kind = onnx::TypeProto::Kind::Tensor, .element_type = onnx::ElementType::Float};
  type.shape = {{2, ""}, {std::nullopt, "n"}};
  out.graph.inputs.push_back({"x", type});
  return out;
}

TEST_CASE("weights: a safetensors header may list tensors in any order") {
  std::string header = R"({"__metadata__":{"format":"pt"},)" + entry("b", "I64", "[]", 8, 16) + "," +
                       entry("a", "F32", "[2,1]", 0, 8) + "," + entry("none", "F16", "[0]", 16, 16) + "}  ";
  int64_t seven = 7;
  auto read = read_safetensors(onnx::SharedBytes::bytes_from_string(
      safetensors(header, floats({1.5, -2}) + std::string(reinterpret_cast<char*>(&seven), 8))));
  REQUIRE(read.ok());
  REQUIRE(read->size() == 3);
  CHECK((*read)[0].name == "a");
  CHECK((*read)[0].dims == std::vector<int64_t>{2, 1});
  CHECK(onnx::array_of_tensor((*read)[0]).as<float>()[1] == -2);
  CHECK(onnx::array_of_tensor((*read)[1]).as<int64_t>()[0] == 7);
  CHECK((*read)[2].type == onnx::ElementType::Float16);
}

TEST_CASE("weights: an invalid safetensors file gives an error that says what is wrong") {
  std::string one = "{" + entry("a", "F32", "[2]", 0, 8) + "}", data = floats({1, 2});
  REQUIRE(error_of(safetensors(one, data)).empty());
  auto says = [](const std::string& file, const std::string& words) {
    std::string text = error_of(file);
    CAPTURE(words);
    CHECK(text.find("w.safetensors: ") == 0);
    CHECK(text.find(words) != text.npos);
  };
  says("", "ends inside the length of its header");
  says(std::string("\x40\0\0\0\0\0\0\0{}", 10), "its header should have 64 bytes, the file has 2 more");
  says(std::string(8, '\xff') + "{}", "its header should have 18446744073709551615 bytes");
  says(safetensors("[1]", ""), "not a JSON object");
  says(safetensors(R"({"a":)", ""), "not a JSON object");
  says(safetensors(std::string(5000, '['), ""), "not a JSON object");
  says(safetensors("{" + entry("a", "F32", "[2]", 0, 8) + "," + entry("a", "F32", "[2]", 0, 8) + "}", data),
       "has 'a' twice");
  says(safetensors(R"({"a":{"dtype":"F32","shape":[2]}})", data), "tensor 'a': it has no data_offsets");
  says(safetensors(R"({"a":3})", data), "tensor 'a': it has no dtype");
  says(safetensors("{" + entry("a", "F8_E4M3", "[8]", 0, 8) + "}", data),
       "tensor 'a': the dtype F8_E4M3 is not supported");
  says(safetensors("{" + entry("a", "F32", "[3]", 0, 8) + "}", data), "tensor 'a': it has 8 bytes, its shape needs 12");
  says(safetensors("{" + entry("a", "F32", "[-1]", 0, 8) + "}", data), "its shape has an element that is not a size");
  says(safetensors("{" + entry("a", "F32", "[4294967296,4294967296]", 0, 8) + "}", data), "too large");
  says(safetensors("{" + entry("a", "F32", "[4]", 0, 16) + "}", data), "its data end at 16, the file has 8");
  says(safetensors("{" + entry("a", "F32", "[2]", 8, 0) + "}", data), "not [begin, end]");
  says(safetensors("{" + entry("a", "F32", "[1]", 0, 4) + "," + entry("b", "F32", "[2]", 0, 8) + "}", data),
       "tensor 'b' begins at 0, inside the one before it");
  says(safetensors("{" + entry("a", "F32", "[1]", 4, 8) + "}", data), "no tensor has the bytes from 0");
  says(safetensors("{" + entry("a", "F32", "[1]", 0, 4) + "}", data), "4 bytes after its last tensor");
  for (size_t n = 0; n < safetensors(one, data).size(); n++)
    CHECK(!error_of(safetensors(one, data).substr(0, n)).empty());
}

TEST_CASE("weights: weights replace initializers or give inputs values; others are refused by name") {
  auto tensor = [](const std::string& name, onnx::ElementType type, std::vector<int64_t> dims) {
    return onnx::TensorProto{.name = name, .type = type, .dims = std::move(dims)};
  };
  onnx::ModelProto m = model();
  REQUIRE(
      set_model_weights(m, {tensor("x", onnx::ElementType::Float, {2, 5}), tensor("w", onnx::ElementType::Float, {2})})
          .ok());
  CHECK(m.graph.initializers.size() == 2);
  m = model();
  auto refused = set_model_weights(
      m, {tensor("w", onnx::ElementType::Float, {3}), tensor("y", onnx::ElementType::Float, {2}),
          tensor("x", onnx::ElementType::Float, {3, 5}), tensor("x", onnx::ElementType::Int64, {2, 5})});
  REQUIRE(!refused.ok());
  for (const char* words : {"'w' is FLOAT (3,), the model's is FLOAT (2,)", "no initializer and no input 'y'",
                            "'x' is FLOAT (3, 5), which", "'x' is INT64 (2, 5), which"}) {
    CAPTURE(words);
    CHECK(refused.diag().message.find(words) != std::string::npos);
  }
}

TEST_CASE("weights: a message about many weights shows the first ones") {
  onnx::ModelProto m = model();
  std::vector<onnx::TensorProto> many;
  for (int i = 0; i < 50000; i++)
    many.push_back({.name = "t" + std::to_string(i), .type = onnx::ElementType::Float, .dims = {2}});
  auto refused = set_model_weights(m, std::move(many));
  REQUIRE_FALSE(refused);
  CHECK(refused.diag().message.size() < 2000);
  CHECK(refused.diag().message.find("'t19'") != std::string::npos);
  CHECK(refused.diag().message.ends_with("and 49980 more"));
}

TEST_CASE("weights: npz files are read, and other files are errors") {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tgc_weights." + std::to_string(getpid()) + ".npz")).string();
  Arrays arrays;
  arrays.push_back({"w", Array(dtypes::float32, {2})});
  arrays[0].array.as<float>()[1] = 3;
  REQUIRE(write_npz(path, arrays).ok());
  auto read = read_weights(path);
  REQUIRE(read.ok());
  REQUIRE(read->size() == 1);
  CHECK(onnx::array_of_tensor((*read)[0]).as<float>()[1] == 3);
  std::ofstream(path) << "not weights at all";
  CHECK(read_weights(path).diag().file == path);
  CHECK(!read_weights(path + ".missing").ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tgc
