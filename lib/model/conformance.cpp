#include "lib/model/conformance.h"

#include <algorithm>
#include <filesystem>

#include "lib/model/realize.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

namespace fs = std::filesystem;

// Returns PREFIX0.pb, PREFIX1.pb, ... up to the first number without a file.
std::vector<std::string> numbered_files(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> out;
  for (int i = 0; fs::exists(folder / (prefix + std::to_string(i) + ".pb")); i++)
    out.push_back((folder / (prefix + std::to_string(i) + ".pb")).string());
  return out;
}

void retype_as_bfloat16(onnx::ValueProto& value, const onnx::TypeProto& type) {
  if (type.element_type == onnx::ElementType::BFloat16 && value.tensor.type == onnx::ElementType::UInt16)
    value.tensor.type = onnx::ElementType::BFloat16;
}

void collect_tensors(const Value& v, Tensors& out) {
  if (v.is_tensor()) out.push_back(v.tensor());
  if (v.is_sequence())
    for (auto& item : v.items()) collect_tensors(item, out);
}

// Compares the outputs of a model with the expected values. `arrays` has the values of the outputs' numeric tensors, in
// the order of the outputs. compare() returns a text about a difference, or "".
class ValueComparison {
 public:
  ValueComparison(const std::vector<Array>& arrays, const ToleranceOptions& tolerance)
      : arrays_(arrays), tolerance_(tolerance) {}

  std::string compare(const std::string& name, const Value& actual, const onnx::ValueProto& expected) {
    if (expected.kind == onnx::ValueProto::Kind::None)
      return actual.is_none() ? "" : name + " has a value, expected none";
    if (actual.is_none()) return name + " has no value";
    if (expected.kind == onnx::ValueProto::Kind::Sequence) return compare_sequences(name, actual, expected);
    if (expected.tensor.type == onnx::ElementType::String) return compare_strings(name, actual, expected.tensor);
    if (!actual.is_tensor()) return name + " is not a numeric tensor";
    const Array& a = arrays_[next_array_++];
    onnx::ElementType wanted = expected.tensor.type;
    if (actual.narrow_type() != (onnx::is_narrow_type(wanted) ? wanted : onnx::ElementType::Undefined))
      return name + " is of " +
             onnx::name_of(actual.narrow_type() == onnx::ElementType::Undefined ? onnx::type_of(a.dtype())
                                                                         : actual.narrow_type()) +
             ", expected " + onnx::name_of(wanted);
    Array e = onnx::array_of_tensor(expected.tensor);
    if (a.dtype() != e.dtype() || !std::equal(a.shape().begin(), a.shape().end(), e.shape().begin(), e.shape().end())) {
      return name + " is " + a.describe() + ", expected " + e.describe();
    }
    ToleranceOptions tolerance = tolerance_;
    if (dtypes::is_float(a.dtype()) && a.dtype().itemsize() < 4) {  // the tolerance may be less than a rounding error
      Tolerance least = default_tolerance(a.dtype());
      tolerance.rtol = std::max(tolerance.rtol.value_or(0), least.rtol);
      tolerance.atol = std::max(tolerance.atol.value_or(0), least.atol);
    }
    auto c = compare_arrays(name, a, e, tolerance);
    if (!c) return c.diag().text();
    return c->has_passed() ? "" : c->text();
  }

 private:
  std::string compare_sequences(const std::string& name, const Value& actual, const onnx::ValueProto& expected) {
    if (!actual.is_sequence()) return name + " is not a sequence";
    if (actual.items().size() != expected.items.size())
      return name + " has " + std::to_string(actual.items().size()) + " items, expected " +
             std::to_string(expected.items.size());
    std::string out;
    for (size_t i = 0; i < expected.items.size() && out.empty(); i++)
      out = compare(name + "[" + std::to_string(i) + "]", actual.items()[i], expected.items[i]);
    return out;
  }
  static std::string compare_strings(const std::string& name, const Value& actual, const onnx::TensorProto& expected) {
    if (!actual.is_strings()) return name + " is not a string tensor";
    auto& s = actual.strings();
    if (s.shape != expected.dims)
      return name + " has the shape " + shape_text(s.shape) + ", expected " + shape_text(expected.dims);
    if (s.items.size() != expected.strings.size()) return name + ": the number of expected strings is wrong";
    for (size_t i = 0; i < s.items.size(); i++)
      if (s.items[i] != expected.strings[i])
        return name + "[" + std::to_string(i) + "] is '" + s.items[i] + "', expected '" +
               std::string(expected.strings[i]) + "'";
    return "";
  }

