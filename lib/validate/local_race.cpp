#include "lib/validate/local_race.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::local_races {
namespace {

constexpr int64_t kMostPoints = 1 << 18;
constexpr size_t kMostAccesses = 1 << 14;  // most accesses since a barrier; those in a loop may count twice
constexpr size_t kMostPairs = 1 << 18;
constexpr size_t kMostComparisons = 1 << 24;  // most comparisons of elements for one pair of accesses
constexpr size_t kMostLoops = 6;
// largest operand that is evaluated, so that no product overflows 64 bits
constexpr int64_t kMaxOperandMagnitude = 1 << 30;

using IndexValues = std::unordered_map<UOp, int64_t>;

std::optional<int64_t> constant_value(UOp u) {
  return u.is_const() && u.arg().is_int() ? u.arg().as_int().to_int64() : std::nullopt;
}

// Returns the value of an index; nullopt if it cannot be evaluated. `known` has the values of loops and threads; the
// values of other nodes are added to it.
std::optional<int64_t> value_of(UOp u, IndexValues& known) {
  if (auto it = known.find(u); it != known.end()) return it->second;
  std::optional<int64_t> out = constant_value(u);
  if (!out && u.is_const() && u.dtype() == dtypes::bool_) out = u.arg().as_bool();
  if (!out) {
    std::vector<int64_t> s;
    for (UOp x : u.src()) {
      auto v = value_of(x, known);
      if (!v || *v > kMaxOperandMagnitude || *v < -kMaxOperandMagnitude) return std::nullopt;
      s.push_back(*v);
    }
    auto floor_div = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
    if (u.is(Op::ADD) && s.size() == 2) out = s[0] + s[1];
    else if (u.is(Op::SUB) && s.size() == 2) out = s[0] - s[1];
    else if (u.is(Op::MUL) && s.size() == 2) out = s[0] * s[1];
    else if (u.is(Op::IDIV) && s.size() == 2 && s[1]) out = s[0] / s[1];
    else if (u.is(Op::MOD) && s.size() == 2 && s[1]) out = s[0] % s[1];
    else if (u.is(Op::FLOORDIV) && s.size() == 2 && s[1]) out = floor_div(s[0], s[1]);
    else if (u.is(Op::FLOORMOD) && s.size() == 2 && s[1]) out = s[0] - s[1] * floor_div(s[0], s[1]);
    else if (u.is(Op::AND) && s.size() == 2) out = s[0] & s[1];
    else if (u.is(Op::OR) && s.size() == 2) out = s[0] | s[1];
    else if (u.is(Op::XOR) && s.size() == 2) out = s[0] ^ s[1];
    else if (u.is(Op::SHL) && s.size() == 2 && s[1] >= 0 && s[1] < 32) out = s[0] << s[1];
    else if (u.is(Op::SHR) && s.size() == 2 && s[1] >= 0 && s[1] < 32) out = s[0] >> s[1];
    else if (u.is(Op::NEG) && s.size() == 1) out = -s[0];
    else if (u.is(Op::CMPLT) && s.size() == 2) out = s[0] < s[1];
    else if (u.is(Op::CMPNE) && s.size() == 2) out = s[0] != s[1];
    else if (u.is(Op::WHERE) && s.size() == 3) out = s[0] ? s[1] : s[2];
    else if (u.is(Op::CAST) && s.size() == 1) out = s[0];
  }
  if (out) known[u] = *out;
  return out;
}

bool is_thread_index(UOp u) { return u.is(Op::SPECIAL) && u.arg().is_str() && u.arg().text().starts_with("l"); }

UOp memory_of(UOp u) {
  while (u.num_src() && !u.in({Op::DEFINE_LOCAL, Op::LOAD})) u = u.src(0);
  return u.is(Op::DEFINE_LOCAL) ? u : UOp();
}
UOp index_of(UOp u) {
  while (u.num_src() && !u.is(Op::INDEX)) u = u.src(0);
  return u.is(Op::INDEX) && u.num_src() >= 2 ? u : UOp();
}

struct LoopIteration {
  UOp loop;
  int copy;  // 0 for an earlier iteration, 1 for a later one
  bool operator==(const LoopIteration&) const = default;
};

struct MemoryAccess {
  UOp node, memory, index;
  bool is_store = false;
  int64_t width = 1;
  std::vector<UOp> gates;        // the access happens if all of them are true
  std::vector<LoopIteration> loops;  // the loops around the access, from the outermost
};

// `iteration` has the iteration of each loop around the access; kAnyIteration if address and gates do not depend on the
// loop.
struct ElementAccess {
  int64_t element, thread;
  std::array<int64_t, kMostLoops> iteration;
  auto operator<=>(const ElementAccess&) const = default;
};
constexpr int64_t kAnyIteration = -1;
using ElementAccesses = std::vector<ElementAccess>;

class RaceFinder {
 public:
  explicit RaceFinder(std::span<const UOp> list) : list_(list) {
    for (UOp u : list)
      if (is_thread_index(u)) threads_.push_back(u);
  }

