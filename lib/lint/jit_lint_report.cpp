#include <algorithm>

#include "lib/lint/jit_lint.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

constexpr JitFindingKind kKinds[] = {
    {"frozen-value", "a number or a text that the function uses has changed since the capture"},
    {"frozen-tensor", "a tensor that the function uses without being passed is another one than in the capture"},
    {"frozen-list", "a list with tensors that the function uses has grown or shrunk since the capture"},
    {"unrealized-tensor", "a tensor that the function uses has a value that is not computed yet when it is called"},
    {"frozen-object", "the function is called with another object than in the capture"},
    {"baked-value", "the function reads a tensor's value into Python"},
    {"side-effect", "the function changes a variable, which a replay does not"},
    {"lost-assign", "no captured kernel performs an assignment inside the function"},
    {"lost-store", "no schedule has an assignment outside of all jits, so that it has no effect"},
    {"overwritten-output", "the result of a call is used after a later call overwrote it"},
    {"aliased-input", "an input is the captured output in the first replay, and another tensor later"},
    {"overwritten-input", "an input is a result of an earlier call, and a kernel overwrites it before its last read"},
    {"bound-shape", "a result has the shape that was bound in the capture, and the call binds another one"},
    {"unwritten-buffer", "a tensor that the capture made is computed later from a buffer that no replay writes"},
    {"stale-tensor",
     "a tensor that the capture made is computed later from the capture's inputs, not from the last call's"},
    {"unread-input", "no captured kernel reads or writes an input"},
    {"broken-batch", "a copy or another device's kernel stands between kernels that could be launched at once"},
    {"refused", "the jit raised an error"},
};

constexpr JitFindingKind kNotes[] = {
    {"implicit-input",
     "a tensor is assigned to between calls instead of being passed: realize it before the next call"},
    {"contained-input", "tensors are passed in a container: they are inputs, but those of a nested container are not"},
    {"shared-output", "all calls return the same buffer: use or copy a result before the next call", true},
};

constexpr JitRemedy kRemedies[] = {
    {"duplicate inputs", "one buffer is passed as two arguments, and a replay could not tell which is which",
     "pass each tensor once, or a copy of it: x.clone().realize()"},
    {"non-Tensor", "a replay computes tensors only",
     "return tensors alone, and compute the rest outside of the function"},
    {"inside another TinyJit", "the inner function is captured while the outer one is", "jit the outer function alone",
     true},
    {"didn't JIT anything", "no kernel ran in the function",
     "realize something that depends on the inputs inside the function"},
    {"access tensor data", "the value of a tensor is unknown during the capture",
     "keep .item(), .tolist() and .numpy() outside of the function", true},
    {"TRAINING must be", "an optimizer's step is for training alone",
     "call it within Tensor.train() or Context(TRAINING=1)", true},
    {"must be", "an input has no buffer of its own", "pass a tensor with a buffer of its own: x.clone().realize()"},
    {"const", "an input is a constant, which has no buffer",
     "pass a tensor with a buffer of its own: Tensor([2]).realize(), or x.clone().realize()"},
    {"expected_names", "the arguments are passed differently than in the capture",
     "pass each by position or by name as in the captured call"},
    {"args mismatch", "an input differs from the captured one",
     "jit each shape on its own, make the size a Variable, or pass a copy of a view: x.clone().realize()"},
};

bool is_usual_note(const JitFinding& note) {
  return std::ranges::any_of(jit_note_kinds(),
                             [&](const JitFindingKind& k) { return k.is_usual_note && k.kind == note.kind; });
}

}  // namespace

std::span<const JitFindingKind> jit_finding_kinds() { return kKinds; }
std::span<const JitFindingKind> jit_note_kinds() { return kNotes; }

const JitRemedy* find_jit_remedy(std::string_view error) {
  const bool is_of_jit = error.starts_with("JitError") || error.starts_with("AssertionError");
  auto it = std::ranges::find_if(kRemedies, [&](const JitRemedy& r) {
    return (is_of_jit || r.is_for_any_error) && error.find(r.message_part) != error.npos;
  });
  return it == std::end(kRemedies) ? nullptr : it;
}

std::string JitLinter::text(bool all_notes) const {
  std::string out;
  auto add = [&](const JitFinding& f, std::string_view before, std::string_view heading) {
    out.append(f.python_location).append(": ").append(before).append(f.kind).append(" in ").append(f.function);
    out += (f.kernel.empty() ? "" : ", kernel " + f.kernel) + (f.buffer ? ", buffer " + std::to_string(*f.buffer) : "");
    out.append("\n  ").append(f.problem_text).append("\n  ").append(heading).append(f.fix_text) += '\n';
  };
  for (const JitFinding& f : findings_) add(f, "", "fix: ");
  size_t usual = 0;
  for (const JitFinding& n : notes_) {
    if (all_notes || !is_usual_note(n)) add(n, "note: ", "keep: ");
    else usual++;
  }
  const std::string_view lacks = lacks_late_tensors_
                                     ? "tensors that a capture makes and the program computes later"
                                     : "assignments in a capture whose inputs are on several devices";
  if (!has_all_facts() && !findings_.empty())
    out.append("not checked: ").append(lacks).append("; to check them, record again\n");
  const size_t shown = notes_.size() - usual;
  out += count_text(num_calls_, "call") + " of " + count_text(jits_by_number_.size(), "TinyJit") + ", ";
  if (has_all_facts() || !findings_.empty()) out += count_text(findings_.size(), "finding");
  else
    out.append("not decided: an older exporter made the recording, without what decides ").append(lacks)
        .append("; record again");
  out += shown ? ", " + count_text(shown, "note") : "";
  if (usual) out += shown ? ", " + std::to_string(usual) + " more" : ", " + count_text(usual, "note");
  return out + (usual ? " with --notes\n" : "\n");
}

std::string JitLinter::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("calls", num_calls_).member("jits", jits_by_number_.size()).member("decided", has_all_facts());
    auto list = [&](std::string_view key, const std::vector<JitFinding>& findings) {
      json.key(key).array([&] {
        for (const JitFinding& f : findings)
          json.start_line().object([&] {
            json.member("what", f.kind).member("function", f.function).member("where", f.python_location);
            json.member("happens", f.problem_text).member("mend", f.fix_text);
            if (!f.kernel.empty()) json.member("kernel", f.kernel);
            if (f.buffer) json.member("buffer", *f.buffer);
          });
      });
    };
    list("findings", findings_), list("notes", notes_);
  }) + "\n";
}

CiReport JitLinter::ci_report() const {
  std::vector<CiRule> rules;
  for (const JitFindingKind& k : jit_finding_kinds()) rules.push_back({k.kind, k.help_text});
  CiReport out("lint", rules);
  for (const JitFinding& f : findings_) {
    auto [file, line] = parse_file_and_line(f.python_location);
    out.add_case({.verdict = CiVerdict::Failed,
                  .name = f.kind + " in " + f.function + " at " + f.python_location,
                  .rule = f.kind,
                  .message = f.problem_text,
                  .details_text = "fix: " + f.fix_text,
                  .file = file,
                  .line = line});
  }
  if (findings_.empty())
    out.add_case({.name = count_text(num_calls_, "call") + " of " + count_text(jits_by_number_.size(), "TinyJit")});
  return out;
}

}  // namespace tgc
