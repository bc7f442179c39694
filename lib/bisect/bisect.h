// Finds what makes a kernel compute a wrong result: the rewrite, renderer, compiler pass or schedule. This is
// `tgc bisect` as a library; README.md lists the strategies.
#pragma once
#include <set>
#include <string>

#include "lib/bisect/verdict.h"
#include "lib/run/run_kernel.h"

namespace tgc {

struct BisectReport {
  std::string kernel, device;
  Verdict verdict = {};
  BisectCounts counts = {};
  double seconds = 0;
  std::string failure = {};              // what the failing run reported, in one line
  std::string repro_command = {};        // repeats this bisection
  std::set<std::string> variables = {};  // those of --var that the kernel has
  std::string error = {};                // the bisection failed; the other members may be empty

  int exit_code() const;
  std::string text() const;
  std::string json() const;  // one line
};

// Options of a bisection.
struct BisectPlan {
  std::string against;   // an INPUT of golden records: find the first rewrite that differs from tinygrad's
  std::string tinygrad;  // the same for a live tinygrad: a Python or a command (lib/live/tinygrad_process.h)
  // replaces running and comparing: a shell command, where {} stands for a file with a graph; it exits with 0 if that
  // graph shows the failure
  std::string command;
  bool crash = false;    // tgc itself crashes: compile in a worker first
  double seconds = 0;    // time limit, after which the verdict is `unresolved`; 0: none
};

// Runs the kernel as run_kernel() does and, if it fails, finds the culprit. If it passes, the stages of a golden record
// are compared with the native pipeline's, unless options ask for another compilation than was recorded.
BisectReport bisect(const Session& session, InputGraph& in, const RunOptions& options, const BisectPlan& plan = {});

// The same for a model (an ONNX file) or a tensor graph: bisects the first kernel that computes something else than its
// AST does in REF. If every kernel is right but the results are not, finds the culprit in the schedule.
BisectReport bisect_model(const Session& session, const std::string& path, const RunOptions& options);
BisectReport bisect_tensor_graph(const Session& session, InputGraph& in, const RunOptions& options);

}  // namespace tgc
