#pragma once
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/run/run_options.h"
#include "lib/run/source_run.h"

namespace tgc {

struct RunCommandOptions {
  std::vector<std::string> inputs{"-"}, onnx_tests;
  RunOptions run_options;
  bool should_print_json = false;
  bool should_explain_nan = false;  // --nan: only explain the NaN that the exporter's --watch-nan found
  SourceRunOptions source_options;
  std::string grid = "1", block = "1";  // launch size of a kernel that was written by hand
  std::string profile_path;             // file for the profile of an emulated GPU
  CompileOverrides overrides{.imports_kernels = true};
};

int run_inputs(const RunCommandOptions& options);  // compiles, runs and compares all inputs; returns the exit code

}  // namespace tgc
