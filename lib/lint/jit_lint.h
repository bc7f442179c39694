// `tgc lint`: finds wrong uses of TinyJit in a recording of TinyJit calls (out.jit.jsonl.gz, which
// scripts/tinygrad_export.py writes). A replay only runs the kernels that a TinyJit captured, and does nothing else
// that the function does.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/ci_report.h"
#include "lib/support/result.h"

namespace tgc {

struct JitFinding {
  std::string kind;                    // the kind, such as "frozen-value" (jit_finding_kinds, jit_note_kinds)
  std::string function;                // name of the jitted function; for "lost-store", the function that assigns
  std::string python_location;
  std::string problem_text;
  std::string fix_text;
  std::string kernel = {};             // name of the first affected kernel of the capture; empty if unknown
  std::optional<int64_t> buffer = {};  // number of the affected buffer in the recording; unset if unknown
};

struct JitFindingKind {
  std::string_view kind, help_text;
  bool is_usual_note = false;
};
std::span<const JitFindingKind> jit_finding_kinds();
std::span<const JitFindingKind> jit_note_kinds();

// The explanation and correction of TinyJit errors whose message contains `message_part`.
struct JitRemedy {
  std::string_view message_part, explanation, fix_text;
  bool is_for_any_error = false;      // false: applies only to a JitError or an AssertionError
};
const JitRemedy* find_jit_remedy(std::string_view error);  // returns null if the error is unknown

class JitLinter {
 public:
  // Adds the next line of a recording, which is a header or an event. Returns an error if the line cannot be read as
  // either, or is the header of another kind of recording.
  Status add_line(std::string_view line, std::string_view file, uint32_t number);

  const std::vector<JitFinding>& findings() const { return findings_; }
  // Returns the notes, each about code that is correct only because of a precaution.
  const std::vector<JitFinding>& notes() const { return notes_; }
  size_t num_calls() const { return num_calls_; }
  // Returns false if the recording lacks facts that some kinds of findings need.
  bool has_all_facts() const { return !lacks_late_tensors_ && !lacks_kernels_; }
  // Returns the findings, the notes and a summary. Unless `all_notes` is set, omits notes with is_usual_note.
  std::string text(bool all_notes = false) const;
  std::string json() const;
  CiReport ci_report() const;  // returns a failed case for each finding, or one passed case

 private:
  struct JitCall;
  struct JitState;
  void check_call(const JitCall& now);
  void check_capture(JitState& jit, const JitCall& now);
  struct LateTensor;
  void check_late_tensor(const LateTensor& late);
  void add_lost_store(const std::string& place, size_t count);
  void check_replay(JitState& jit, const JitCall& now);
  void check_overwritten_input(const JitState& jit, const JitCall& now, const std::string& name);
  void check_bound_shape(const JitState& jit, const JitCall& now, const std::string& name);
  void check_rebinds(const JitState& jit, const JitCall& now);
  void check_outputs(JitState& jit, const JitCall& now);
  void check_buffer_use(size_t jit, size_t call, int64_t buffer, const std::string& where);
  void add_lost_gradient(size_t number, const std::string& place, const std::string& from);
  void add_error(const JitState& jit, const JitCall& now);
  void add_note(const JitState& jit, std::string_view kind, const std::string& where, std::string problem_text,
                std::string fix_text);
  // `once` is the key of the finding; if it is empty, `where` is the key. Adds nothing and returns null if the jitted
  // function already has a finding of this `kind` with this key.
  JitFinding* add_finding(const JitState& jit, std::string_view kind, const std::string& where,
                          std::string problem_text, std::string fix_text, const std::string& once = {});

  std::map<size_t, std::shared_ptr<JitState>> jits_by_number_;
  std::vector<JitFinding> findings_, notes_;
  std::map<int64_t, std::string> assigned_buffers_;
  std::set<std::string> reported_keys_;
  bool has_input_copies_ = false;        // the recorded tinygrad's replays copy inputs that their kernels overwrite
  bool lacks_late_tensors_ = false;  // a capture has no "moved" list, because an older exporter made the recording
  bool lacks_kernels_ = false;      // a capture with uncomputed assignments has no recorded kernels
  size_t num_calls_ = 0;
};

}  // namespace tgc
