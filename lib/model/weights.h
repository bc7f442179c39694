// Reads weights from safetensors, npz and npy files, and puts them into models.
#pragma once
#include <string>
#include <vector>

#include "lib/model/onnx.h"

namespace tgc {

// The content decides the format. Tensors of a safetensors file are views of the mapped file.
Result<std::vector<onnx::TensorProto>> read_weights(const std::string& path);

// `path` is the file's name in errors.
Result<std::vector<onnx::TensorProto>> read_safetensors(std::shared_ptr<const onnx::SharedBytes> bytes,
                                                        const std::string& path = "");

// Fails if a weight has no initializer or input of its name, type and shape.
Status set_model_weights(onnx::ModelProto& model, std::vector<onnx::TensorProto> weights);

}  // namespace tgc
