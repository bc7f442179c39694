// A libFuzzer target for what reads models and weights, which TGC_FUZZ_KIND names: no bytes may crash it, and what it
// refuses it must refuse with a message. README.md says how to run it.
#include <cstdio>
#include <cstdlib>

#include "lib/model/model.h"
#include "lib/model/weights.h"

using namespace tgc;

namespace {

template <class T>
void must_say(const Result<T>& result) {
  if (result.ok() || !result.diag().message.empty()) return;
  std::fprintf(stderr, "fuzz: a refusal without a message\n");
  std::abort();
}

// The bytes of every tensor, which must lie in the file.
void touch(const std::vector<onnx::TensorProto>& tensors) {
  for (const onnx::TensorProto& t : tensors) {
    if (t.external || t.type == onnx::Type::String) continue;
    auto sum = catch_failures([&] {
      onnx::TensorBytes bytes = onnx::bytes_of(t, "");
      unsigned all = 0;
      for (size_t i = 0; i < bytes.size; i++) all += bytes.data[i];
      return all;
    });
    must_say(sum);
  }
}

void load(std::shared_ptr<const onnx::Bytes> bytes) {
  auto proto = onnx::read_model_bytes(std::move(bytes), "");
  must_say(proto);
  if (!proto) return;
  touch(proto->graph.initializers);
  auto model = Model::from_proto(std::move(*proto));
  must_say(model);
  if (model) must_say(model->inputs({}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = onnx::Bytes::own(std::string(reinterpret_cast<const char*>(data), size));
  if (std::string_view(TGC_FUZZ_KIND) == "onnx") {
    load(bytes);
  } else {
    auto tensors = read_safetensors(bytes);
    must_say(tensors);
    if (tensors) touch(*tensors);
  }
  return 0;
}
