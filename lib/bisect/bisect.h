// Finds the culprit of a failing kernel, model or schedule.
#pragma once
#include <map>
#include <set>
#include <string>

#include "lib/bisect/verdict.h"
#include "lib/run/run.h"

namespace tgc {

struct BisectReport {
  std::string kernel;               // what was bisected, and the failing kernel of a graph or model, if found
  // where the kernel ran, such as "CPU:LLVM"; with --against or --tinygrad, the target of the compilation
  std::string device;
  // the tensor methods and program lines for which the kernel was made, if recorded
  std::string origin_text = {};
  bool is_schedule = false;        // the input is the record of a tensor graph
  std::string pipeline_kind = "native";  // whose compilation was bisected: "native", "recorded" or "live"
  Verdict verdict = {};
  BisectCounts counts = {};
  std::vector<std::string> notes = {};  // for a recorded schedule: the notes of its run (ModelReport::notes)
  double wall_seconds = 0;
  std::string failure_text = {};        // the error or the difference of the failing run
  // The first wrong element of a recorded kernel's failing run: "element" is its place ("data0[5]"), "before" the
  // expected value, "after" the computed one. Other keys are elements of inputs, and variables.
  std::map<std::string, std::string> wrong_element = {};
  std::string repro_command = {};        // the shell command that repeats this bisection; empty if there is none
  std::set<std::string> variables = {};  // the kernel's variables that --var sets; for a recorded schedule, all
  bool is_strict = false;
  std::string error = {};                // why the bisection failed; if set, the other members may be empty

  // Adds to a verdict `same` how many elements were not compared. If none was compared, sets `error` instead.
  void note_left_out_elements();
  // Returns 2 for an error or the verdict `refused`. Returns 0 for `same`, and for `known` if neither is_strict nor
  // verdict.is_shown_by_given_inputs is set. Else returns 1.
  int exit_code() const;
  std::string text() const;
  std::string json() const;
};

struct BisectPlan {
  std::string golden_input;      // --against: an INPUT with golden records, with which tgc's stages are compared
  std::string tinygrad_command;  // --tinygrad: a Python or command whose tinygrad is compared with tgc's stages
  // A shell command that exits with 0 if a graph fails. It is run in place of the graph; {} in it is replaced by the
  // name of a file with the graph.
  std::string test_command;
  bool may_crash = false;    // compile in a worker first, because tgc itself may crash
  bool is_strict = false;    // a known fault of tinygrad (Verdict::Kind::Known) is a failure
  double limit_seconds = 0;  // time limit of a bisection, after which the verdict is `unresolved`; 0: no limit
};

// Finds why a kernel fails. For a recording of another release, compares the recorded stages with the AST, unless
// --native is set. Else runs the kernel and, if it fails, looks for the culprit. If it passes, compares its stages with
// its golden record, if possible. With `plan.golden_input` or `plan.tinygrad_command`, only compares stages with
// tinygrad's. Errors are in BisectReport::error.
BisectReport bisect(const Session& session, InputGraph& in, const RunOptions& options, const BisectPlan& plan = {});

// Bisects a model (an ONNX file): finds the first kernel that ends the run, or whose results differ from those of its
// AST in REF, and bisects it. If no such kernel is found, bisects the schedule.
BisectReport bisect_model(const Session& session, const std::string& path, const RunOptions& options,
                          const BisectPlan& plan = {});
// Like bisect_model(), for a tensor graph. For one of another tinygrad release, bisects the recorded schedule.
BisectReport bisect_tensor_graph(const Session& session, InputGraph& in, const RunOptions& options,
                                 const BisectPlan& plan = {});

}  // namespace tgc
