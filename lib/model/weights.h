// Weights in files of their own: safetensors, npz and npy. They stand for a model's initializers,
// or give values to its inputs.
#pragma once
#include <string>
#include <vector>

#include "lib/model/onnx.h"

namespace tgc {

// The tensors of a file; what kind it is follows from its content. Those of a safetensors file stay in it, mapped. An
// error names the file and the tensor: a header that is cut short or no JSON, an unknown dtype, bytes outside the file,
// that two tensors share or none has, ...
Result<std::vector<onnx::TensorProto>> read_weights(const std::string& path);

// The tensors of a safetensors file's bytes.
Result<std::vector<onnx::TensorProto>> read_safetensors(std::shared_ptr<const onnx::Bytes> bytes,
                                                        const std::string& path = "");

// Puts weights into a model, by name: in place of initializers of the same type and shape, or as values of inputs that
// they fit. An error lists all that fit nothing.
Status use_weights(onnx::ModelProto& model, std::vector<onnx::TensorProto> weights);

}  // namespace tgc
