#include "lib/validate/reference_sample.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <random>
#include <unordered_set>

#include "lib/execute/execution.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr int64_t kFewest = 64, kMost = 2048;  // fewest and most elements that are sampled of each store
constexpr double kMostTimes = 200;             // kernels that need over 200 times the allowed work are refused
constexpr int64_t kOwn = 1000000;              // number of the first added DEFINE_GLOBAL; kernels have smaller numbers
constexpr int64_t kPointAxis = 1 << 20;

int64_t number_of(const std::string& array) {
  int64_t n = -1;
  std::from_chars(array.data() + std::min<size_t>(4, array.size()), array.data() + array.size(), n);
  return n;
}

using Places = std::map<std::string, std::vector<int64_t>>;

struct PlainStore {
  UOp memory, offset, value;
  std::vector<UOp> ranges;
};

RefBuffer buffer_of(const NamedArray& a) {
  return {number_of(a.name), const_cast<uint8_t*>(a.array.data()), a.array.nbytes()};
}

std::string array_of(const PlainStore& s) { return "data" + std::to_string(s.memory.arg().small_int()); }

// Returns the stores of an AST if each stores one scalar in every iteration of loops of constant sizes, each to an
// array of its own; nullopt for any other graph.
std::optional<std::vector<PlainStore>> plain_stores(UOp ast) {
  std::vector<PlainStore> out;
  for (UOp end : ast.src()) {
    UOp store = end.is(Op::END) ? end.src(0) : end;
    if (!store.is(Op::STORE) || store.num_src() != 2 || !store.src(0).is(Op::INDEX)) return std::nullopt;
    UOp index = store.src(0);
    if (index.num_src() != 2 || !index.src(0).is(Op::DEFINE_GLOBAL) || index.src(0).dtype().is_image())
      return std::nullopt;
    if (store.src(1).dtype().count() != 1 || index.src(0).dtype().base().count() != 1) return std::nullopt;
    PlainStore s{index.src(0), index.src(1), store.src(1), {}};
    for (UOp u : toposort(s.offset))
      if (u.is_invalid()) return std::nullopt;
    if (end.is(Op::END)) s.ranges.assign(end.src().begin() + 1, end.src().end());
    for (UOp r : s.ranges)
      if (!r.is(Op::RANGE) || !r.src(0).is_const()) return std::nullopt;
    for (UOp r : ranges_of(store))  // a loop that is not a range of the store's END would store an element repeatedly
      if (std::ranges::find(s.ranges, r) == s.ranges.end()) return std::nullopt;
    if (std::ranges::find(out, s.memory, &PlainStore::memory) != out.end()) return std::nullopt;
    out.push_back(std::move(s));
  }
  for (UOp u : toposort(ast))
    if (u.in({Op::AFTER, Op::BUFFERIZE, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::BARRIER})) return std::nullopt;
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

double extent_of(UOp range) { return constant_size_of(range) ? std::max(1.0, range.vmax().to_double() + 1) : 1; }

// Returns the number of iterations of `range`, at most 2^62, because a loop may have 2^63 iterations.
int64_t rounds_of(UOp range) { return int64_t(std::min(extent_of(range), 0x1p62)); }

// Estimates how many evaluations the nodes below `root` need. A node needs its vector size times the sizes of the
// ranges on which it depends, except those in `without`.
double work_below(UOp root, const std::unordered_set<UOp>& without) {
  double out = 0;
  for (UOp u : toposort(root)) {
    double times = double(u.dtype().vcount());
    for (UOp r : ranges_of(u))
      if (!without.contains(r)) times *= extent_of(r);
    out += times;
  }
  return out;
}

// Builds one graph that computes the stored elements at all sampled points, and runs this graph.
class Sampling {
 public:
  Sampling(UOp ast, int64_t points) : graph_(ast.graph().settings()), points_(points), ast_(copy_into(graph_, ast)) {
    point_ = graph_.range(Const(points), kPointAxis, AxisType::GLOBAL);
  }

  // `given` has, for each stored array, as many indices as there are points; if it is null, the indices are random.
  Sample run(const Arrays& inputs, const VariableValues& variables, const Places* given = nullptr,
             bool in_process = false) {
    auto plain = plain_stores(ast_);
    UninstrumentedScope own(graph_);
    for (const PlainStore& s : *plain) add(s, given ? &given->at(array_of(s)) : nullptr);
    RefProgram program =
        std::move(RefProgram::from_graph(graph_.sink(graph_.group(stores_).end(point_))).value_or_throw());
    std::vector<RefBuffer> buffers;
    for (const NamedArray& a : inputs) buffers.push_back(buffer_of(a));
    for (size_t i = 0; i < own_.size(); i++) buffers.push_back({kOwn + int64_t(i), own_[i].data(), own_[i].nbytes()});
    run_ref(program, buffers, variables, in_process).value_or_throw();
    Sample out;
    for (auto& [name, offsets, values] : results_) {
      auto* at = reinterpret_cast<const int64_t*>(own_[offsets].data());
      out.places[name].assign(at, at + points_);
      out.values.push_back({name, std::move(own_[values])});
    }
    return out;
  }

 private:
  UOp array(DType dtype, size_t& number) {
    number = own_.size();
    own_.push_back(Array::shared(dtype, {points_}));
    return graph_.node(Op::DEFINE_GLOBAL, dtype.ptr(points_), {}, Arg(kOwn + int64_t(number)));
  }

  // Returns a load from an array that has a value of `range` for each point: the first, the last, then random ones.
  UOp drawn(UOp range) {
    size_t number;
    UOp table = array(dtypes::int64, number);
    auto* numbers = reinterpret_cast<int64_t*>(own_[number].data());
    const int64_t size = rounds_of(range);
    for (int64_t i = 0; i < points_; i++)
      numbers[i] = i == 0 ? 0 : i == 1 ? size - 1 : int64_t(random_() % uint64_t(size));
    return table.index_ptr(point_).load().cast(range.dtype());
  }

  // Returns a load from an array that has the value of `range` for each of the indices `places`. An index is the
  // store's offset plus the sum of all ranges times their strides. Throws Failure if no iteration stores to an index.
  UOp turned_back(const PlainStore& s, UOp range, const std::vector<int64_t>& places) {
    size_t number;
    UOp table = array(dtypes::int64, number);
    auto* numbers = reinterpret_cast<int64_t*>(own_[number].data());
    std::vector<std::pair<int64_t, UOp>> strides = strides_of(s);
    for (int64_t i = 0; i < points_; i++) {
      int64_t rest = places[size_t(i)] - offset_at(s, UOp());
      for (auto [stride, r] : strides) {
        int64_t turn = stride ? std::min(rest / stride, rounds_of(r) - 1) : 0;
        rest -= turn * stride;
        if (r == range) numbers[i] = turn;
      }
      if (rest != 0) throw Failure("no turn of the loops stores element " + std::to_string(places[size_t(i)]));
    }
    return table.index_ptr(point_).load().cast(range.dtype());
  }

  // Returns the ranges of the store with their strides, the largest stride first.
  std::vector<std::pair<int64_t, UOp>> strides_of(const PlainStore& s) {
    std::vector<std::pair<int64_t, UOp>> out;
    for (UOp r : s.ranges) out.emplace_back(extent_of(r) > 1 ? offset_at(s, r) - offset_at(s, UOp()) : 0, r);
    std::ranges::stable_sort(out, std::greater(), &std::pair<int64_t, UOp>::first);
    return out;
  }

  // Returns the offset of the store if the range `one` is 1 and all other ranges are 0.
  int64_t offset_at(const PlainStore& s, UOp one) {
    Substitution numbers;
    for (UOp r : s.ranges) numbers.emplace_back(r, r.const_like(Const(int64_t(r == one))));
    UOp offset = substitute(s.offset, numbers).simplify();
    if (!offset.is_const()) throw Failure("an offset that is no number");
    return offset.arg().to_const().to_int().low64();
  }

  void add(const PlainStore& s, const std::vector<int64_t>* given) {
    Substitution points;
    for (UOp r : s.ranges) points.emplace_back(r, given ? turned_back(s, r, *given) : drawn(r));
    size_t offsets, values;
    UOp to_offsets = array(dtypes::int64, offsets), to_values = array(s.value.dtype(), values);
    stores_.push_back(to_offsets.index_ptr(point_).store(substitute(s.offset, points).cast(dtypes::int64)));
    stores_.push_back(to_values.index_ptr(point_).store(substitute(s.value, points)));
    results_.push_back({array_of(s), offsets, values});
  }

  struct Stored {
    std::string name;
    size_t offsets, values;  // indices into own_
  };

  Graph graph_;
  int64_t points_;
  UOp ast_, point_;
  std::mt19937_64 random_{1};
  std::vector<Array> own_;
  std::vector<UOp> stores_;
  std::vector<Stored> results_;
};

Sample all_of(UOp ast, const Arrays& inputs, const VariableValues& variables) {
  Sample out;
  std::vector<RefBuffer> buffers;
  std::vector<UOp> nodes = toposort(ast);
  for (const BufferSpec& b : buffers_of(nodes)) {
    auto given = std::ranges::find(inputs, b.name(), &NamedArray::name);
    if (given == inputs.end()) continue;
    if (b.written) out.values.push_back({b.name(), shared_copy(given->array)});
    buffers.push_back(buffer_of(b.written ? out.values.back() : *given));
  }
  run_in_worker(RefProgram::from_graph(ast).value_or_throw(), buffers, variables).value_or_throw();
  return out;
}

}  // namespace

