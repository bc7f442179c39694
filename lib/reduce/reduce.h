// `tgc reduce`: reduces a failing kernel to a small kernel that fails in the same way. Begins at the rewrite that
// bisect names, if it names one, makes large cuts first, and ends when no single step gives a smaller failing kernel,
// or when the session is cancelled.
#pragma once
#include <string>

#include "lib/reduce/interestingness.h"

namespace tgc {

struct ReduceReport {
  size_t num_nodes_before = 0, num_nodes_after = 0;  // of the original kernel; of the reduced kernel
  size_t num_calls = 0;                      // cases that the interestingness test examined ("tries")
  size_t num_prefiltered = 0;
  double wall_seconds = 0;
  std::string verdict;                       // text of the failure that the reduction preserves
  // true if the session was cancelled; the result is then the smallest case so far
  bool was_interrupted = false;
  std::string bundle_text;
  std::string error = {};

  int exit_code() const { return error.empty() ? 0 : 2; }
  std::string text() const;
  std::string json() const;  // one line of JSON
};

// Parses the failure that --while names, such as "wrong" or "cmd SCRIPT {}". Fails for another name, or a script
// without {}.
Result<FailureCriterion> parse_criterion(const std::string& text);

// Reduces the kernel `in`, which must fail as the criterion says if it is run with `options`. Errors are in
// ReduceReport::error.
ReduceReport reduce_graph(const Session& session, InputGraph& in, const RunOptions& options,
                          const FailureCriterion& criterion);

// Reduces a kernel, or one kernel of a tensor graph: for Kind::Wrong, the first one whose results differ from those of
// REF for the arrays of the tensor graph; for other kinds, the first one that fails alone, with arrays of its own.
ReduceReport reduce_input(const Session& session, InputGraph& in, const RunOptions& options,
                          const FailureCriterion& criterion);
// Reduces one kernel of the ONNX model in the file `path`, chosen as for a tensor graph.
ReduceReport reduce_model(const Session& session, const std::string& path, const RunOptions& options,
                          const FailureCriterion& criterion);

}  // namespace tgc
