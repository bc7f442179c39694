// Compares vectors lane by lane: decides rewrites that only move lanes, axes and stores around (expanding, vectorizing,
// splitting loads and stores, ending loops). Each lane, at each position of the expanded axes, has a form: a number
// that is equal for two lanes only if both are the same expression. Equal forms are a proof; other forms say nothing.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

class LaneForms {
 public:
  enum class Answer : uint8_t { Open, Same, SameSum };  // SameSum: but a REDUCE adds its terms in another order

  // Compares two values, or two nodes that store.
  Answer compare(UOp before, UOp after);

  using Form = uint32_t;
  // A store, with the loops that end around it.
  struct Effect {
    Form store;
    std::set<Form> loops;
    friend auto operator<=>(const Effect&, const Effect&) = default;
  };
  using Position = std::vector<std::pair<int64_t, int64_t>>;  // (axis, position), sorted by axis

  Form value(UOp u, int lane, const Position& at);
  // Returns false if the node is not made of stores.
  bool effects(UOp u, const Position& at, std::vector<Effect>& out);
  // The terms that one lane of a REDUCE adds up.
  std::vector<Form> terms(UOp reduce, int lane, const Position& at);
  Form form_of(std::string text);

 private:
  using Axes = std::map<int64_t, int64_t>;  // axis -> size
  const Axes& axes_of(UOp u);
  Position restrict_to(UOp u, const Position& at);
  Form make(UOp u, int lane, const Position& at);
  int lanes_of(UOp u) const { return u.dtype().is_ptr() ? u.dtype().vcount() : u.dtype().count(); }

  std::map<uint32_t, Axes> axes_;
  std::map<std::string, Form> forms_;
  std::map<std::pair<uint64_t, Position>, Form> known_;
  bool reorders_ = false;
  int depth_ = 0;  // of the recursion
};

}  // namespace tgc