  const std::vector<Array>& arrays_;
  const ToleranceOptions& tolerance_;
  size_t next_array_ = 0;
};

std::string run_data_set(const OnnxModel& model, const fs::path& folder, const OnnxCaseOptions& options) {
  Graph graph(options.settings);
  if (options.device_placement && options.device_placement->target)
    shared_tensor_state(graph).device = options.device_placement->target->device;
  std::map<std::string, Value> inputs;
  auto declared = model.declared_inputs();
  std::vector<std::string> files = numbered_files(folder, "input_");
  for (size_t i = 0; i < files.size(); i++) {
    if (i >= declared.size()) throw Failure("there are more input files than inputs");
    inputs[declared[i]->name] =
        make_input_value(graph, onnx::read_value(files[i], declared[i]->type).value_or_throw(), declared[i]->type);
  }
  for (size_t i = files.size(); i < declared.size(); i++)  // an optional input without a file is empty
    if (declared[i]->type.kind == onnx::TypeProto::Kind::Optional) inputs[declared[i]->name] = Value();
  ModelOutputs outputs = model.build_graph(graph, inputs).value_or_throw();
  Tensors tensors;
  for (auto& v : outputs.values) collect_tensors(v, tensors);
  std::vector<Array> arrays;
  if (options.device_placement) {
    ScheduleRunner runner(*options.device_placement);
    arrays = realize(tensors, runner).values;
  } else {
    arrays = realize(tensors);
  }
  ValueComparison comparison(arrays, options.tolerance);
  files = numbered_files(folder, "output_");
  if (files.size() != outputs.values.size())
    throw Failure("there are " + std::to_string(files.size()) + " output files for " +
                  std::to_string(outputs.values.size()) + " outputs");
  for (size_t i = 0; i < files.size(); i++) {
    auto& type = model.proto().graph.outputs[i].type;
    auto expected = onnx::read_value(files[i], type).value_or_throw();
    retype_as_bfloat16(expected, type);
    if (std::string text = comparison.compare(outputs.names[i], outputs.values[i], expected); !text.empty())
      return text;
  }
  return "";
}

}  // namespace

Value make_input_value(Graph& graph, const Array& array) {
  Tensor t = Tensor::buffer(graph, Ints(array.shape().begin(), array.shape().end()), array.dtype());
  auto own = std::make_shared<Array>(array.copy());
  shared_tensor_state(graph).buffer_data[base_of(t.uop())] = {own->data(), own->nbytes(), own};
  return t;
}

Value make_input_value(Graph& graph, onnx::ValueProto value, const onnx::TypeProto& type) {
  retype_as_bfloat16(value, type);
  if (value.kind == onnx::ValueProto::Kind::None) return {};
  if (value.kind == onnx::ValueProto::Kind::Sequence) {
    Values items;
    for (auto& i : value.items) items.push_back(make_input_value(graph, i, {}));
    return Value::sequence(items);
  }
  if (value.tensor.type == onnx::ElementType::String)
    return StringTensor{value.tensor.dims, {value.tensor.strings.begin(), value.tensor.strings.end()}};
  return make_input_value(graph, onnx::array_of_tensor(value.tensor));
}

OnnxCaseResult run_onnx_case(const std::string& folder, const OnnxCaseOptions& options) {
  fs::path path = fs::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  OnnxCaseResult out{.name = path.filename().string(), .suite_name = path.parent_path().filename().string()};
  auto done = catch_failures([&] {
    OnnxModel model = std::move(OnnxModel::open((path / "model.onnx").string()).value_or_throw());
    int sets = 0;
    for (; fs::is_directory(path / ("test_data_set_" + std::to_string(sets))) && out.message.empty(); sets++) {
      out.message = run_data_set(model, path / ("test_data_set_" + std::to_string(sets)), options);
    }
    if (sets == 0) throw Failure("there is no test_data_set_0");
    return Unit{};
  });
  if (!done) {
    out.outcome = OnnxCaseResult::Outcome::Error;
    out.message = done.diag().message;
  } else if (!out.message.empty()) {
    out.outcome = OnnxCaseResult::Outcome::Wrong;
  }
  return out;
}

std::vector<std::string> find_onnx_cases(const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto& f : folders) {
    if (fs::exists(fs::path(f) / "model.onnx", error)) {
      out.push_back(f);
      continue;
    }
    std::vector<std::string> below;
    for (auto& entry : fs::recursive_directory_iterator(f, error))
      if (entry.path().filename() == "model.onnx") below.push_back(entry.path().parent_path().string());
    std::sort(below.begin(), below.end());
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

}  // namespace tgc
