#include <algorithm>

#include "lib/bisect/list_variants.h"
#include "lib/bisect/strategies.h"

namespace tgc {
namespace {

class FirstWrongNodeFinder {
 public:
  FirstWrongNodeFinder(BisectExecutor& executor, std::span<const UOp> list, bool stores_words)
      : executor_(executor), list_(list), observed_list_(list, stores_words) {}

  UOp find() {
    if (!observed_list_.is_short_list() || executor_.device_matches_ref(observed_list_.make_variant({}))) return {};
    constexpr size_t kMostAlone = 60;
    std::vector<size_t> values = observed_list_.storable_nodes();
    compare_values(values, kMostArrays);
    // Storing a value can hide an error, because the value then gets a source line of its own. So store only one value
    // in each run if no value differs, or if the kernel died.
    if (suspects_.empty() || has_died_) {
      suspects_.clear();
      if (values.size() > kMostAlone) return {};
      compare_values(values, 1);
    }
    if (has_died_) return find_among_sources();
    std::ranges::sort(suspects_, {}, &Suspect::run_point_key);
    for (const Suspect& s : std::span(suspects_).first(std::min(suspects_.size(), kMostSuspects))) {
      if (list_[s.node].in({Op::RANGE, Op::SPECIAL})) return {};
      if (is_culprit(s.node)) return list_[wrong_source_of(s.node)];
    }
    return {};
  }

 private:
  static constexpr size_t kMostArrays = 256, kMostSuspects = 8;

  struct Suspect {
    size_t node;
    // ObservedList::run_point_key() of the node's first wrong value; after a crash, of its first value
    std::vector<int64_t> run_point_key;
  };

  // The search after a crash, when it is unknown which value was wrong first. Tests only suspects that use no other
  // suspect, and that are no loads and no loops.
  UOp find_among_sources() {
    for (const Suspect& s : suspects_) {
      UOp node = list_[s.node];
      auto others = toposort(node);
      auto is_used = [&](const Suspect& t) { return t.node != s.node && std::ranges::count(others, list_[t.node]); };
      if (node.in({Op::LOAD, Op::RANGE, Op::SPECIAL}) || std::ranges::any_of(suspects_, is_used)) continue;
      if (is_culprit(s.node)) return node;
    }
    return {};
  }

  // Returns the first suspect below `node`, among kMostSuspects, that is a culprit, too; else `node`. If a source is
  // printed as a division by zero, the compiler may change `node` before it stores the source's value.
  size_t wrong_source_of(size_t node) {
    auto sources = toposort(list_[node]);
    std::vector<size_t> places;
    for (const Suspect& s : suspects_)
      if (s.node != node && std::ranges::count(sources, list_[s.node])) places.push_back(s.node);
    std::ranges::sort(places);
    if (places.size() > kMostSuspects) places.resize(kMostSuspects);
    auto is_cause = [&](size_t source) { return is_culprit(source, {node}); };
    auto cause = std::ranges::find_if(places, is_cause);
    return cause == places.end() ? node : *cause;
  }

  // Compares the values of `nodes` in REF and on the device. Each run stores the values of at least one node, and of
  // more nodes if they need at most `arrays` added arrays together. Adds the nodes whose values differ to suspects_,
  // and a node with which alone the kernel dies.
  void compare_values(const std::vector<size_t>& nodes, size_t arrays) {
    for (size_t i = 0; i < nodes.size();) {
      std::vector<size_t> some;
      size_t n = 0;
      do n += observed_list_.num_arrays_of_node(nodes[i]), some.push_back(nodes[i++]);
      while (i < nodes.size() && n + observed_list_.num_arrays_of_node(nodes[i]) <= arrays);
      compare_in_one_run(some);
    }
  }

  void compare_in_one_run(const std::vector<size_t>& nodes) {
    auto list = [&] {
      return observed_list_.make_variant({.watched_nodes = nodes, .stores_only_first_element = needs_first_element_});
    };
    auto actual = executor_.run_on_device(list());
    if (!actual && !std::exchange(needs_first_element_, true)) actual = executor_.run_on_device(list());
    if (!actual) {
      has_died_ = true;
      if (nodes.size() == 1) suspects_.push_back({nodes[0], observed_list_.run_point_key(nodes[0], 0)});
      return;
    }
    auto expected = executor_.run_in_ref(list());
    if (!expected) return;
    for (size_t node : nodes) {
      std::optional<int64_t> first;
      for (size_t e = 0; e < observed_list_.num_arrays_of_node(node); e++) {
        std::string name = observed_list_.array_name(node, e);
        const Array& right = *find_array(expected->outputs, name);
        auto c = compare_arrays(name, *find_array(actual->outputs, name), right, executor_.tolerance_for_array(right));
        if (c && c->first_difference && (!first || c->first_difference->flat_index < *first))
          first = c->first_difference->flat_index;
      }
      if (first) suspects_.push_back({node, observed_list_.run_point_key(node, *first)});
    }
  }

  // Returns true if the kernel's results, and the values of `others`, are right once the users of `node` read its right
  // value from an array.
  bool is_culprit(size_t node, const std::vector<size_t>& others = {}) {
    auto right = executor_.run_in_ref(observed_list_.make_variant({.watched_nodes = {node}}));
    if (!right) return false;
    Arrays values;
    for (size_t e = 0; e < observed_list_.num_arrays_of_node(node); e++) {
      std::string name = observed_list_.array_name(node, e);
      values.push_back({name, find_array(right->outputs, name)->copy()});
    }
    return executor_.device_matches_ref(observed_list_.make_variant({.watched_nodes = others, .replaced_node = node}),
                                        values);
  }

  BisectExecutor& executor_;
  std::span<const UOp> list_;
  ObservedList observed_list_;
  std::vector<Suspect> suspects_;
  bool needs_first_element_ = false;  // the kernel died, so later runs set ListVariant::stores_only_first_element
  bool has_died_ = false;             // the kernel died although ListVariant::stores_only_first_element was set
};

}  // namespace

UOp first_wrong_node(BisectExecutor& executor, std::span<const UOp> list, bool stores_words) {
  return FirstWrongNodeFinder(executor, list, stores_words).find();
}

}  // namespace tgc
