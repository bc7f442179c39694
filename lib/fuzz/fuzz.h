// Runs a campaign (a run of `tgc fuzz`) on random kernels. Checks each kernel after every stage. Bisects and reduces
// the kernels that compute wrong results, and reports the first such kernel for each rule that bisect blames.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct FuzzSpec {
  uint64_t seed = 0;
  uint64_t count = 1000;  // number of graphs to make
  double minutes = 0;  // duration of the run, used in place of `count` if positive
  std::string graph;  // make only the graph of this name (recipe.h); empty: all
  std::string device;  // also run every kernel there; empty: run one in 16 on the CPU, with LLVM and clang
  std::vector<std::string> grow;  // golden files whose kernels and tensor graphs are mutated
  std::string known;  // a file of known unsound rules (known.h); empty: none
  // A Python with tinygrad 0.12.0 and tgc.export, or an export command: tinygrad then compiles each graph, too.
  std::string tinygrad;
  std::string folder;  // folder for the bundles of findings; empty: write none
  // A file for the campaign's state (state.h); empty: none. If the file exists, the campaign that it holds continues:
  // `count` and the report are then about the whole campaign, but `minutes` only about this run.
  std::string state;
};

struct FuzzFinding {
  std::string verdict, stage, rule, branch;  // what bisect's verdict on the finding says
  std::string said;
  uint64_t graph = 0;  // number (from 0) of the first graph with this finding
  std::string name;  // the name of that graph
  std::string again;  // a command that makes and checks only that graph
  size_t times = 0, nodes = 0;  // number of graphs with this finding; number of nodes of the reduced kernel
  std::string file;  // path of the finding's bundle, or of its graph if it could not be reduced
  std::string known;  // the matching entry of the known unsound rules; empty if there is none

  // "known: rewrite lt-scaled, initial symbolic: 12 times, first graph 318, reduced to 9 nodes: FILE"
  std::string line() const;
};

struct FuzzReport {
  uint64_t seed = 0;
  size_t made = 0;  // number of graphs, as FuzzSpec::count counts them
  // numbers of kernels in these graphs (a tensor graph has all the kernels of its schedule):
  size_t graphs = 0;  // kernels whose results were compared
  size_t compiled = 0;  // too large for REF: only the lists with and without a watcher were compared
  size_t refused = 0;  // kernels that a stage or the renderer refused with a message
  size_t left_out = 0;  // meaningless kernels, because they read outside of their buffers
  size_t rounding = 0;  // number of runs whose differences are due to rounding
  size_t runs = 0, device_runs = 0;  // runs in REF; runs on devices
  double seconds = 0;
  size_t with_tinygrad = 0;  // number of kernels whose texts equal tinygrad's
  size_t schedules_with_tinygrad = 0;  // number of schedules whose texts equal tinygrad's
  size_t rules = 0, rules_hit = 0;  // number of rewrite rules; number of rules that applied
  std::vector<std::string> never_hit;  // "NAME FILE"
  std::vector<FuzzFinding> findings;
  bool knows_any = false;  // the user named a file of known unsound rules
  std::string error = {};

  int exit_code() const;  // 1 if a finding is not a known unsound rule
  std::string text() const;
  std::string json() const;  // one line
};

FuzzReport fuzz(const Session& session, const FuzzSpec& spec);

}  // namespace tgc
