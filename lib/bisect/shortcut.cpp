#include "lib/bisect/strategies.h"
#include "lib/rewrite/shortcut.h"

namespace tgc {
namespace {

// Makes one shortcut call the slow function that it replaces, until this object is destroyed.
class FaithfulShortcut : public ShortcutTrial {
 public:
  FaithfulShortcut(const Shortcut& shortcut, Graph& graph)
      : shortcut_(shortcut), graph_(graph), previous_trial_(shortcut_trial_of(graph)) {
    set_shortcut_trial(graph, this);
  }
  ~FaithfulShortcut() override { set_shortcut_trial(graph_, previous_trial_); }
  ShortcutWay choose_way(const Shortcut& shortcut, ShortcutWay usual) override {
    return &shortcut == &shortcut_ ? ShortcutWay::Faithful
           : previous_trial_       ? previous_trial_->choose_way(shortcut, usual)
                                   : usual;
  }
  void review_result(const Shortcut& shortcut, ShortcutWay way, std::span<UOp> result) override {
    if (previous_trial_) previous_trial_->review_result(shortcut, way, result);
  }

 private:
  const Shortcut& shortcut_;
  Graph& graph_;
  ShortcutTrial* previous_trial_;
};

}  // namespace

std::optional<Verdict> find_wrong_shortcut(const FailureRepro&, BisectExecutor& executor) {
  const bool passes = executor.first_outcome().passes();
  if (executor.is_flaky() || passes == executor.observed_run().outcome.passes()) return std::nullopt;
  Verdict out{Verdict::Kind::Shortcut, passes ? "it fails only when watched" : "it passes when watched"};
  for (const Shortcut* s : all_shortcuts()) {
    Compilation c = executor.begin_compilation();
    FaithfulShortcut faithful(*s, c.graph());
    if (executor.compile_and_run(c).passes() == passes) continue;
    out.rule = s->name, out.location = std::string(s->file) + ":" + std::to_string(s->line);
    out.is_confirmed = true;
    break;
  }
  return out;
}

}  // namespace tgc
