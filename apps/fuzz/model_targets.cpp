// Targets that read models, weights and arrays.
#include "apps/fuzz/target.h"
#include "lib/model/model.h"
#include "lib/model/weights.h"
#include "lib/runtime/npz.h"

namespace tgc::fuzz {
namespace {

std::shared_ptr<const onnx::SharedBytes> shared_copy(Bytes bytes) {
  return onnx::SharedBytes::bytes_from_string(std::string(bytes_as_text(bytes)));
}

// Reads the bytes of tensors, so that a sanitizer reports any that lie outside of the file.
void read_all_bytes(const std::vector<onnx::TensorProto>& tensors) {
  for (const onnx::TensorProto& t : tensors) {
    if (t.is_external || t.type == onnx::ElementType::String) continue;
    check_message(catch_failures([&] {
      onnx::TensorBytes bytes = onnx::bytes_of_tensor(t, "");
      unsigned all = 0;
      for (size_t i = 0; i < bytes.size; i++) all += bytes.data[i];
      return all;
    }));
  }
}

void check_round_trip(const Array& array) {
  std::string written = npy_file_bytes(array);
  auto again = read_npy({reinterpret_cast<const uint8_t*>(written.data()), written.size()}, "again");
  require_condition(again.ok() && npy_file_bytes(*again) == written, "an array that was written does not come back");
}

}  // namespace

void read_onnx(Bytes bytes) {
  auto proto = onnx::read_model_bytes(shared_copy(bytes), "");
  if (!check_message(proto)) return;
  read_all_bytes(proto->graph.initializers);
  auto model = OnnxModel::make_from_proto(std::move(*proto));
  if (check_message(model)) check_message(model->inputs({}));
}

void read_weights(Bytes bytes) {
  auto tensors = read_safetensors(shared_copy(bytes));
  if (check_message(tensors)) read_all_bytes(*tensors);
}

void read_npy_bytes(Bytes bytes) {
  auto array = read_npy(bytes, "fuzz");
  if (check_message(array)) check_round_trip(*array);
}

void read_npz_bytes(Bytes bytes) {
  auto arrays = read_arrays(MemoryFile(bytes_as_text(bytes)).path());
  if (!check_message(arrays)) return;
  for (const NamedArray& a : *arrays) check_round_trip(a.array);
}

}  // namespace tgc::fuzz