Array elements_of(const Array& array, const std::vector<int64_t>& places) {
  Array out(array.dtype(), {int64_t(places.size())});
  auto item = size_t(array.dtype().itemsize());
  for (int64_t place : places)
    if (place < 0 || place >= array.size())
      throw Failure("element " + std::to_string(place) + " of " + array.describe());
  for (size_t i = 0; i < places.size(); i++)
    std::memcpy(out.data() + i * item, array.data() + size_t(places[i]) * item, item);
  return out;
}

UOp constant_size_of(UOp range) {
  UOp size = range.src(0);
  while (size.is(Op::CAST)) size = size.src(0);
  return size.is_const() ? size : UOp();
}

double work_of(UOp ast) { return work_below(ast, {}); }

Result<Sample> reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work) {
  return catch_failures([&] {
    auto stores = plain_stores(ast);
    const double all = work_of(ast);
    if (!stores && all > kMostTimes * work) throw Failure("the kernel is no plain AST, and too large for REF");
    if (!stores || all <= work) return all_of(ast, inputs, variables);
    double each = 0;
    for (const PlainStore& s : *stores) each += work_below(s.value, {s.ranges.begin(), s.ranges.end()});
    if (double(kFewest) * each > kMostTimes * work) throw Failure("a few places of the kernel are too large for REF");
    return Sampling(ast, std::clamp(int64_t(work / each), kFewest, kMost)).run(inputs, variables);
  });
}

Result<Arrays> values_at(UOp ast, const Arrays& inputs, const VariableValues& variables, const Places& places,
                         bool in_process) {
  return catch_failures([&] {
    auto stores = plain_stores(ast);
    if (!stores) throw Failure("the kernel is no plain AST");
    for (const PlainStore& s : *stores)
      if (auto it = places.find(array_of(s)); it == places.end() || it->second.empty())
        throw Failure("no places of " + array_of(s));
    size_t most = 0;
    for (auto& [name, list] : places) most = std::max(most, list.size());
    Places all = places;  // padded by repeating an array's first index, so that all arrays have as many indices
    for (auto& [name, list] : all) list.resize(most, list.at(0));
    Sample sample = Sampling(ast, int64_t(most)).run(inputs, variables, &all, in_process);
    if (sample.places != all) throw Failure("the offsets of the kernel's stores are no sums of its loops");
    for (NamedArray& a : sample.values) {
      std::vector<int64_t> first(places.at(a.name).size());
      std::iota(first.begin(), first.end(), 0);
      a.array = elements_of(a.array, first);
    }
    return std::move(sample.values);
  });
}

}  // namespace tgc
