// `tgc run` of more than one kernel: a model or a tensor graph on a device, and ONNX conformance cases.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/compare.h"
#include "lib/session/session.h"

namespace tgc {

struct ModelRunOptions {
  std::string device, arrays, expect, reference, save, weights;
  std::map<std::string, int64_t> sizes;  // of symbolic dimensions
  std::optional<uint64_t> seed;          // of inputs that no file gives; default without a file: 0
  ToleranceOptions tolerance;
  int bench = 0;
  bool json = false;
  const Session* session = nullptr;
};

// Runs the model, compares where something is expected, prints the report. An exit code.
int run_model(const std::string& path, const ModelRunOptions& options);

// The same with a tensor graph. Its arrays are data0, data1, ... by the number of their buffer in the schedule.
int run_tensor_graph(Loaded& graph, const ModelRunOptions& options);

// Runs the cases in the folders and prints a table, a line for each that fails, and the reason. An exit code.
int run_onnx_tests(const std::vector<std::string>& folders, const ModelRunOptions& options);

}  // namespace tgc
