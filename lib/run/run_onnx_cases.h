// Runs folders of ONNX conformance cases (lib/model/conformance.h).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/run/run_options.h"

namespace tgc {

struct ConformanceReport {
  struct Row {
    int passed = 0, wrong = 0, error = 0;
    int all() const { return passed + wrong + error; }
  };
  std::map<std::string, Row> suites;
  Row all;
  std::string failures;  // one line for each case that did not pass

  int exit_code() const { return all.wrong + all.error ? 1 : 0; }
  std::string text() const;  // the failures, then a table of the suites
  std::string json() const;
};

// Runs the cases in the folders, each in its own worker, because a kernel may crash. An error: the folders contain no
// cases.
Result<ConformanceReport> run_onnx_tests(const Session& session, const std::vector<std::string>& folders,
                                         const RunOptions& options);

}  // namespace tgc
