// A kernel that computes something else than is expected of it, and all the ways to run it again: compiled anew with
// someone who watches or leaves out rewrites; a graph on the way, in REF; a list whose source is compiled another way.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "lib/bisect/bisect.h"
#include "lib/driver/session.h"
#include "lib/execute/lower.h"
#include "lib/run/failure_signature.h"

namespace tgc {

struct Outcome {
  enum class Kind : uint8_t { Passes, Fails, Dies, Refused };
  Kind kind = Kind::Passes;
  Diag diag = {};  // of what dies or is refused
  bool passes() const { return kind == Kind::Passes; }
  bool is_refused() const { return kind == Kind::Refused; }
  std::string error() const { return diag.message.empty() ? "" : diag.text(); }
};

inline bool is_endless(const Outcome& o) { return is_endless(o.diag); }

// Elements of arrays by their places, where not all are known: of each array named in it those places alone count.
using KnownPlaces = std::map<std::string, std::vector<int64_t>>;

// What is known of a kernel that runs among others: its arrays before, and what is expected of it, at some places.
struct GivenRun {
  Arrays inputs, expected;
  KnownPlaces places;
};

// The command that bisects again; it begins with TGC_FAULT where that is set.
std::string bisect_again(const RunOptions& spec, const std::string& options);

// All of it throws Failure: trouble, which is no verdict.
class FailureRepro {
 public:
  // They outlive this. Runs are counted in the report.
  FailureRepro(const Session& session, InputGraph& in, const RunOptions& spec, BisectReport& report);

  // Finds out where it runs, what goes in and what is expected to come out. What does not pass: the kernel itself, as
  // it came in, dies in REF.
  Outcome prepare(const GivenRun* given = nullptr);
  // Whether the graph as it came in, run by REF, is not what a file or another device expects: no rewrite is to blame.
  bool is_wrong_itself();
  // Of a kernel too large for REF but some elements are known: whether that was so; now all of them are.
  bool expect_all();
  // A shell command tells instead, of the file of a graph in the place of {}: 0 is that it fails.
  void prepare(const std::string& command);

  const Session& session() const { return session_; }
  InputGraph& in() const { return in_; }
  const RunOptions& spec() const { return o_; }
  Placement& place() { return place_; }
  const Arrays& inputs() const { return inputs_; }

  // A bundle of the kernel with its arrays, and whom the report blames, in the file that `repro` of the spec says; the
  // report names it, and the command that takes it.
  void keep();

  // A compilation of its own, from a graph of its own.
  Compilation begin() const { return begin(place_.target->name()); }
  Compilation begin(const std::string& target) const { return begin(target, settings()); }
  Compilation begin(const std::string& target, const Settings& settings) const;
  // Throws Failure when the place where it fails runs no kernel at all: then there is nobody to blame.
  void expect_place_works();
  // From now on as many nodes may wait in a rewrite as tinygrad lets wait, if the case says fewer: whoever watches a
  // compilation, or leaves a rewrite out of it, makes graphs on the way that the case itself does not.
  void raise_stack_limit();
  // Whether each rewrite ends when so many nodes may wait.
  bool ends_with_limit(int64_t rewrite_stack_limit) const;
  // Whether a linear list is run as it stands: there is nothing that could be compiled another way.
  bool is_list() const { return !list_.empty(); }
  // Compiled and run, with someone watching, or nobody.
  Outcome attempt(Watcher* watcher = nullptr);
  Outcome attempt(Compilation& c, Watcher* watcher);
  Outcome run_list(std::span<const UOp> list);
  // At any stage, in REF. Of a kernel that is not small with its outer loops cut short: some elements are compared.
  Outcome run_graph(UOp root);
  // Whether REF runs the whole kernel in a moment.
  bool is_small() const { return is_small_; }
  // What an executable for `device` does.
  Outcome run(Executable& kernel, Device& device);
  // Whether a list, run by REF, computes what is expected; also when REF cannot run it. `notes`: what it notes then.
  bool is_right_in_ref(std::span<const UOp> list, std::string& notes);
  // What the device, or REF, stores when it runs that list, with arrays of its own besides the kernel's; nothing when
  // it refuses it, or the kernel dies.
  std::optional<Arrays> stored_by_device(std::span<const UOp> list, const Arrays& more = {});
  std::optional<Arrays> stored_by_ref(std::span<const UOp> list, const Arrays& more = {});
  // Whether the device and REF store the same.
  bool is_alike(std::span<const UOp> list, const Arrays& more = {});
  // The first element by which two arrays differ more than rounding explains.
  std::optional<int64_t> first_difference(const Array& actual, const Array& expected) const;
  // The executable of a list for the place where it fails; of REF none.
  Result<Executable> executable(std::span<const UOp> list);

 private:
  const Settings& settings() const { return settings_; }
  void go_on() const;  // throws Failure when the session is cancelled
  void choose_place();
  Outcome expect(bool all = false);
  Outcome run_stages(Compilation& c);
  Outcome run_command(UOp root) const;
  Outcome run_cut_short(UOp root);
  Arrays expected_at(const KnownPlaces& places) const;
  Arrays inputs_of(const Executable& kernel, const Arrays& more = {}) const;
  ExecuteOptions options() const;
  Result<Execution> run_in_ref(Executable& kernel, const Arrays& inputs) const;
  Outcome judged(const Result<Execution>& done);
  Outcome noted(Outcome outcome);

  const Session& session_;
  InputGraph& in_;
  const RunOptions& o_;
  BisectReport& report_;
  Settings settings_;  // the graph's own, but for the limit
  Placement place_;
  std::span<const UOp> list_;        // that is run as it stands: a listing, or a record's own
  std::vector<UOp> recorded_;
  std::string command_;
  Arrays inputs_, expected_;
  KnownPlaces places_;
  Outcome failed_;                   // of the first attempt that did not pass
  bool is_expected_by_ref_ = false;  // what is expected is what REF makes of the graph
  bool may_hang_on_rounding_ = true, is_small_ = true;
  std::map<std::string, std::pair<Outcome, int>> outcomes_;  // by source: and how often it was asked for again
};

}  // namespace tgc
