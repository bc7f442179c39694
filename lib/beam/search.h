// The search itself: rounds of candidates, and which of them stay (tinygrad codegen/opt/search.py: beam_search). It
// asks somebody else for the times, so that the same rounds are enumerated, replayed from a file and measured.
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/beam/beam_settings.h"
#include "lib/compilation/compilation.h"
#include "lib/execute/executable.h"
#include "lib/support/sha256.h"

namespace tgc {

// A list of opts as people and files have it, tinygrad's repr of each: "Opt(op=OptOps.UPCAST, axis=0, arg=4)".
using OptTexts = std::vector<std::string>;
OptTexts opt_texts(Graph& graph, std::span<const Opt> opts);
std::string joined(const OptTexts& opts);  // "[Opt(...), Opt(...)]", as --opts takes it
std::vector<Opt> read_opt_list(Graph& graph, const std::string& text);  // of that; throws Failure

// A kernel as tinygrad hands it to its search: rewritten up to the optimizer, its loops global where they can be.
class SearchKernel {
 public:
  // An error: no kernel's AST, one that is optimized already or says its opts itself, a stage that refuses it.
  static Result<SearchKernel> begin(Compilation compilation);

  Graph& graph() const { return compilation_.graph(); }
  const Target& target() const { return compilation_.target(); }
  const std::string& name() const { return compilation_.name(); }
  const Compilation& compilation() const { return compilation_; }
  const Scheduler& base() const { return *base_; }
  Sha256 key() const;                  // tinygrad's key of the graph (uop/ops.py: key)
  VariableValues variables() const;    // each at the middle of what it may be, as the search runs it

 private:
  SearchKernel(Compilation compilation, std::unique_ptr<Scheduler> base)
      : compilation_(std::move(compilation)), base_(std::move(base)) {}
  Compilation compilation_;
  std::unique_ptr<Scheduler> base_;
};

// What a round makes of its candidates.
class Rounds {
 public:
  struct Entry {
    std::shared_ptr<const Scheduler> kernel;
    double seconds = std::numeric_limits<double>::infinity();
  };

  Rounds(const SearchKernel& kernel, const BeamSettings& settings, size_t width);

  bool done() const { return done_; }
  const std::vector<Entry>& beam() const { return beam_; }      // the best first
  const Entry& best() const { return beam_.front(); }
  std::vector<std::shared_ptr<const Scheduler>> candidates() const;  // of the next round
  // Ends a round: the seconds of each candidate, none of one that was left out.
  void end_round(const std::vector<std::shared_ptr<const Scheduler>>& candidates,
                 const std::vector<std::optional<double>>& seconds);

 private:
  ActionLimits limits_;
  std::vector<Opt> actions_;
  size_t width_;
  double min_progress_;  // seconds
  std::vector<Entry> beam_;
  bool done_ = false;
};

}  // namespace tgc
