// What bites users of TinyJit silently, found in a recording of its calls (scripts/tinygrad_export.py writes
// out.jit.jsonl.gz beside the kernels): a function is traced once and replayed, so whatever it does besides kernels on
// its inputs stays as it was.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct JitFinding {
  std::string what;      // "frozen-value": one of kJitFindings
  std::string function;  // that is jitted
  std::string where;     // the line of Python
  std::string happens;   // what comes of it
  std::string mend;
  std::string kernel = {};  // of the captured ones, the first that it is about; empty: none, or not recorded
  std::optional<int64_t> buffer = {};  // by its number in the recording
};

struct JitFindingKind {
  std::string_view what, help;
  bool is_usual = false;  // of notes: nearly every program has it
};
std::span<const JitFindingKind> jit_finding_kinds();
std::span<const JitFindingKind> jit_note_kinds();

class JitLint {
 public:
  // The events of a recording, a line each, in order; the first is its header. Errors: a line that is no event.
  Status add(std::string_view line, std::string_view file, uint32_t number);

  const std::vector<JitFinding>& findings() const { return findings_; }
  // What goes well as it is, and would not if the program did without something: `what` is a kind of note.
  const std::vector<JitFinding>& notes() const { return notes_; }
  size_t calls() const { return calls_; }
  // Findings, then notes: of the usual ones only how many there are, unless `all_notes`.
  std::string text(bool all_notes = false) const;
  std::string json() const;

 private:
  struct Call;
  struct Jit;
  void call(const Call& now);
  void compare_with_capture(Jit& jit, const Call& now);
  void outputs(Jit& jit, const Call& now);
  void used(size_t jit, size_t call, int64_t buffer, const std::string& where);
  void look_at_capture(Jit& jit, const Call& now);
  void rebound(const Jit& jit, const Call& now);
  void gradient_lost(size_t number, const std::string& place, const std::string& from);
  void refused(const Jit& jit, const Call& now);
  void note(const Jit& jit, std::string_view what, const std::string& where, std::string happens, std::string mend);
  // Adds a finding; of each jit one of that kind with that `once`, or else at that place. Null: it is known.
  JitFinding* find(const Jit& jit, std::string_view what, const std::string& where, std::string happens,
                   std::string mend, const std::string& once = {});

  std::map<size_t, std::shared_ptr<Jit>> jits_;
  std::vector<JitFinding> findings_, notes_;
  std::map<int64_t, std::string> assigned_;  // outside of every jit: the buffer, and where
  std::set<std::string> told_;
  size_t calls_ = 0;
};

}  // namespace tgc
