// Runs a mutant of a golden graph through all of tgc: writes and loads it as a user would. If it loads, verifies it,
// writes it in every format, compiles, counts, traces, compares and runs it, bisects and reduces it, and makes a page.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "apps/fuzz/target.h"
#include "lib/compilation/input_graph.h"

namespace tgc::fuzz {

// Calls X(phase) for each phase, in the order in which a mutant runs through them.
#define TGC_FUZZ_PHASES(X) \
  X(load) X(verify) X(texts) X(source) X(other) X(stats) X(trace) X(diff) X(ref) X(cpu) X(bisect) X(reduce) X(view)
enum class Phase : uint8_t {
#define X(name) name,
  TGC_FUZZ_PHASES(X)
#undef X
};
inline constexpr int kNumPhases = 13;
std::string_view name_of(Phase phase);

// The acceptable ends of a phase, in this order: success; an error message; a result that differs from REF's; a report
// that a kernel died, timed out or made a forbidden call in its worker.
enum class Outcome : uint8_t { fine, refused, different, contained };
inline constexpr int kNumOutcomes = 4;
std::string_view name_of(Outcome outcome);

// The log of a run of mutants. It has no pointers, so that the watched process and its parent can share its memory.
struct MutantLog {
  Phase phase = Phase::load;  // the current phase
  std::array<std::array<uint64_t, kNumOutcomes>, kNumPhases> outcome_counts = {};
  char message[400] = {};     // message of the finding that ended the process

  void enter_phase(Phase p) { phase = p; }
  void count_outcome(Outcome how) { outcome_counts[size_t(phase)][size_t(how)]++; }
  void note_message(const std::string& text);
};

enum class GraphKind : uint8_t { kernel, stage, list, tensor };

struct MutantRunOptions {
  // true: go through all phases, with kernels in workers; false: stop after running a small kernel on REF in-process
  bool use_processes = false;
  double kernel_limit_seconds = 2;  // time limit of a kernel, of bisect and of reduce
};

// Runs a mutant. The first kStepBytes bytes of `bytes` choose a graph of `kind` and a target; the rest are mutation
// steps. A finding ends the process (report_finding()).
void run_mutant(GraphKind kind, Bytes bytes, const MutantRunOptions& options, MutantLog& log);

// Returns the mutant as JSON that every command reads, for reports; empty if the mutation steps do not apply.
std::string mutant_as_json(GraphKind kind, Bytes bytes);

// A graph from which mutants are made: a golden kernel, its graph after a stage, its linear list, or a golden tensor
// graph.
struct Seed {
  InputKind kind = InputKind::Pyrender;
  std::string text, name, stage, target;
  GoldenSettings settings;
};

// Returns the seeds of a kind. The first call reads the seeds from testdata.
std::span<const Seed> seeds_of_kind(GraphKind kind);

// Loads a seed, which never fails because seeds are golden graphs.
InputGraph load_seed(const Seed& seed);
// Copies a seed into `into` and returns its root.
UOp copy_seed(const Seed& seed, Graph& into);

}  // namespace tgc::fuzz
