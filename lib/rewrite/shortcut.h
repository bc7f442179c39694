// Shortcuts: faster implementations of what rewriting would compute one rule at a time, which an observer could not
// follow. Each shortcut has a name and is listed. In a graph with an observer or intervention it takes its faithful way
// instead, so that every rewrite is seen. Both ways must return the same nodes; passes/shortcuts_test.cpp compares
// them.
//
//   const Shortcut kCoprime("coprime", "simplifying a greatest common divisor that is plainly 1");
//   UOp g = shortcut(kCoprime, graph, [&]() -> std::optional<UOp> { ... std::nullopt: it does not apply ... },
//                    [&] { return gcd(all).simplify(); });
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

// Names a shortcut. Define it at namespace scope; the constructor adds it to the list of all shortcuts.
class Shortcut {
 public:
  // `saves`: the work that the quick way avoids, for listings. Both texts must be literals.
  Shortcut(std::string_view name, std::string_view saves, const char* file = __builtin_FILE(),
           uint32_t line = __builtin_LINE());
  Shortcut(const Shortcut&) = delete;

  std::string_view name, saves;
  std::string_view file;  // where it is defined: "passes/symbolic/divmod.cpp"
  uint32_t line;
};

// Returns all shortcuts, sorted by file and line.
std::vector<const Shortcut*> shortcuts();

enum class Way : uint8_t { Quick, Faithful };

// Overrides which way the shortcuts of one graph take, observed or not, and receives their results. Used by tests and
// by the search for a faulty shortcut.
class ShortcutTrial {
 public:
  virtual ~ShortcutTrial() = default;
  // Returns the way to take; `usual` is the way without a trial. A quick way may still not apply; the faithful way is
  // then taken.
  virtual Way choose(const Shortcut& /*what*/, Way usual) { return usual; }
  // Receives the result; may change it, to inject a fault.
  virtual void made(const Shortcut& /*what*/, Way /*way*/, std::span<UOp> /*result*/) {}
};
// Sets the graph's only trial; null removes it.
void set_trial(Graph& graph, ShortcutTrial* trial);
ShortcutTrial* trial_of(Graph& graph);

namespace detail {

struct ShortcutChoice {
  Way way;
  ShortcutTrial* trial;  // null: no trial to report to
};
ShortcutChoice choose(Graph& graph, const Shortcut& what);

inline std::span<UOp> as_span(UOp& u) { return {&u, 1}; }
inline std::span<UOp> as_span(std::vector<UOp>& list) { return list; }

template <class Result>
Result told(ShortcutTrial* trial, const Shortcut& what, Way way, Result result) {
  if (trial) [[unlikely]] trial->made(what, way, as_span(result));
  return result;
}

template <class Quick, class Faithful>
auto go(ShortcutChoice choice, const Shortcut& what, Quick quick, Faithful faithful) {
  using Result = std::invoke_result_t<Faithful>;
  if (choice.way == Way::Quick) {
    if constexpr (std::is_same_v<std::invoke_result_t<Quick>, Result>) {
      return told(choice.trial, what, Way::Quick, quick());
    } else {
      if (std::optional<Result> out = quick()) return told(choice.trial, what, Way::Quick, *std::move(out));
    }
  }
  return told(choice.trial, what, Way::Faithful, faithful());
}

}  // namespace detail

// Returns quick(), or faithful() if the graph is observed. Both return a UOp or a vector of UOps. quick() may return an
// optional: nullopt, without side effects, means that it does not apply, and faithful() is returned.
template <class Quick, class Faithful>
auto shortcut(const Shortcut& what, Graph& graph, Quick quick, Faithful faithful) {
  return detail::go(detail::choose(graph, what), what, quick, faithful);
}

}  // namespace tgc
