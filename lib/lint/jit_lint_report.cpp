// Formats the findings and notes of `tgc lint`: as text and as JSON.
#include <algorithm>

#include "lib/lint/jit_lint.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {

static bool is_usual(const JitFinding& note) {
  return std::ranges::any_of(jit_note_kinds(),
                             [&](const JitFindingKind& k) { return k.is_usual && k.what == note.what; });
}

std::string JitLint::text(bool all_notes) const {
  std::string out;
  auto add = [&](const JitFinding& f, std::string_view before, std::string_view mend) {
    out.append(f.where).append(": ").append(before).append(f.what).append(" in ").append(f.function);
    out += (f.kernel.empty() ? "" : ", kernel " + f.kernel) + (f.buffer ? ", buffer " + std::to_string(*f.buffer) : "");
    out.append("\n  ").append(f.happens).append("\n  ").append(mend).append(f.mend) += '\n';
  };
  for (const JitFinding& f : findings_) add(f, "", "fix: ");
  size_t usual = 0;
  for (const JitFinding& n : notes_) {
    if (all_notes || !is_usual(n)) add(n, "note: ", "keep: ");
    else usual++;
  }
  const size_t shown = notes_.size() - usual;
  out += counted(calls_, "call") + " of " + counted(jits_.size(), "TinyJit") + ", " +
         counted(findings_.size(), "finding") + (shown ? ", " + counted(shown, "note") : "");
  if (usual) out += shown ? ", " + std::to_string(usual) + " more" : ", " + counted(usual, "note");
  return out + (usual ? " with --notes\n" : "\n");
}

std::string JitLint::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("calls", calls_).member("jits", jits_.size());
    auto list = [&](std::string_view key, const std::vector<JitFinding>& findings) {
      json.key(key).array([&] {
        for (const JitFinding& f : findings)
          json.line().object([&] {
            json.member("what", f.what).member("function", f.function).member("where", f.where);
            json.member("happens", f.happens).member("mend", f.mend);
            if (!f.kernel.empty()) json.member("kernel", f.kernel);
            if (f.buffer) json.member("buffer", *f.buffer);
          });
      });
    };
    list("findings", findings_), list("notes", notes_);
  }) + "\n";
}

CiReport JitLint::ci() const {
  std::vector<CiRule> rules;
  for (const JitFindingKind& k : jit_finding_kinds()) rules.push_back({k.what, k.help});
  CiReport out("lint", rules);
  for (const JitFinding& f : findings_) {
    auto [file, line] = file_and_line(f.where);
    out.add({.verdict = CiVerdict::Failed, .name = f.what + " in " + f.function + " at " + f.where, .rule = f.what,
             .message = f.happens, .details = "fix: " + f.mend, .file = file, .line = line});
  }
  if (findings_.empty()) out.add({.name = counted(calls_, "call") + " of " + counted(jits_.size(), "TinyJit")});
  return out;
}

}  // namespace tgc
