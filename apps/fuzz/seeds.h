// The graphs that mutants are made of: the golden kernels, what the stages made of them, their linear lists, and the
// tensor graphs.
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

// Read once, when first asked for.
std::span<const Seed> seeds_of(GraphKind kind);

// The seed as a graph; every one of them loads.
InputGraph load_seed(const Seed& seed);
// Its root as a node of `into`.
UOp copy_seed(const Seed& seed, Graph& into);

}  // namespace tgc::fuzz
