// Runs ONNX conformance cases. A case is a folder with model.onnx and test_data_set_*/{input,output}_*.pb, the layout
// of the onnx package.
#pragma once
#include <string>
#include <vector>

#include "lib/execute/placement.h"
#include "lib/model/model.h"
#include "lib/runtime/compare.h"

namespace tgc {

struct CaseResult {
  enum class Outcome : uint8_t { Passed, Wrong, Error } outcome = Outcome::Passed;
  std::string name;     // the name of the case's folder
  std::string suite;    // the name of the folder that contains the case's folder
  std::string message;  // the first difference, or the error; empty if the case passed
  bool passed() const { return outcome == Outcome::Passed; }
};

struct CaseOptions {
  ToleranceOptions tolerance = {.rtol = 1e-3, .atol = 1e-5};
  Settings settings = {};
  Placement* device_placement = nullptr;  // the device that computes the outputs; null means REF
};

// Runs the case's data sets until one fails. Outputs must have the expected dtypes, shapes and values.
CaseResult run_case(const std::string& folder, const CaseOptions& options);

// Makes the value of a model's input from a value that was read from a file, or from an array. If `type` is bfloat16, a
// uint16 tensor is read as the bits of bfloat16 numbers, because the onnx package stores bfloat16 in this way.
Value input_value(Graph& graph, onnx::ValueProto value, const onnx::TypeProto& type);
Value input_value(Graph& graph, const Array& array);

// Returns the case folders: each of `folders` that has a model.onnx, or else all folders below it that have one.
std::vector<std::string> find_cases(const std::vector<std::string>& folders);

}  // namespace tgc
