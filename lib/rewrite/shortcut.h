// A shortcut is a named fast path that computes directly what rules would compute rewrite by rewrite. An observer or a
// RewriteOverride cannot see the rewrites that a fast path skips. So a graph that has an observer or a RewriteOverride
// takes the slow ("faithful") path, which applies the rules; for an observer that only counts, the depth-first order of
// rewrite.cpp is an exception. A ShortcutTrial may choose the other path. Both paths must return the same nodes;
// shortcuts_test.cpp compares the paths.
//
//   const Shortcut kCoprime("coprime", "simplifying a greatest common divisor that is plainly 1");
//   UOp g = run_shortcut(kCoprime, graph, [&]() -> std::optional<UOp> { ... },
//                        [&] { return gcd(all).simplify(); });
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

struct RewriteState;

// The name of a shortcut. Define a Shortcut as a static object: the constructor adds it to the list of all shortcuts.
class Shortcut {
 public:
  // `saves` describes the work that the fast path avoids, for listings. `name` and `saves` must be string literals.
  Shortcut(std::string_view name, std::string_view saves, const char* file = __builtin_FILE(),
           uint32_t line = __builtin_LINE());
  Shortcut(const Shortcut&) = delete;

  std::string_view name, saved_work_text;
  std::string_view file;
  uint32_t line;
};

// Returns all shortcuts, sorted by file and line.
std::vector<const Shortcut*> all_shortcuts();

enum class ShortcutWay : uint8_t { Quick, Faithful };

// Chooses, for each use of a shortcut in one graph, the fast path or the rules, and receives the result.
class ShortcutTrial {
 public:
  virtual ~ShortcutTrial() = default;
  // Returns Quick (the fast path) or Faithful (the rules). `usual` is the choice without a trial. If the fast path does
  // not apply to a graph, the rules are applied even if choose_way() returns Quick.
  virtual ShortcutWay choose_way(const Shortcut& /*what*/, ShortcutWay usual) { return usual; }
  // Receives the result of a shortcut and the `way` that computed it. May change the result, to seed a fault.
  virtual void review_result(const Shortcut& /*what*/, ShortcutWay /*way*/, std::span<UOp> /*result*/) {}
};
// Sets the graph's only ShortcutTrial; null removes it. The trial must outlive the rewrites.
void set_shortcut_trial(Graph& graph, ShortcutTrial* trial);
ShortcutTrial* shortcut_trial_of(Graph& graph);

namespace detail {

struct ShortcutChoice {
  ShortcutWay chosen_way;
  ShortcutTrial* trial;
};
ShortcutChoice choose_way(Graph& graph, const Shortcut& what);

inline std::span<UOp> as_span(UOp& u) { return {&u, 1}; }
inline std::span<UOp> as_span(std::vector<UOp>& list) { return list; }

template <class Result>
Result report_result(ShortcutTrial* trial, const Shortcut& what, ShortcutWay chosen_way, Result result) {
  if (trial) [[unlikely]] trial->review_result(what, chosen_way, as_span(result));
  return result;
}

template <class Quick, class Faithful>
auto run_chosen_way(ShortcutChoice choice, const Shortcut& what, Quick quick, Faithful faithful) {
  using Result = std::invoke_result_t<Faithful>;
  if (choice.chosen_way == ShortcutWay::Quick) {
    if constexpr (std::is_same_v<std::invoke_result_t<Quick>, Result>) {
      return report_result(choice.trial, what, ShortcutWay::Quick, quick());
    } else {
      if (std::optional<Result> out = quick())
        return report_result(choice.trial, what, ShortcutWay::Quick, *std::move(out));
    }
  }
  return report_result(choice.trial, what, ShortcutWay::Faithful, faithful());
}

}  // namespace detail

// Returns quick(), or faithful() if the graph has an observer or RewriteOverride; a ShortcutTrial may choose otherwise.
// quick() may return nullopt, and must then have changed nothing; then the result is that of faithful().
template <class Quick, class Faithful>
auto run_shortcut(const Shortcut& what, Graph& graph, Quick quick, Faithful faithful) {
  return detail::run_chosen_way(detail::choose_way(graph, what), what, quick, faithful);
}

}  // namespace tgc
