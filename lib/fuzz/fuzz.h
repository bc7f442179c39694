// Runs a campaign of `tgc fuzz`: makes random kernels and tensor graphs, and checks each kernel after every stage.
// Bisects and reduces kernels that fail, and reports one of them for each rule that bisect blames, or for each kind of
// failure if it blames none.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct FuzzSpec {
  uint64_t seed = 0;
  uint64_t num_graphs = 1000;  // number of graphs to make
  double limit_minutes = 0;    // duration of the run in minutes, instead of `num_graphs`; 0: `num_graphs` counts
  std::string graph;           // name of the only graph to make (maker.h); empty to make all graphs
  // a device on which every kernel is run, too; if empty, a part of the kernels runs on the CPU, with LLVM and clang
  std::string device;
  std::vector<std::string> golden_files;  // golden files, whose graphs are checked and mutated
  // path of a table of known unsound rules (known.h); if empty, fuzz() uses none, fuzz_live() the built-in tables
  std::string known_rules_file;
  // A Python that has tinygrad 0.12.0, or an export command. If set, tinygrad also compiles the tensor graphs and the
  // kernels whose results were compared, and its texts must be the same.
  std::string tinygrad_command;
  std::string folder;  // folder for the repro bundles or graphs of findings; if empty, none are written
  // Path of the file that saves the campaign (state.h); empty to save nothing. If the file exists, the run continues
  // the saved campaign: `num_graphs` and the report refer to the whole campaign, but `limit_minutes` only to this run.
  std::string state_file;
};

struct FuzzFinding {
  // the parts of bisect's verdict on the failing kernel; without such a verdict, `verdict` is the kind of failure
  std::string verdict, stage, rule, branch;
  std::string message;  // what failed, on one or more lines
  uint64_t graph_number = 0;  // number, from 0, of the first graph with this finding
  std::string name;  // name of that graph
  std::string repro_command;  // a command that makes and checks only that graph
  size_t num_graphs = 0, num_nodes = 0;  // number of graphs with this finding; number of nodes of the reduced kernel
  std::string file;  // path of the repro bundle, or of the graph if it was not reduced
  std::string known_entry;  // the entry of the known unsound rules that matches the finding; empty if none matches

  // Returns a text such as "known: rewrite lt-scaled, initial symbolic: 12 times, first graph 318, reduced to 9 nodes:
  // FILE".
  std::string line() const;
};

struct FuzzReport {
  uint64_t seed = 0;
  size_t num_graphs_made = 0;  // number of graphs made, the unit of FuzzSpec::num_graphs
  // The next four fields count kernels. A tensor graph counts with all the kernels of its schedule.
  size_t num_compared = 0;  // number of kernels whose results were compared, or that failed
  // number of kernels that are too large for REF or have undefined results: for these, only the linear lists with and
  // without an observer of rewrites were compared
  size_t num_compiled = 0;
  // number of kernels that a stage or, in a live pipeline, tinygrad rejected with an error
  size_t num_refused = 0;
  // number of kernels that were not checked, because REF cannot run their AST (for example, it reads outside of a
  // buffer), because they could not be run, or because random choices contradicted each other
  size_t num_left_out = 0;
  size_t num_rounding_runs = 0;                  // number of runs whose differences are explained by rounding
  size_t num_ref_runs = 0, num_device_runs = 0;  // number of runs in REF; number of runs on devices
  double seconds = 0;
  size_t num_equal_kernels = 0;                  // number of kernels whose texts equal tinygrad's
  size_t num_equal_schedules = 0;                // number of schedules whose texts equal tinygrad's
  size_t num_rules = 0, num_rules_hit = 0;       // number of rewrite rules; number of those that applied
  std::vector<std::string> never_applied_rules;  // the rules that never applied, each as "NAME FILE"
  // for a live pipeline: maps the first line of an error to the number of kernels that were refused with it
  std::map<std::string, size_t> refusal_counts;
  std::vector<FuzzFinding> findings;
  bool has_known_rules = false;  // true if findings were compared with known unsound rules
  std::string error = {};

  int exit_code() const;  // returns 2 if there is an error, 1 if a finding is not a known unsound rule, else 0
  std::string text() const;
  std::string json() const;  // returns the report as one line of JSON
};

// Runs the campaign. Errors are in FuzzReport::error.
FuzzReport fuzz(const Session& session, const FuzzSpec& spec);

// Fuzzes the tinygrad of a live pipeline (`tgc fuzz --live`). Generates random kernels (lib/fuzz/random_kernel.h) in
// the IR of that tinygrad, which compiles them. Runs the AST, every recorded stage and the recorded list in REF, and
// the recorded source on its device. If their results differ, compiles the kernel again with its rewrites and bisects
// it. Reports one kernel for each rule, or for each cause or stage if no rule is found. If spec.graph is not empty, it
// is the number of the only kernel to generate.
FuzzReport fuzz_live(const Session& session, const FuzzSpec& spec);

}  // namespace tgc
