// Compiles and filters the candidates of a search (tinygrad codegen/opt/search.py: _try_compile, beam_search).
#pragma once
#include <functional>
#include <set>

#include "lib/beam/search.h"
#include "lib/runtime/device.h"

namespace tgc {

enum class CandidateOutcome : uint8_t {
  Timed,
  Refused,
  TooLarge,           // the linear list has at least BEAM_UOPS_MAX UOps
  Duplicate,
  TooManyOperations,
  TooSlow,
  Failed,
  Wrong,              // wrong result, or an error while checking the result
  Unknown,            // the candidate was not classified, was only listed, or has no recorded time
};
inline constexpr size_t kNumOutcomes = size_t(CandidateOutcome::Unknown) + 1;
std::string_view name_of(CandidateOutcome outcome);

struct BeamCandidate {
  std::shared_ptr<Graph> graph;  // the executable refers to it
  size_t num_uops = 0;
  // The operations of one launch, without index math (tinygrad's Estimates.ops).
  double num_operations = 0;
  std::string code_identity;
  std::optional<Executable> executable;
  CandidateOutcome outcome = CandidateOutcome::Timed;
  std::string failure_reason;
};

// The code whose digest is the same for duplicate candidates. None: candidates are not lowered, and no duplicates are
// found.
enum class CodeIdentity : uint8_t { Binary, Source, None };

struct CandidateSpec {
  // Replaces tgc's own pipeline: sets the candidate's graph and executable. Throws Failure.
  using Compile = std::function<void(BeamCandidate&, const std::string& opts)>;

  const Target& target;
  Settings settings;
  VariableValues variables;
  int64_t max_uops = 3000;
  CodeIdentity code_identity = CodeIdentity::Binary;
  bool runs_threads_in_turn = false;  // the threads of a CPU kernel run one after another
  Compile compile_candidate = {};          // empty: tgc's own pipeline
  Device* device = nullptr;  // null: tgc's own pipeline stops at the source, whose digest finds duplicates
};

// Compiles `ast`, a result of Scheduler::make_optimized_ast(). An error makes the candidate Refused. Thread-safe: only
// reads the graph of `ast`.
BeamCandidate make_candidate(UOp ast, const CandidateSpec& spec);

// Compiles the kernel with `opts` by `spec.compile_candidate`, which must be set.
BeamCandidate make_candidate(const OptTexts& opts, const CandidateSpec& spec);

class CandidateFilter {
 public:
  void begin_round() { fewest_operations_ = std::numeric_limits<double>::infinity(); }
  // Returns Timed if the candidate shall be run, otherwise the reason to skip it.
  CandidateOutcome classify_candidate(const BeamCandidate& candidate);
  // Records a candidate that an interrupted search classified, so that later candidates are compared with it.
  void record_candidate(CandidateOutcome outcome, double ops, const std::string& code_identity);

 private:
  std::set<std::string> seen_identities_;
  double fewest_operations_ = std::numeric_limits<double>::infinity();
};

}  // namespace tgc
