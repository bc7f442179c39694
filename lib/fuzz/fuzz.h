// Random kernels through every stage, each held against what it means: what `tgc fuzz` does, as a library. A kernel
// that computes something else is bisected and reduced, and told of once for each rule.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/driver/session.h"

namespace tgc {

struct FuzzSpec {
  uint64_t seed = 0;
  uint64_t count = 1000;  // graphs
  double minutes = 0;  // more than 0: until then, however many those are
  std::string graph;  // that one alone, by the name that a report gives it (lib/fuzz/recipe.h); empty: all
  std::string device;  // every kernel also runs there; empty: one in 16 on the CPU, by LLVM and clang
  std::vector<std::string> grow;  // golden files whose kernels and tensor graphs others are grown from
  std::string known;  // a file of known unsound rules (lib/fuzz/known.h); empty: none is
  // an export command, or a Python with tinygrad 0.12.0 and tgc.export: each graph is compiled there, too
  std::string tinygrad;
  std::string folder;  // where bundles of findings go; empty: nowhere
  // A file that keeps where the campaign is (lib/fuzz/state.h), from where it goes on when there is one; empty: none.
  // `count` and the report are of the whole campaign then, `minutes` of this run.
  std::string state;
};

struct FuzzFinding {
  std::string verdict, stage, rule, branch;  // as bisect names them
  std::string said;
  uint64_t graph = 0;  // of the first: its number, counted from 0
  std::string name;  // and its name
  std::string again;  // the command that makes that graph alone
  size_t times = 0, nodes = 0;  // how often; of the smallest
  std::string file;  // its bundle; where it could not be reduced, its graph
  std::string known;  // the entry that tells of it; empty: none does

  // "known: rewrite lt-scaled, initial symbolic: 12 times, first graph 318, reduced to 9 nodes: FILE"
  std::string line() const;
};

struct FuzzReport {
  uint64_t seed = 0;
  size_t made = 0;  // graphs, as FuzzSpec::count counts them; a tensor graph is as many kernels as its schedule has
  // of their kernels:
  size_t graphs = 0;  // that were compared
  size_t compiled = 0;  // too large for REF: watched and unwatched compared alone
  size_t refused = 0;  // by a stage or the renderer, with a message
  size_t left_out = 0;  // that say nothing: what they read or divide by is not there
  size_t rounding = 0;  // runs whose results differ by no more than what their operations' last bits add up to
  size_t runs = 0, device_runs = 0;  // in REF; on devices
  double seconds = 0;
  size_t with_tinygrad = 0;  // that are tinygrad's, text by text
  size_t schedules_with_tinygrad = 0;  // the same of the tensor graphs
  size_t rules = 0, rules_hit = 0;  // rewrite rules there are, and those that applied
  std::vector<std::string> never_hit;  // "NAME FILE"
  std::vector<FuzzFinding> findings;
  bool knows_any = false;  // rules known to be unsound were given
  std::string error = {};

  int exit_code() const;  // 1: a finding that is not known
  std::string text() const;
  std::string json() const;  // one line
};

FuzzReport fuzz(const Session& session, const FuzzSpec& spec);

}  // namespace tgc
