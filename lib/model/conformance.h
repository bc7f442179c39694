// ONNX conformance cases: a folder with model.onnx and test_data_set_*/input_*.pb, output_*.pb, as the onnx package
// ships them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/execute/placement.h"
#include "lib/model/model.h"
#include "lib/runtime/compare.h"

namespace tgc {

struct CaseResult {
  enum class Outcome : uint8_t { Passed, Wrong, Error } outcome = Outcome::Passed;
  std::string name;     // of the folder
  std::string suite;    // of the folder it lies in
  std::string message;  // what differs, or what cannot be done
  bool passed() const { return outcome == Outcome::Passed; }
};

struct CaseOptions {
  ToleranceOptions tolerance = {.rtol = 1e-3, .atol = 1e-5};
  Settings settings = {};
  Placement* place = nullptr;  // where it runs; null: REF
};

// Runs every data set of the case. Outputs must have the expected dtype, shape and values.
CaseResult run_case(const std::string& folder, const CaseOptions& options);

// A value from a file as an input of a graph: its bytes known. Where the model says bfloat16, the files hold the bits
// as uint16.
Value input_value(Graph& graph, onnx::ValueProto value, const onnx::TypeProto& type);
Value input_value(Graph& graph, const Array& array);

// The cases in `folders`: those that have a model.onnx themselves, and those below them, sorted. Empty when there are
// none.
std::vector<std::string> find_cases(const std::vector<std::string>& folders);

}  // namespace tgc
