// Runs a campaign of `tgc fuzz`: makes random graphs, checks their kernels, and bisects failures.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct FuzzSpec {
  uint64_t seed = 0;
  uint64_t num_graphs = 1000;
  double limit_minutes = 0;    // if positive, replaces `num_graphs`
  std::string graph;           // if not empty, the only graph to make; for fuzz_live(), a number
  // where kernels run, besides REF; if empty, fuzz() runs a part of the kernels on the CPU
  std::string device;
  std::vector<std::string> golden_files;
  // a table of known unsound rules (known.h); if empty, fuzz() uses none, fuzz_live() the built-in tables
  std::string known_rules_file;
  // A Python that has tinygrad 0.12.0, or an export command. If set, tinygrad compiles the compared kernels and the
  // tensor graphs, too, and its texts must be the same.
  std::string tinygrad_command;
  std::string folder;  // for the files of findings; if empty, none are written
  // The file that saves the campaign (state.h); empty to save nothing. An existing file is continued: `num_graphs`
  // counts for the whole campaign, `limit_minutes` for this run.
  std::string state_file;
};

struct FuzzFinding {
  // parts of bisect's verdict; without one, `verdict` is the kind of failure
  std::string verdict, stage, rule, branch;
  std::string message;
  uint64_t graph_number = 0;
  std::string name;
  std::string repro_command;
  size_t num_graphs = 0, num_nodes = 0;  // graphs with this finding; nodes of the reduced kernel
  std::string file;  // the repro bundle, or the graph if it was not reduced
  std::string known_entry;

  // Returns a text such as "known: rewrite lt-scaled, initial symbolic: 12 times, first graph 318, reduced to 9 nodes:
  // FILE".
  std::string line() const;
};

struct FuzzReport {
  uint64_t seed = 0;
  size_t num_graphs_made = 0;
  // The next four fields count kernels.
  size_t num_compared = 0;  // also kernels that failed
  // kernels of which only linear lists were compared
  size_t num_compiled_kernels = 0;
  size_t num_refused_kernels = 0;
  // kernels that could not be made, or not checked, for example because REF cannot run their AST
  size_t num_left_out = 0;
  size_t num_rounding_runs = 0;
  size_t num_ref_runs = 0, num_device_runs = 0;
  double seconds = 0;
  size_t num_equal_kernels = 0;                  // kernels whose texts equal tinygrad's
  size_t num_equal_schedules = 0;
  size_t num_rules = 0, num_rules_hit = 0;
  std::vector<std::string> never_applied_rules;  // each as "NAME FILE"
  // for a live pipeline: number of refused kernels, by the first line of the error
  std::map<std::string, size_t> refusal_counts;
  std::vector<FuzzFinding> findings;
  bool has_known_rules = false;
  std::string error = {};

  int exit_code() const;  // 2: an error; 1: a finding that is not known; else 0
  std::string text() const;
  std::string json() const;
};

// With a live pipeline, calls fuzz_live(). Errors are in FuzzReport::error.
FuzzReport fuzz(const Session& session, const FuzzSpec& spec);

// Fuzzes the tinygrad of a live pipeline: its stages, list and source must have the results of the AST.
FuzzReport fuzz_live(const Session& session, const FuzzSpec& spec);

}  // namespace tgc
