// Finds what makes a kernel compute a wrong result: a rewrite, the renderer, a compiler pass, or the schedule.
// This is `tgc bisect` as a library; README.md lists the strategies.
#pragma once
#include <map>
#include <set>
#include <string>

#include "lib/bisect/verdict.h"
#include "lib/run/run.h"

namespace tgc {

struct BisectReport {
  std::string kernel;               // the name or id of the kernel; of a recorded schedule, its id
  std::string device;               // the device and target of the run, such as "CPU:LLVM"
  std::string made_for = {};        // the tensor methods and program lines for which the kernel was made, if recorded
  bool is_schedule = false;        // true if `kernel` is the id of a recorded schedule
  std::string pipeline = "native";  // whose compilation was bisected: "native", "recorded" or "live"
  Verdict verdict = {};
  BisectCounts counts = {};
  std::vector<std::string> notes = {};   // which parts were not compared, and stages that tgc may import wrongly
  double seconds = 0;                    // wall time of the bisection
  std::string failure = {};              // the error of the failing run, in one line; empty if none failed
  // Of a recorded kernel's failing run, the first wrong element: "element" ("data0[5]"), "before" (the expected value),
  // "after", and the elements there of the inputs that have as many.
  std::map<std::string, std::string> wrong_element = {};
  std::string repro_command = {};        // the shell command that repeats this bisection
  std::set<std::string> variables = {};  // the names among those of --var that are variables of the kernel
  bool is_strict = false;                // BisectPlan::strict
  std::string error = {};                // why the bisection failed; if set, the other members may be empty

  int exit_code() const;  // 0: same or known; 1: any other verdict, or known with `is_strict`; 2: an error, or refused
  std::string text() const;
  std::string json() const;  // one line
};

// The options of `tgc bisect` besides those of a run.
struct BisectPlan {
  std::string against;   // golden records (an INPUT): find the first rewrite that differs from tinygrad's
  std::string tinygrad;  // a Python or a command that runs tinygrad: compare with this tinygrad's stages
  // A shell command that decides whether a graph fails, instead of a run of the graph. {} stands for the file with the
  // graph. The command exits with 0 if the graph fails.
  std::string command;
  bool crash = false;    // compile in a worker first, because tgc itself may crash
  bool strict = false;   // a known fault of tinygrad (Verdict::Kind::Known) is a failure
  double seconds = 0;    // time limit, after which the verdict is `unresolved`; 0: no limit
};

// Runs the kernel as run_kernel() does and, if the kernel fails, finds the culprit. If the kernel passes and has a
// golden record, compares the record's stages with those of the native pipeline, unless an option or a seeded fault
// changes the compilation. Errors are in BisectReport::error.
BisectReport bisect(const Session& session, InputGraph& in, const RunOptions& options, const BisectPlan& plan = {});

// Bisects a model (an ONNX file), or a tensor graph: finds the first kernel whose results differ from those of its
// AST in REF, and bisects it. If every kernel is right, but the final results are wrong, bisects the schedule.
// Both report an error if `plan` asks for a search that works only on one kernel (--cmd, --crash, ...).
BisectReport bisect_model(const Session& session, const std::string& path, const RunOptions& options,
                          const BisectPlan& plan = {});
BisectReport bisect_tensor_graph(const Session& session, InputGraph& in, const RunOptions& options,
                                 const BisectPlan& plan = {});

}  // namespace tgc
