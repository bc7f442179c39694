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
  std::string failures;  // one line for each case that failed

  int exit_code() const { return all.wrong + all.error ? 1 : 0; }
  std::string text() const;  // returns `failures`, then a table with one row for each suite
  std::string json() const;
};

// Runs the cases of the folders. Each case runs in its own worker process, because a kernel may crash. Fails if the
// folders contain no case.
Result<ConformanceReport> run_onnx_tests(const Session& session, const std::vector<std::string>& folders,
                                         const RunOptions& options);

}  // namespace tgc