  std::optional<LocalRace> find_first_race() {
    if (threads_.empty()) return std::nullopt;
    walk_list(0, list_.size());
    return std::move(found_race_);
  }

 private:
  size_t loop_end_of(size_t at, size_t end) const {
    size_t depth = 0;
    for (size_t i = at; i < end; i++) {
      depth += list_[i].is(Op::RANGE);
      if (list_[i].is(Op::END) && --depth == 0) return i;
    }
    return end;
  }

  void walk_list(size_t begin, size_t end) {
    for (size_t i = begin; i < end && !found_race_; i++) {
      UOp u = list_[i];
      if (u.is(Op::RANGE)) {
        const size_t last = loop_end_of(i, end);
        const bool is_once = u.num_src() && constant_value(u.src(0)) == 1;
        for (int copy = 0; copy < (is_once ? 1 : 2) && loops_.size() < kMostLoops; copy++) {
          loops_.push_back({u, copy});
          walk_list(i + 1, last);
          loops_.pop_back();
        }
        i = last;
      } else if (u.is(Op::IF)) {
        conditions_.push_back(u.src(0));
      } else if (u.is(Op::ENDIF)) {
        if (!conditions_.empty()) conditions_.pop_back();
      } else if (u.is(Op::BARRIER)) {
        accesses_since_barrier_.clear();
      } else if (u.in({Op::LOAD, Op::STORE})) {
        add_access(u);
      }
    }
  }

  void add_access(UOp u) {
    MemoryAccess now{u, memory_of(u.src(0)), index_of(u.src(0)), u.is(Op::STORE), 1, conditions_, loops_};
    if (!now.memory || !now.index || accesses_since_barrier_.size() > kMostAccesses) return;
    now.width = std::max(1, (now.is_store ? u.src(1).dtype() : u.dtype()).count());
    for (UOp gated : {now.index, u})
      for (size_t i = 2; i < gated.num_src(); i++)
        if (gated.src(i).dtype() == dtypes::bool_) now.gates.push_back(gated.src(i));
    for (const MemoryAccess& before : accesses_since_barrier_) {
      if (before.memory != now.memory || before.is_store == now.is_store) continue;
      const size_t same = num_same_iterations(before, now);
      // skip a load and a later store of one iteration
      if (now.is_store && !is_earlier_iteration(before, now, same)) continue;
      if (find_race(before, now, same)) return;
    }
    accesses_since_barrier_.push_back(std::move(now));
  }
  // Returns the number of loops around both accesses, from the outermost, that are in the same iteration for both.
  static size_t num_same_iterations(const MemoryAccess& a, const MemoryAccess& b) {
    return size_t(std::ranges::mismatch(a.loops, b.loops).in1 - a.loops.begin());
  }
  static bool is_earlier_iteration(const MemoryAccess& before, const MemoryAccess& now, size_t same) {
    return same < std::min(before.loops.size(), now.loops.size()) && before.loops[same].loop == now.loops[same].loop;
  }

  bool find_race(const MemoryAccess& a, const MemoryAccess& b, size_t same) {
    if (seen_pairs_.size() > kMostPairs || !seen_pairs_.insert({a.node.id(), b.node.id(), same}).second) return false;
    const ElementAccesses *x = touched_elements(a), *y = touched_elements(b);
    if (!x || !y) return false;
    const bool is_earlier = is_earlier_iteration(a, b, same);
    auto may_precede = [&](const ElementAccess& p, const ElementAccess& q) {
      for (size_t i = 0; i < same; i++)
        if (p.iteration[i] != kAnyIteration && q.iteration[i] != kAnyIteration && p.iteration[i] != q.iteration[i])
          return false;
      if (!is_earlier) return true;
      const int64_t last = constant_value(a.loops[same].loop.src(0)).value_or(INT64_MAX) - 1;
      const int64_t first = std::max<int64_t>(p.iteration[same], 0);
      return first < (q.iteration[same] == kAnyIteration ? last : q.iteration[same]);
    };
    size_t comparisons = 0;
    for (size_t i = 0, j = 0; i < x->size() && j < y->size();) {
      const int64_t element = (*x)[i].element;
      if (element != (*y)[j].element) {
        element < (*y)[j].element ? i++ : j++;
        continue;
      }
      size_t last_i = i, last_j = j;
      while (last_i < x->size() && (*x)[last_i].element == element) last_i++;
      while (last_j < y->size() && (*y)[last_j].element == element) last_j++;
      for (size_t p = i; p < last_i; p++)
        for (size_t q = j; q < last_j; q++) {
          if (++comparisons > kMostComparisons) return false;
          if ((*x)[p].thread != (*y)[q].thread && may_precede((*x)[p], (*y)[q])) {
            found_race_ =
                LocalRace{"local" + a.memory.arg().repr(), b.is_store, element, (*x)[p].thread, (*y)[q].thread};
            return true;
          }
        }
      i = last_i, j = last_j;
    }
    return false;
  }

