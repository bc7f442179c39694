// Checks with the golden records of testdata/ that the fast path of each shortcut (lib/rewrite/shortcut.h) has the same
// result as applying the rules, and that this comparison detects a fault in either way.
#include "lib/rewrite/shortcut.h"

#include <map>

#include "lib/compilation/golden_cases_testing.h"
#include "lib/rewrite/fault.h"

namespace tgc {
namespace {

// Makes every shortcut except `goes_faithful` use its fast path. Corrupts the first results of `faulty` in
// `faulty_way`.
struct Trial : ShortcutTrial {
  const Shortcut* goes_faithful = nullptr;
  const Shortcut* faulty = nullptr;
  ShortcutWay faulty_way = ShortcutWay::Quick;
  std::map<const Shortcut*, size_t> quick, faithful;  // number of results of each shortcut
  static constexpr size_t kMostFaults = 16;           // limit, so that the rewriting ends

  ShortcutWay choose_way(const Shortcut& what, ShortcutWay) override {
    return &what == goes_faithful ? ShortcutWay::Faithful : ShortcutWay::Quick;
  }
  void review_result(const Shortcut& what, ShortcutWay way, std::span<UOp> result) override {
    size_t& count = (way == ShortcutWay::Quick ? quick : faithful)[&what];
    if (&what == faulty && way == faulty_way && count < kMostFaults)
      for (UOp& u : result)
        if (u) u = change_some_value(u);
    count++;
  }
};

StageGraphs run_kernel(const GoldenCase& c, Graph& common, Trial& trial) {
  return run_all_stages(c, common, [&](Graph& graph) { set_shortcut_trial(graph, &trial); });
}

TEST_CASE("shortcuts: the quick and the faithful way have equal results, and a fault in either is found") {
  constexpr size_t kEnough = 12;  // golden records to compare for each shortcut
  auto cases = all_golden_cases();
  std::map<const Shortcut*, std::vector<const GoldenCase*>> taken_in;
  for (const GoldenCase& c : cases) {
    Graph common;
    Trial trial;
    run_kernel(c, common, trial);
    for (auto& [what, count] : trial.quick)
      if (auto& list = taken_in[what]; count && list.size() < kEnough) list.push_back(&c);
  }
  for (const Shortcut* what : all_shortcuts()) {
    INFO(what->name << "  " << what->file << ":" << what->line);
    CHECK(!what->saved_work_text.empty());
    CHECK_MESSAGE(!taken_in[what].empty(), "no golden of testdata/ takes it");
    size_t gone_faithful = 0, quick_faults = 0, faithful_faults = 0;
    for (const GoldenCase* c : taken_in[what]) {
      INFO(c->record.id << "  " << c->record.target);
      Graph common;
      Trial quick, faithful;
      faithful.goes_faithful = what;
      StageGraphs expected = run_kernel(*c, common, quick);
      CHECK(run_kernel(*c, common, faithful) == expected);
      gone_faithful += faithful.faithful[what];
      CHECK(faithful.quick[what] == 0);
      if (!quick_faults) {
        Trial faulty;
        faulty.faulty = what;
        quick_faults += run_kernel(*c, common, faulty) != expected;
      }
      if (!faithful_faults) {
        Trial faulty;
        faulty.goes_faithful = faulty.faulty = what, faulty.faulty_way = ShortcutWay::Faithful;
        faithful_faults += run_kernel(*c, common, faulty) != expected;
      }
    }
    CHECK(gone_faithful > 0);
    CHECK_MESSAGE(quick_faults > 0, "a fault in the quick way goes unnoticed");
    CHECK_MESSAGE(faithful_faults > 0, "a fault in the faithful way goes unnoticed");
  }
}

TEST_CASE("shortcuts: an observer does not change the graphs of any golden") {
  for (const GoldenCase& c : all_golden_cases()) {
    INFO(c.record.id << "  " << c.record.target);
    Graph common;
    RewriteObserver nobody;
    StageGraphs unwatched = run_all_stages(c, common),
         watched = run_all_stages(c, common, [&](Graph& graph) { set_observer(graph, &nobody); });
    CHECK(unwatched == watched);
  }
}

TEST_CASE("shortcuts: each has a unique name and the place of its definition") {
  auto all = all_shortcuts();
  REQUIRE(all.size() > 5);
  for (size_t i = 0; i < all.size(); i++) {
    for (size_t j = 0; j < i; j++) CHECK(all[i]->name != all[j]->name);
    CHECK((all[i]->file.starts_with("passes/") || all[i]->file.starts_with("lib/rewrite/")));
    CHECK(all[i]->line > 0);
  }
}

}  // namespace
}  // namespace tgc
