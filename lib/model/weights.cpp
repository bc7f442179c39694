#include "lib/model/weights.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "lib/runtime/npz.h"
#include "lib/support/json_levels.h"

namespace tgc {
namespace {

using nlohmann::json;

constexpr size_t kMaxHeader = 100'000'000;  // the safetensors library's limit, in bytes

onnx::ElementType safetensors_type(const std::string& name) {
  static constexpr std::pair<std::string_view, onnx::ElementType> kTypes[] = {
      {"BOOL", onnx::ElementType::Bool},     {"U8", onnx::ElementType::UInt8},   {"I8", onnx::ElementType::Int8},
      {"U16", onnx::ElementType::UInt16},    {"I16", onnx::ElementType::Int16},  {"U32", onnx::ElementType::UInt32},
      {"I32", onnx::ElementType::Int32},     {"U64", onnx::ElementType::UInt64}, {"I64", onnx::ElementType::Int64},
      {"F16", onnx::ElementType::Float16},   {"F32", onnx::ElementType::Float},  {"F64", onnx::ElementType::Double},
      {"BF16", onnx::ElementType::BFloat16},
  };
  for (auto [known, type] : kTypes)
    if (known == name) return type;
  throw Failure("the dtype " + name + " is not supported");
}

json parse_header(std::string_view text) {
  std::set<std::string> names;
  std::string twice;
  constexpr int kMostLevels = 4;
  const bool fits = is_json_within_levels(text, kMostLevels, [&](int depth, const std::string& name) {
    if (depth == 1 && !names.insert(name).second) twice = name;
  });
  json header = fits ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json();
  if (!header.is_object()) throw Failure("its header is not a JSON object");
  if (!twice.empty()) throw Failure("its header has '" + twice + "' twice");
  return header;
}

std::vector<int64_t> parse_sizes(const json& j, const char* what) {
  if (!j.is_array()) throw Failure(std::string("its ") + what + " is not a list");
  std::vector<int64_t> out;
  for (const json& item : j) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > uint64_t(INT64_MAX))
      throw Failure(std::string("its ") + what + " has an element that is not a size");
    out.push_back(int64_t(item.get<uint64_t>()));
  }
  return out;
}

struct PlacedTensor {
  onnx::TensorProto tensor;
  size_t begin, end;  // byte offsets in the data section
};

PlacedTensor parse_tensor_entry(const std::string& name, const json& entry, std::string_view data,
                                const std::shared_ptr<const onnx::SharedBytes>& file) {
  for (const char* member : {"dtype", "shape", "data_offsets"})
    if (!entry.is_object() || !entry.contains(member)) throw Failure(std::string("it has no ") + member);
  if (!entry["dtype"].is_string()) throw Failure("its dtype is not a string");
  onnx::TensorProto t{.name = name, .type = safetensors_type(entry["dtype"].get<std::string>()),
                      .dims = parse_sizes(entry["shape"], "shape"), .file = file};
  auto offsets = parse_sizes(entry["data_offsets"], "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) throw Failure("its data_offsets are not [begin, end]");
  auto begin = size_t(offsets[0]), end = size_t(offsets[1]);
  if (end > data.size())
    throw Failure("its data end at " + std::to_string(end) + ", the file has " + std::to_string(data.size()) +
                  " bytes of data");
  auto wanted = size_t(t.num_elements()) * size_t(onnx::dtype_of(t.type)->itemsize());
  if (end - begin != wanted)
    throw Failure("it has " + std::to_string(end - begin) + " bytes, its shape needs " + std::to_string(wanted));
  t.raw_data = data.substr(begin, wanted);
  return {std::move(t), begin, end};
}

std::vector<onnx::TensorProto> parse_safetensors(const std::shared_ptr<const onnx::SharedBytes>& file) {
  std::string_view all = file->view();
  uint64_t length = 0;
  if (all.size() < sizeof length) throw Failure("the file ends inside the length of its header");
  std::memcpy(&length, all.data(), sizeof length);
  all.remove_prefix(sizeof length);
  if (length > kMaxHeader || length > all.size())
    throw Failure("its header should have " + std::to_string(length) + " bytes, the file has " +
                  std::to_string(all.size()) + " more");
  std::string_view data = all.substr(length);
  std::vector<PlacedTensor> tensors;
  json header = parse_header(all.substr(0, length));
  for (auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      tensors.push_back(parse_tensor_entry(name, entry, data, file));
    } catch (Failure& f) {
      f.diag().message = "tensor '" + name + "': " + f.diag().message;
      throw Failure(f.diag());
    }
  }
  auto place = [](const PlacedTensor& p) { return std::tie(p.begin, p.end, p.tensor.name); };
  std::sort(tensors.begin(), tensors.end(),
            [&](const PlacedTensor& a, const PlacedTensor& b) { return place(a) < place(b); });
  size_t at = 0;
  std::vector<onnx::TensorProto> out;
  for (PlacedTensor& t : tensors) {
    if (t.begin != at)
      throw Failure(
          "tensor '" + t.tensor.name + "' begins at " + std::to_string(t.begin) +
          (t.begin < at ? ", inside the one before it" : ", and no tensor has the bytes from " + std::to_string(at)));
    at = t.end;
    out.push_back(std::move(t.tensor));
  }
  if (at != data.size())
    throw Failure("the file has " + std::to_string(data.size() - at) + " bytes after its last tensor");
  return out;
}

