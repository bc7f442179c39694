// Decides whether two isolated expressions are equal for all values of their leaves.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/prove/encode.h"
#include "lib/prove/known_verdicts.h"
#include "lib/prove/normal_forms.h"
#include "lib/support/z3.h"
#include "lib/validate/side_expressions.h"

namespace tgc {

// Z3's answer to a text.
enum class SmtAnswer : uint8_t { Unsat, Sat, Unknown };

// The answers for all obligations so far, by their text. The text has no names of the kernel, so obligations that are
// equal up to renaming are one. Threads may share a cache.
class ProofCache {
 public:
  std::optional<SmtAnswer> find(const std::string& text);
  void add(const std::string& text, SmtAnswer answer);
  // Take the answers of the compile cache, at the first question, and keep new ones there. Another version of Z3 or of
  // the encoding has other answers.
  void read() { is_kept_ = true; }
  void write();
  KnownVerdicts* verdicts() { return is_kept_ ? &verdicts_ : nullptr; }  // null: no verdicts are kept

 private:
  void read_answers();

  bool is_kept_ = false;
  KnownVerdicts verdicts_;
  std::once_flag is_read_;
  std::mutex mutex_;
  std::unordered_map<std::string, SmtAnswer> answers_;  // by the SHA-256 of the text
  size_t read_ = 0;  // number of answers that were read
  static constexpr size_t kEntry = 33;  // bytes of an entry in the file
};

// The statement that one lane of two sides differs for some values of the leaves.
struct Obligation {
  std::string text = {};  // SMT-LIB: the sides are equal if it is unsatisfiable
  std::string assumptions = {};  // for FloatSense::Finite: the text without the sides, which must be satisfiable
  bool is_trivial = false;  // both sides have the same text
};

// Throws Unencodable.
Obligation obligation_of(Encoder& encoder, const ComparedValues& v, int lane, FloatSense floats);

// The outcome for one pair of values.
struct ProofOutcome {
  enum class Kind : uint8_t { Proven, Open };
  Kind kind = Kind::Open;
  FloatSense sense = FloatSense::Uninterpreted;  // for a proof: the weakest sense that was needed
  bool has_floats = false;
  bool is_settled = false;  // if Open: no other encoding of integers can prove it
  std::string why = {};  // if Open: why no proof was found
  std::string form = {};  // the SHA-256 of the first questions: the same for pairs that are equal up to renaming
};

struct ProofLimits {
  uint64_t rlimit = 600'000;  // Z3's unit of work, for each question; 1 million takes about 0.3 s
  uint64_t numbers_rlimit = 600'000;  // the same, for unbounded integers and real numbers
  uint64_t ieee_rlimit = 600'000;  // the same, for IEEE 754
  uint64_t brief_rlimit = 100'000;  // the same, for a first attempt alone
  double seconds = 5;  // processor time for each question: Z3 does not count the work on very large numbers
  double brief_seconds = 2;  // the same, for a first attempt in a context that questions share; twice what it needs
  size_t small_text = 450;  // bytes of a text, of one op on floats, that gets all resources at once
  size_t long_text = 8000;  // bytes of a text about numbers that gets few resources: Z3 decides it at once or never
  uint64_t shared_rlimit = 60'000;  // the same, for the first attempt in a context that questions share
  size_t most_nodes = 400;  // nodes of an expression that are encoded; deeper nodes are unknown values
  size_t many_nodes = 100;  // for a large expression on floats: the nodes near its root are decided first
  size_t most_expanded = 60;  // nodes that both sides contain and that are encoded, not unknown values
};

struct ProofCounts {
  size_t questions = 0, hard = 0, cached = 0, trivial = 0;
  double z3_seconds = 0;
};

// Proves pairs of one ExprIsolator. One thread may use a prover.
class Prover {
 public:
  Prover(const ExprIsolator& isolator, ProofCache& cache, ProofLimits limits = {})
      : intervals_(isolator), cache_(cache), limits_(limits) {}

  // Proves all lanes of the pair. With `over_reals`, tries no IEEE arithmetic: floats are real numbers, or each op on
  // them is an unknown function.
  ProofOutcome prove(const ComparedValues& values, bool over_reals = false);
  const ProofCounts& counts() const { return counts_; }
  // Says that registers and shared memory of the kernel may hold infinities.
  void set_infinities() { intervals_.set_infinities(); }

 private:
  struct Frontier;
  ProofOutcome prove_lane(const ComparedValues& v, int lane, const Frontier& near, const Frontier& far,
                          bool over_reals);
  enum class Effort : uint8_t {
    Light,  // in the shared context
    Usual,  // there, then alone
    Brief,  // alone, with few resources
    Hard,  // alone, with all resources
  };
  // With `is_first`, spends less effort, because the caller asks again in other senses.
  ProofOutcome ask(const ComparedValues& v, int lane, const Frontier& cuts, Senses senses, bool is_first);
  Frontier frontier(const ComparedValues& v, int lane, size_t more, size_t most_depth = SIZE_MAX) const;
  SmtAnswer answer(const std::string& text, Effort effort, IntSense ints, uint64_t rlimit);
  void match_reductions(Frontier& cuts);
  bool can_hold(const std::string& assumptions);

  Intervals intervals_;
  NormalForms forms_{intervals_};
  ProofCache& cache_;
  ProofLimits limits_;
  ProofCounts counts_;
  std::map<uint32_t, std::pair<UOp, FloatSense>> equal_reductions_;  // by node id: an equal reduction of the other side
  int depth_ = 0;
};

}  // namespace tgc
