// Finds the culprit of a failing kernel, such as a wrong rewrite, the renderer, a compiler pass, or the schedule.
// This is `tgc bisect` as a library; README.md lists the strategies.
#pragma once
#include <map>
#include <set>
#include <string>

#include "lib/bisect/verdict.h"
#include "lib/run/run.h"

namespace tgc {

struct BisectReport {
  std::string kernel;               // what was bisected: the name or id of a kernel or tensor graph, or a model's path,
                                    // followed by the failing kernel of the graph or model, if found
  std::string device;               // where the kernel ran, such as "CPU:LLVM"; with --against or --tinygrad, the
                                    // target of the compilation
  // the tensor methods and program lines for which the kernel was made, if recorded
  std::string origin_text = {};
  bool is_schedule = false;        // the input is the record of a tensor graph
  std::string pipeline_kind = "native";  // whose compilation was bisected: "native", "recorded" or "live"
  Verdict verdict = {};
  BisectCounts counts = {};
  std::vector<std::string> notes = {};  // for a recorded schedule: the notes of its run (ModelReport::notes)
  double wall_seconds = 0;              // wall time of the bisection
  std::string failure_text = {};        // the error or the difference of the failing run; empty if there is none
  // The first wrong element of a recorded kernel's failing run: "element" is its place ("data0[5]"), "before" the
  // expected value, "after" the computed one. Other keys are the variables, and elements of inputs from which the AST
  // computes the wrong element ("data1[more]": not all are listed). Empty if the wrong element is not known.
  std::map<std::string, std::string> wrong_element = {};
  std::string repro_command = {};        // the shell command that repeats this bisection; empty if there is none
  std::set<std::string> variables = {};  // the kernel's variables that --var sets; for a recorded schedule, all
  bool is_strict = false;                // BisectPlan::is_strict
  std::string error = {};                // why the bisection failed; if set, the other members may be empty

  // Adds to a verdict `same` how many elements were not compared (BisectCounts). If none was compared, sets `error`
  // instead.
  void note_left_out_elements();
  // Returns 2 for an error or `refused`, 0 for `same` and `known`, and 1 for any other verdict. Returns 1 for `known`,
  // too, if is_strict or verdict.is_shown_by_given_inputs is set.
  int exit_code() const;
  std::string text() const;
  std::string json() const;  // one line
};

// The options of `tgc bisect` besides those of a run.
struct BisectPlan {
  std::string golden_input;      // --against: an INPUT with golden records, with which tgc's stages are compared
  std::string tinygrad_command;  // --tinygrad: a Python or command whose tinygrad is compared with tgc's stages
  // A shell command that decides whether a graph fails, instead of a run of the graph. {} in the command is replaced by
  // the name of a file with the graph. The command exits with 0 if the graph fails.
  std::string test_command;
  bool may_crash = false;    // compile in a worker first, because tgc itself may crash
  bool is_strict = false;    // a known fault of tinygrad (Verdict::Kind::Known) is a failure
  double limit_seconds = 0;  // time limit of a bisection, after which the verdict is `unresolved`; 0: no limit
};

// Finds why a kernel fails. Runs the kernel as run_kernel() does and, if it fails, looks for the culprit. If it passes
// and has a golden record with texts of stages, compares these with the native pipeline's, unless an option or a seeded
// fault changes the compilation. A kernel of another release (without --native) is bisected by bisect_recorded()
// (recorded.h). With `plan.golden_input` or `plan.tinygrad_command`, only compares tgc's stages with tinygrad's. Errors
// are in BisectReport::error.
BisectReport bisect(const Session& session, InputGraph& in, const RunOptions& options, const BisectPlan& plan = {});

// Bisects a model (an ONNX file), or a tensor graph: finds the first kernel whose results differ from those of its
// AST in REF, and bisects it. If every kernel is right, but the final results are wrong, bisects the schedule. A tensor
// graph of another release is bisected by bisect_recorded_schedule() (recorded.h). Both functions report an error if
// `plan` asks for a search that works only on one kernel, such as --cmd or --crash.
BisectReport bisect_model(const Session& session, const std::string& path, const RunOptions& options,
                          const BisectPlan& plan = {});
BisectReport bisect_tensor_graph(const Session& session, InputGraph& in, const RunOptions& options,
                                 const BisectPlan& plan = {});

}  // namespace tgc