std::vector<onnx::TensorProto> weights_from_arrays(const Arrays& arrays) {
  std::vector<onnx::TensorProto> out;
  for (const NamedArray& a : arrays) {
    auto bytes = onnx::SharedBytes::bytes_from_string(
        std::string(reinterpret_cast<const char*>(a.array.data()), a.array.nbytes()));
    onnx::TensorProto t{.name = a.name, .type = onnx::type_of(a.array.dtype()),
                        .dims = {a.array.shape().begin(), a.array.shape().end()}, .file = bytes};
    if (t.type == onnx::ElementType::Undefined)
      throw Failure("the array '" + a.name + "' is " + a.array.describe() + ", which no model has");
    t.raw_data = bytes->view();
    out.push_back(std::move(t));
  }
  return out;
}

std::string type_and_shape_text(onnx::ElementType type, const std::vector<int64_t>& dims) {
  return onnx::name_of(type) + " " + shape_text(dims);
}

// A symbolic size of the input matches any size.
bool matches_input(const onnx::ValueInfo& input, const onnx::TensorProto& t) {
  if (input.type.kind != onnx::TypeProto::Kind::Tensor || input.type.element_type != t.type) return false;
  if (!input.type.shape) return true;
  return std::equal(input.type.shape->begin(), input.type.shape->end(), t.dims.begin(), t.dims.end(),
                    [](const onnx::TypeProto::Dim& dim, int64_t size) { return !dim.value || *dim.value == size; });
}

// If several initializers or inputs have the same name, the first one counts.
class WeightAssigner {
 public:
  explicit WeightAssigner(onnx::GraphProto& graph) : graph_(graph) {
    for (size_t i = 0; i < graph.initializers.size(); i++) initializers_.try_emplace(graph.initializers[i].name, i);
    for (size_t i = 0; i < graph.inputs.size(); i++) inputs_.try_emplace(graph.inputs[i].name, i);
  }

  // Returns an error text, or "".
  std::string assign_weight(onnx::TensorProto&& weight) {
    if (auto old = initializers_.find(weight.name); old != initializers_.end()) {
      onnx::TensorProto& initializer = graph_.initializers[old->second];
      if (initializer.type != weight.type || initializer.dims != weight.dims)
        return "'" + weight.name + "' is " + type_and_shape_text(weight.type, weight.dims) + ", the model's is " +
               type_and_shape_text(initializer.type, initializer.dims);
      initializer = std::move(weight);
      return "";
    }
    auto input = inputs_.find(weight.name);
    if (input == inputs_.end()) return "the model has no initializer and no input '" + weight.name + "'";
    if (!matches_input(graph_.inputs[input->second], weight))
      return "'" + weight.name + "' is " + type_and_shape_text(weight.type, weight.dims) +
             ", which the model's input is not";
    initializers_.emplace(weight.name, graph_.initializers.size());
    graph_.initializers.push_back(std::move(weight));
    return "";
  }

 private:
  onnx::GraphProto& graph_;
  std::unordered_map<std::string, size_t> initializers_, inputs_;
};

}  // namespace

Result<std::vector<onnx::TensorProto>> read_safetensors(std::shared_ptr<const onnx::SharedBytes> bytes,
                                                        const std::string& path) {
  auto out = catch_failures([&] { return parse_safetensors(bytes); });
  if (!out && out.diag().file.empty()) out.diag().file = path;
  return out;
}

Result<std::vector<onnx::TensorProto>> read_weights(const std::string& path) {
  auto bytes = onnx::SharedBytes::map_file(path);
  if (!bytes) return bytes.diag();
  std::string_view head = (*bytes)->view().substr(0, 6);
  if (!head.starts_with("PK") && head != "\x93NUMPY") return read_safetensors(*bytes, path);
  auto arrays = read_arrays(path);
  if (!arrays) return arrays.diag();
  auto out = catch_failures([&] { return weights_from_arrays(*arrays); });
  if (!out) out.diag().file = path;
  return out;
}

Status set_model_weights(onnx::ModelProto& model, std::vector<onnx::TensorProto> weights) {
  constexpr size_t kMostShown = 20;
  WeightAssigner places(model.graph);
  std::string troubles;
  size_t count = 0;
  for (onnx::TensorProto& w : weights)
    if (std::string text = places.assign_weight(std::move(w)); !text.empty() && ++count <= kMostShown)
      troubles += (troubles.empty() ? "" : "\n  ") + text;
  if (count > kMostShown) troubles += "\n  and " + std::to_string(count - kMostShown) + " more";
  return troubles.empty() ? Status(Unit{})
                          : Status(Diag{.message = "these weights do not fit the model:\n  " + troubles});
}

}  // namespace tgc
