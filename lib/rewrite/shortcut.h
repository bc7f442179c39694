// Shortcuts: quicker ways to what rewriting makes one rule at a time, which an observer could not follow. Each has a
// name and is listed; whoever watches a graph makes it go the faithful way, so that every rewrite is seen. Both ways
// must make the same, to the node: passes/shortcuts_test.cpp holds them against each other.
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

// The name of a shortcut: an object of namespace scope, which enters itself in the list.
class Shortcut {
 public:
  // `saves`: what the quick way does without, for listings. Both texts are literals.
  Shortcut(std::string_view name, std::string_view saves, const char* file = __builtin_FILE(),
           uint32_t line = __builtin_LINE());
  Shortcut(const Shortcut&) = delete;

  std::string_view name, saves;
  std::string_view file;  // of the line that names it: "passes/symbolic/divmod.cpp"
  uint32_t line;
};

// All shortcuts, by file and line.
std::vector<const Shortcut*> shortcuts();

enum class Way : uint8_t { Quick, Faithful };

// Decides which way the shortcuts of a graph go, whether or not someone watches it, and sees what they make. For tests,
// and for whoever looks for the shortcut that is to blame.
class ShortcutTrial {
 public:
  virtual ~ShortcutTrial() = default;
  // The way to go; `usual` is the one that would be gone without a trial. A quick way may still not apply: then the
  // faithful one follows.
  virtual Way choose(const Shortcut& /*what*/, Way usual) { return usual; }
  // What was made that way. It may be changed: a fault that tests must find.
  virtual void made(const Shortcut& /*what*/, Way /*way*/, std::span<UOp> /*result*/) {}
};
// Null ends the trial.
void set_trial(Graph& graph, ShortcutTrial* trial);
ShortcutTrial* trial_of(Graph& graph);

namespace detail {

struct ShortcutChoice {
  Way way;
  ShortcutTrial* trial;  // null: nobody is to be told
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

// What quick() makes, unless someone watches the graph: then what faithful() makes. Either is a UOp or a vector of
// them. quick() may return an optional: nothing means that it does not apply here, and faithful() follows. It has then
// left everything as it was.
template <class Quick, class Faithful>
auto shortcut(const Shortcut& what, Graph& graph, Quick quick, Faithful faithful) {
  return detail::go(detail::choose(graph, what), what, quick, faithful);
}

}  // namespace tgc
