// Runs ONNX conformance cases. A case is a folder with model.onnx and test_data_set_*/{input,output}_*.pb.
#pragma once
#include <string>
#include <vector>

#include "lib/execute/placement.h"
#include "lib/model/model.h"
#include "lib/runtime/compare.h"

namespace tgc {

struct OnnxCaseResult {
  enum class Outcome : uint8_t { Passed, Wrong, Error } outcome = Outcome::Passed;
  std::string name;
  std::string suite_name;  // name of the parent folder
  std::string message;
  bool passed() const { return outcome == Outcome::Passed; }
};

struct OnnxCaseOptions {
  ToleranceOptions tolerance = {.rtol = 1e-3, .atol = 1e-5};
  Settings settings = {};
  Placement* device_placement = nullptr;  // null means REF
};

// Runs the data sets of a case until one fails.
OnnxCaseResult run_onnx_case(const std::string& folder, const OnnxCaseOptions& options);

// Return the value of a model's input. If `type` is bfloat16, a uint16 tensor has the bits of bfloat16 numbers, as in
// the onnx package.
Value make_input_value(Graph& graph, onnx::ValueProto value, const onnx::TypeProto& type);
Value make_input_value(Graph& graph, const Array& array);

// Returns each of `folders` that has a model.onnx, or else the folders below it that have one.
std::vector<std::string> find_onnx_cases(const std::vector<std::string>& folders);

}  // namespace tgc
