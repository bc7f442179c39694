// The graphs from which mutants are made: golden kernels, their graphs after stages, their linear lists, and tensor
// graphs.
#pragma once
#include <span>

#include "apps/fuzz/mutant_run.h"
#include "lib/compilation/input_graph.h"

namespace tgc::fuzz {

struct Seed {
  InputKind kind = InputKind::Pyrender;
  std::string text, name, stage, target;
  GoldenSettings settings;
};

// Returns the seeds of a kind. The first call reads the seeds from testdata.
std::span<const Seed> seeds_of(GraphKind kind);

// Loads a seed, which never fails because seeds are golden graphs.
InputGraph load_seed(const Seed& seed);
// Copies a seed into `into` and returns its root.
UOp copy_seed(const Seed& seed, Graph& into);

}  // namespace tgc::fuzz
