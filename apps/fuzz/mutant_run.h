// One mutant of a golden graph through everything that tgc does with a graph: it is written and loaded as a user would
// load it; what loading accepts is verified, written in every format, compiled, counted, traced, compared and run; who
// is to blame is asked, the smallest that fails so is sought, and a page of it is made.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

// X(what is done, in order)
#define TGC_FUZZ_PHASES(X) \
  X(load) X(verify) X(texts) X(source) X(other) X(stats) X(trace) X(diff) X(ref) X(cpu) X(bisect) X(reduce) X(view)
enum class Phase : uint8_t {
#define X(name) name,
  TGC_FUZZ_PHASES(X)
#undef X
};
inline constexpr int kNumPhases = 13;
std::string_view name_of(Phase phase);

// How a phase ended that a user may see end so: well; refused with a message; with another result than REF's; in a
// kernel that died or ran out of time in its own process, and was reported.
enum class Outcome : uint8_t { fine, refused, different, contained };
inline constexpr int kNumOutcomes = 4;
std::string_view name_of(Outcome outcome);

// What a run of mutants leaves behind, in plain memory, so that it may be shared with the process that is watched.
struct MutantLog {
  Phase phase = Phase::load;  // under way
  std::array<std::array<uint64_t, kNumOutcomes>, kNumPhases> count = {};
  char message[400] = {};     // of a finding

  void enter(Phase p) { phase = p; }
  void ended(Outcome how) { count[size_t(phase)][size_t(how)]++; }
  void note(const std::string& text);
};

enum class GraphKind : uint8_t { kernel, stage, list, tensor };

struct MutantRunOptions {
  // kernels run as `tgc run` runs them, on REF and on the CPU, and all that follows; else small ones on REF, in here
  bool processes = false;
  double seconds = 2;  // that a kernel may take, and that bisect and reduce have
};

// The first kStepBytes bytes choose the graph and a target, the others are steps. `kind`: of which graphs. A finding
// ends the process, by finding().
void run_mutant(GraphKind kind, Bytes bytes, const MutantRunOptions& options, MutantLog& log);

// The same graph as a file, for reports: JSON that every command reads; empty when the steps cannot be done.
std::string mutant_as_json(GraphKind kind, Bytes bytes);

}  // namespace tgc::fuzz
