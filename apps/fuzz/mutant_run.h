// Runs mutants of golden graphs through commands of tgc.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "apps/fuzz/target.h"
#include "lib/compilation/input_graph.h"

namespace tgc::fuzz {

// Expands to X(phase) for each phase of a run, in the order in which run_mutant() runs them.
#define TGC_FUZZ_PHASES(X) \
  X(load) X(verify) X(texts) X(source) X(other) X(stats) X(trace) X(diff) X(ref) X(cpu) X(bisect) X(reduce) X(view)
enum class MutantPhase : uint8_t {
#define X(name) name,
  TGC_FUZZ_PHASES(X)
#undef X
};
inline constexpr int kNumPhases = 13;
std::string_view name_of(MutantPhase phase);

// Acceptable ends of a phase: success; an error message; a result that differs from REF's; a kernel that died, timed
// out or made a forbidden call in its worker.
enum class PhaseOutcome : uint8_t { fine, refused, different, contained };
inline constexpr int kNumOutcomes = 4;
std::string_view name_of(PhaseOutcome outcome);

// The log of a run of mutants. It has no pointers, so that processes can share its memory.
struct MutantLog {
  MutantPhase phase = MutantPhase::load;
  std::array<std::array<uint64_t, kNumOutcomes>, kNumPhases> outcome_counts = {};

  void enter_phase(MutantPhase p) { phase = p; }
  void count_outcome(PhaseOutcome how) { outcome_counts[size_t(phase)][size_t(how)]++; }
};

enum class GraphKind : uint8_t { kernel, stage, list, tensor };

struct MutantRunOptions {
  // true: runs all phases, and kernels in worker processes. false: runs the phases up to `ref`, which runs only small
  // kernels, in this process.
  bool uses_processes = false;
  double kernel_limit_seconds = 2;  // time limit for one kernel, for bisect and for reduce
};

// The first kMutationStepBytes bytes of `bytes` choose a graph of `kind`, a target and a kind of graphs to insert; the
// rest are mutation steps. A finding ends the process (report_finding()).
void run_mutant(GraphKind kind, Bytes bytes, const MutantRunOptions& options, MutantLog& log);

// Returns the mutant as JSON, or "" if the mutation steps make an invalid dtype or leave no nodes.
std::string mutant_as_json(GraphKind kind, Bytes bytes);

// A graph from which mutants are made: a golden kernel, its graph after a stage, its linear list, or a tensor graph.
struct SeedGraph {
  InputKind kind = InputKind::Pyrender;
  std::string text, name, stage, target;
  GoldenSettings settings;
};

// The first call reads the seeds from testdata.
std::span<const SeedGraph> seeds_of_kind(GraphKind kind);

// Reports a finding if the seed cannot be loaded.
InputGraph load_seed(const SeedGraph& seed);
// Returns the root of the copy.
UOp copy_seed(const SeedGraph& seed, Graph& into);

}  // namespace tgc::fuzz
