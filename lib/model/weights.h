// Reads weights from safetensors, npz and npy files, and puts them into models.
#pragma once
#include <string>
#include <vector>

#include "lib/model/onnx.h"

namespace tgc {

// Reads all tensors of a file. The format is recognized by content. Tensors of a safetensors file are views of the
// mapped file. Errors name the file, and the tensor if one is at fault. Safetensors data must not overlap or have gaps.
Result<std::vector<onnx::TensorProto>> read_weights(const std::string& path);

// Reads the tensors from the bytes of a safetensors file. `path` is the file's name in error messages.
Result<std::vector<onnx::TensorProto>> read_safetensors(std::shared_ptr<const onnx::Bytes> bytes,
                                                        const std::string& path = "");

// Puts weights into a model, by name. A weight replaces an initializer of the same type and shape, or becomes the value
// of an input of its type and shape. An error lists the weights that do not fit (at most 20).
Status use_weights(onnx::ModelProto& model, std::vector<onnx::TensorProto> weights);

}  // namespace tgc
