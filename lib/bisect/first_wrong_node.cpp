#include "lib/bisect/first_wrong_node.h"

#include <algorithm>

#include "lib/bisect/observed_list.h"

namespace tgc {
namespace {

class FirstWrongNode {
 public:
  FirstWrongNode(FailureRepro& run, std::span<const UOp> list) : run_(run), list_(list), observed_(list) {}

  UOp find() {
    if (!observed_.is_short() || run_.is_alike(observed_.made({}))) return {};
    constexpr size_t kMostAlone = 60;
    std::vector<size_t> values = observed_.values();
    look(values, kMostArrays);
    // a value that is stored has a line of its own: what is wrong within the line of another shows alone only; and
    // where it dies nothing is known of what was to be stored with it
    if (suspects_.empty() || has_died_) {
      suspects_.clear();
      if (values.size() > kMostAlone) return {};
      look(values, 1);
    }
    if (has_died_) return find_among_sources();
    std::ranges::sort(suspects_, {}, &Suspect::since);
    for (const Suspect& s : std::span(suspects_).first(std::min(suspects_.size(), kMostSuspects))) {
      if (list_[s.node].in({Op::RANGE, Op::SPECIAL})) return {};  // all others follow from it
      if (is_to_blame(s.node)) return list_[wrong_source_of(s.node)];
    }
    return {};
  }

 private:
  static constexpr size_t kMostArrays = 256, kMostSuspects = 8;

  struct Suspect {
    size_t node;
    std::vector<int64_t> since;  // the moment when it was wrong first
  };

  // Of what dies nobody knows when it was wrong first: the first that is no load, and computed of no other suspect.
  UOp find_among_sources() {
    for (const Suspect& s : suspects_) {
      UOp node = list_[s.node];
      auto others = toposort(node);
      auto is_of = [&](const Suspect& t) { return t.node != s.node && std::ranges::count(others, list_[t.node]); };
      if (node.in({Op::LOAD, Op::RANGE, Op::SPECIAL}) || std::ranges::any_of(suspects_, is_of)) continue;
      if (is_to_blame(s.node)) return node;
    }
    return {};
  }

  // The first of its sources that is to blame for it, too, or itself. What divides by zero by mistake leaves a compiler
  // free: what is computed with it may go wrong before it does.
  size_t wrong_source_of(size_t node) {
    auto sources = toposort(list_[node]);
    std::vector<size_t> places;
    for (const Suspect& s : suspects_)
      if (s.node != node && std::ranges::count(sources, list_[s.node])) places.push_back(s.node);
    std::ranges::sort(places);
    if (places.size() > kMostSuspects) places.resize(kMostSuspects);
    auto is_cause = [&](size_t source) { return is_to_blame(source, {node}); };
    auto cause = std::ranges::find_if(places, is_cause);
    return cause == places.end() ? node : *cause;
  }

  // Stores these values, at most so many arrays at once, and adds those that differ to the suspects.
  void look(const std::vector<size_t>& nodes, size_t arrays) {
    for (size_t i = 0; i < nodes.size();) {
      std::vector<size_t> some;
      size_t n = 0;
      do n += observed_.arrays_of(nodes[i]), some.push_back(nodes[i++]);
      while (i < nodes.size() && n + observed_.arrays_of(nodes[i]) <= arrays);
      compare(some);
    }
  }

  void compare(const std::vector<size_t>& nodes) {
    auto made = [&] { return observed_.made({.watched = nodes, .calm = is_calm_}); };
    auto actual = run_.stored_by_device(made());
    if (!actual && !std::exchange(is_calm_, true)) actual = run_.stored_by_device(made());
    if (!actual) {
      has_died_ = true;
      if (nodes.size() == 1) suspects_.push_back({nodes[0], observed_.moment(nodes[0], 0)});
      return;
    }
    auto expected = run_.stored_by_ref(made());
    if (!expected) return;
    for (size_t node : nodes) {
      std::optional<int64_t> first;
      for (size_t e = 0; e < observed_.arrays_of(node); e++) {
        std::string name = observed_.array_name(node, e);
        auto wrong = run_.first_difference(*find_array(*actual, name), *find_array(*expected, name));
        if (wrong && (!first || *wrong < *first)) first = wrong;
      }
      if (first) suspects_.push_back({node, observed_.moment(node, *first)});
    }
  }

  // Whether all is right, what `others` compute included, as soon as the others take what it should be.
  bool is_to_blame(size_t node, const std::vector<size_t>& others = {}) {
    auto right = run_.stored_by_ref(observed_.made({.watched = {node}}));
    if (!right) return false;
    Arrays values;
    for (size_t e = 0; e < observed_.arrays_of(node); e++) {
      std::string name = observed_.array_name(node, e);
      values.push_back({name, find_array(*right, name)->copy()});
    }
    return run_.is_alike(observed_.made({.watched = others, .replaced = node}), values);
  }

  FailureRepro& run_;
  std::span<const UOp> list_;
  ObservedList observed_;
  std::vector<Suspect> suspects_;
  bool is_calm_ = false;   // it dies else
  bool has_died_ = false;  // even so
};

}  // namespace

UOp first_wrong_node(FailureRepro& run, std::span<const UOp> list) { return FirstWrongNode(run, list).find(); }

}  // namespace tgc
