// Runs a campaign of random kernels, for `tgc fuzz`. Each is checked at every stage; a kernel that computes something
// else is bisected and reduced, and reported once for each rule.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct FuzzSpec {
  uint64_t seed = 0;
  uint64_t count = 1000;  // graphs
  double minutes = 0;  // if positive: run that long instead
  std::string graph;  // only this graph, by its name (recipe.h); empty: all
  std::string device;  // also run every kernel there; empty: one in 16 on the CPU, with LLVM and clang
  std::vector<std::string> grow;  // golden files whose kernels and tensor graphs are mutated
  std::string known;  // a file of known unsound rules (known.h); empty: none
  // an export command, or a Python with tinygrad 0.12.0 and tgc.export, that compiles each graph, too
  std::string tinygrad;
  std::string folder;  // for bundles of findings; empty: none are written
  // A file that keeps the campaign's state (state.h) and continues it if it exists; empty: none. Then `count` and the
  // report concern the whole campaign, `minutes` this run.
  std::string state;
};

struct FuzzFinding {
  std::string verdict, stage, rule, branch;  // as bisect names them
  std::string said;
  uint64_t graph = 0;  // the first graph that shows it, by number from 0
  std::string name;  // the name of that graph
  std::string again;  // the command that makes that graph alone
  size_t times = 0, nodes = 0;  // how often it occurred; nodes of the reduced kernel
  std::string file;  // its bundle; if it could not be reduced, its graph
  std::string known;  // the matching known entry; empty if there is none

  // "known: rewrite lt-scaled, initial symbolic: 12 times, first graph 318, reduced to 9 nodes: FILE"
  std::string line() const;
};

struct FuzzReport {
  uint64_t seed = 0;
  size_t made = 0;  // graphs, as FuzzSpec::count counts them
  // kernels of these graphs (a tensor graph has as many as its schedule):
  size_t graphs = 0;  // compared
  size_t compiled = 0;  // too large for REF: only the lists with and without a watcher were compared
  size_t refused = 0;  // by a stage or the renderer, with a message
  size_t left_out = 0;  // meaningless: they read outside of their buffers
  size_t rounding = 0;  // runs whose differences rounding explains
  size_t runs = 0, device_runs = 0;  // in REF; on devices
  double seconds = 0;
  size_t with_tinygrad = 0;  // kernels with the same texts as tinygrad's
  size_t schedules_with_tinygrad = 0;  // schedules with the same texts
  size_t rules = 0, rules_hit = 0;  // all rewrite rules; those that applied
  std::vector<std::string> never_hit;  // "NAME FILE"
  std::vector<FuzzFinding> findings;
  bool knows_any = false;  // known unsound rules were given
  std::string error = {};

  int exit_code() const;  // 1 if there is a finding that is not known
  std::string text() const;
  std::string json() const;  // one line
};

FuzzReport fuzz(const Session& session, const FuzzSpec& spec);

}  // namespace tgc