  // Returns the elements that an access touches in the first work group, each with its thread and iteration; null if
  // they cannot be evaluated.
  const ElementAccesses* touched_elements(const MemoryAccess& a) {
    auto [it, is_new] = known_accesses_.try_emplace(a.node);
    if (is_new) it->second = compute_accesses(a);
    return it->second ? &*it->second : nullptr;
  }
  std::optional<ElementAccesses> compute_accesses(const MemoryAccess& a) const {
    const UOp at = a.index.src(1);
    std::vector<UOp> parts = a.gates, axes = threads_;
    parts.push_back(at);
    IndexValues values;
    for (UOp part : parts)
      for (UOp u : toposort(part)) {
        if (u.is(Op::RANGE) && !std::ranges::count(axes, u)) axes.push_back(u);
        if (u.is(Op::SPECIAL) && !is_thread_index(u)) values[u] = 0;
      }
    std::vector<int64_t> sizes;
    int64_t points = 1, iterations = 1;
    for (size_t i = 0; i < axes.size(); i++) {
      const auto size = constant_value(axes[i].src(0));
      if (!size || *size < 1 || *size > kMostPoints / points) return std::nullopt;
      sizes.push_back(*size), points *= *size;
      if (i >= threads_.size()) iterations *= *size;
    }
    ElementAccesses out;
    for (int64_t p = 0; p < points; p++) {
      IndexValues now = values;
      int64_t rest = p;
      for (size_t i = axes.size(); i-- > 0; rest /= sizes[i]) now[axes[i]] = rest % sizes[i];
      bool happens = true;
      for (size_t i = 0; i < a.gates.size() && happens; i++) {
        auto gate = value_of(a.gates[i], now);
        if (!gate) return std::nullopt;
        happens = *gate;
      }
      if (!happens) continue;
      auto element = value_of(at, now);
      if (!element) return std::nullopt;
      ElementAccess touch{*element, p / iterations, {}};
      touch.iteration.fill(kAnyIteration);
      for (size_t i = 0; i < a.loops.size(); i++)
        if (auto it = now.find(a.loops[i].loop); it != now.end()) touch.iteration[i] = it->second;
      for (int64_t w = 0; w < a.width; w++, touch.element++) out.push_back(touch);
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  std::span<const UOp> list_;
  std::vector<UOp> threads_;
  std::vector<UOp> conditions_;   // the conditions of the IFs around the current node of the list
  std::vector<LoopIteration> loops_;
  std::vector<MemoryAccess> accesses_since_barrier_;
  std::set<std::tuple<uint32_t, uint32_t, size_t>> seen_pairs_;  // the node ids and `same` of the calls of find_race()
  std::unordered_map<UOp, std::optional<ElementAccesses>> known_accesses_;
  std::optional<LocalRace> found_race_;
};

}  // namespace

std::optional<LocalRace> find_first_race(std::span<const UOp> list) { return RaceFinder(list).find_first_race(); }

}  // namespace tgc::local_races

namespace tgc {

std::string LocalRace::text() const {
  const std::string name = memory + "[" + std::to_string(element) + "]";
  const std::string first = "thread " + std::to_string(first_thread);
  const std::string second = "thread " + std::to_string(second_thread);
  return is_load_first ? second + " stores to " + name + ", which " + first +
                           " loads in an earlier iteration, with no barrier in between"
                     : second + " loads " + name + ", which " + first + " stores, with no barrier in between";
}

std::optional<LocalRace> find_local_race(std::span<const UOp> list) { return local_races::find_first_race(list); }

}  // namespace tgc
