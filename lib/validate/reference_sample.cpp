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

constexpr int64_t kMinSamples = 64, kMaxSamples = 2048;  // fewest and most elements that are sampled of each store
constexpr double kMaxWorkFactor = 200;             // a kernel that needs more than kMaxWorkFactor * work is refused
constexpr int64_t kFirstAddedBuffer = 1000000;  // number of the first added DEFINE_GLOBAL; kernels have smaller numbers
constexpr int64_t kPointAxis = 1 << 20;

int64_t array_number(const std::string& array) {
  int64_t n = -1;
  std::from_chars(array.data() + std::min<size_t>(4, array.size()), array.data() + array.size(), n);
  return n;
}

using ElementIndices = std::map<std::string, std::vector<int64_t>>;

struct PlainStore {
  UOp memory, offset, value;
  std::vector<UOp> ranges;
};

RefBuffer ref_buffer_of(const NamedArray& a) {
  return {array_number(a.name), const_cast<uint8_t*>(a.array.data()), a.array.nbytes()};
}

std::string stored_array_name(const PlainStore& s) { return "data" + std::to_string(s.memory.arg().small_int()); }

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

// Returns the number of iterations of `range`, but at least 1 and, to avoid overflows, at most 2^62; 1 if it is not
// constant.
int64_t num_iterations_of(UOp range) { return int64_t(std::min(extent_of(range), 0x1p62)); }

// Estimates how many evaluations the nodes below `root` need: of each node, its vector size times the sizes of the
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

int64_t offset_with_unit_range(const PlainStore& s, UOp one) {
  Substitution numbers;
  for (UOp r : s.ranges) numbers.emplace_back(r, r.const_like(Const(int64_t(r == one))));
  UOp offset = substitute(s.offset, numbers).simplify();
  if (!offset.is_const()) throw Failure("an offset that is no number");
  return offset.arg().to_const().to_int().low_64_bits();
}

// The offset of a store as the sum of `base` and all ranges times their strides.
struct LinearOffset {
  int64_t base;
  std::vector<std::pair<int64_t, UOp>> strides;

  explicit LinearOffset(const PlainStore& s) : base(offset_with_unit_range(s, UOp())) {
    for (UOp r : s.ranges) strides.emplace_back(extent_of(r) > 1 ? offset_with_unit_range(s, r) - base : 0, r);
    std::ranges::stable_sort(strides, std::greater(), &std::pair<int64_t, UOp>::first);
  }
  // Returns the value of each range in the iteration that stores to the index `place`. Throws Failure if it finds none.
  std::vector<std::pair<UOp, int64_t>> range_values_at(int64_t place) const {
    std::vector<std::pair<UOp, int64_t>> out;
    int64_t rest = place - base;
    for (auto [stride, r] : strides) {
      out.emplace_back(r, stride ? std::min(rest / stride, num_iterations_of(r) - 1) : 0);
      rest -= out.back().second * stride;
    }
    if (rest != 0) throw Failure("no turn of the loops stores element " + std::to_string(place));
    return out;
  }
};

// Builds one graph that computes the stored elements at all sampled points, and runs this graph.
class ElementSampler {
 public:
  ElementSampler(UOp ast, int64_t points)
      : graph_(ast.graph().settings()), num_points_(points), ast_(copy_into(graph_, ast)) {
    point_range_ = graph_.range(Const(points), kPointAxis, AxisType::GLOBAL);
  }

  // `given` has, for each stored array, as many indices as there are points; null: the indices are drawn.
  ArraySample run(const Arrays& inputs, const VariableValues& variables, const ElementIndices* given = nullptr,
                  bool in_process = false) {
    auto plain = plain_stores(ast_);
    UninstrumentedScope own(graph_);
    for (const PlainStore& s : *plain) add_store(s, given ? &given->at(stored_array_name(s)) : nullptr);
    RefProgram program =
        std::move(RefProgram::make_from_graph(graph_.sink(graph_.group(stores_).end(point_range_))).value_or_throw());
    std::vector<RefBuffer> buffers;
    for (const NamedArray& a : inputs) buffers.push_back(ref_buffer_of(a));
    for (size_t i = 0; i < point_arrays_.size(); i++)
      buffers.push_back({kFirstAddedBuffer + int64_t(i), point_arrays_[i].data(), point_arrays_[i].nbytes()});
    run_ref_program(program, buffers, variables, in_process).value_or_throw();
    ArraySample out;
    for (auto& [name, offsets, values] : sampled_stores_) {
      auto* at = reinterpret_cast<const int64_t*>(point_arrays_[offsets].data());
      out.flat_indices[name].assign(at, at + num_points_);
      out.values.push_back({name, std::move(point_arrays_[values])});
    }
    return out;
  }

 private:
  UOp make_point_array(DType dtype, size_t& number) {
    number = point_arrays_.size();
    point_arrays_.push_back(Array::allocate_shared(dtype, {num_points_}));
    return graph_.node(Op::DEFINE_GLOBAL, dtype.ptr(num_points_), {}, Arg(kFirstAddedBuffer + int64_t(number)));
  }

  // Returns a load from an array that has a value of `range` for each point.
  UOp draw_range_values(UOp range) {
    size_t number;
    UOp table = make_point_array(dtypes::int64, number);
    auto* numbers = reinterpret_cast<int64_t*>(point_arrays_[number].data());
    const int64_t size = num_iterations_of(range);
    for (int64_t i = 0; i < num_points_; i++)
      numbers[i] = i == 0 ? 0 : i == 1 ? size - 1 : int64_t(random_() % uint64_t(size));
    return table.index_ptr(point_range_).load().cast(range.dtype());
  }

  // Returns a load from an array that has the value of `range` for each of the indices `places`.
  UOp load_given_range(const LinearOffset& offsets, UOp range, const std::vector<int64_t>& places) {
    size_t number;
    UOp table = make_point_array(dtypes::int64, number);
    auto* numbers = reinterpret_cast<int64_t*>(point_arrays_[number].data());
    for (int64_t i = 0; i < num_points_; i++)
      for (auto [r, turn] : offsets.range_values_at(places[size_t(i)]))
        if (r == range) numbers[i] = turn;
    return table.index_ptr(point_range_).load().cast(range.dtype());
  }

  void add_store(const PlainStore& s, const std::vector<int64_t>* given) {
    Substitution points;
    std::optional<LinearOffset> back;
    if (given) back.emplace(s);
    for (UOp r : s.ranges) points.emplace_back(r, given ? load_given_range(*back, r, *given) : draw_range_values(r));
    size_t offsets, values;
    UOp to_offsets = make_point_array(dtypes::int64, offsets), to_values = make_point_array(s.value.dtype(), values);
    stores_.push_back(to_offsets.index_ptr(point_range_).store(substitute(s.offset, points).cast(dtypes::int64)));
    stores_.push_back(to_values.index_ptr(point_range_).store(substitute(s.value, points)));
    sampled_stores_.push_back({stored_array_name(s), offsets, values});
  }

  struct SampledStore {
    std::string name;
    size_t offsets, values;
  };

  Graph graph_;
  int64_t num_points_;
  UOp ast_, point_range_;
  std::mt19937_64 random_{1};
  std::vector<Array> point_arrays_;
  std::vector<UOp> stores_;
  std::vector<SampledStore> sampled_stores_;
};

ArraySample compute_all_elements(UOp ast, const Arrays& inputs, const VariableValues& variables) {
  ArraySample out;
  std::vector<RefBuffer> buffers;
  std::vector<UOp> nodes = toposort(ast);
  for (const BufferSpec& b : buffers_of_nodes(nodes)) {
    auto given = std::ranges::find(inputs, b.name(), &NamedArray::name);
    if (given == inputs.end()) continue;
    if (b.is_written) out.values.push_back({b.name(), copy_to_shared_memory(given->array)});
    buffers.push_back(ref_buffer_of(b.is_written ? out.values.back() : *given));
  }
  run_in_worker(RefProgram::make_from_graph(ast).value_or_throw(), buffers, variables).value_or_throw();
  return out;
}

// Returns the RANGEs below a value: the loops of its reductions, if those of its store were replaced.
std::vector<UOp> ranges_of_reductions(UOp value) {
  std::vector<UOp> out;
  for (UOp u : toposort(value))
    if (u.is(Op::RANGE)) out.push_back(u);
  return out;
}

}  // namespace

Array elements_at(const Array& array, const std::vector<int64_t>& places) {
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

std::map<std::string, std::vector<int64_t>> find_elements_read(UOp ast, const std::string& array, int64_t place,
                                                               const VariableValues& variables, size_t most) {
  ElementIndices out;
  auto read = [&](UOp value) {
    for (UOp u : toposort(value)) {
      if (!u.is(Op::INDEX) || !u.src(0).is(Op::DEFINE_GLOBAL)) continue;
      const UOp index = u.src(1).simplify();
      if (!index.is_const() || index.is_invalid()) continue;
      auto& places = out["data" + std::to_string(u.src(0).arg().small_int())];
      const int64_t at = index.arg().to_const().to_int().low_64_bits();
      if (std::ranges::find(places, at) == places.end()) places.push_back(at);
    }
  };
  auto done = catch_failures([&] {
    Graph graph(ast.graph().settings());
    UninstrumentedScope own(graph);
    auto stores = plain_stores(copy_into(graph, ast));
    for (const PlainStore& s : stores ? *stores : std::vector<PlainStore>()) {
      if (stored_array_name(s) != array) continue;
      Substitution at;
      for (auto [r, turn] : LinearOffset(s).range_values_at(place)) at.emplace_back(r, r.const_like(Const(turn)));
      for (UOp u : toposort(s.value))
        if (u.is(Op::DEFINE_VAR))
          if (auto v = variables.find(u.arg()[0].str()); v != variables.end())
            at.emplace_back(u, u.const_like(Const(v->second)));
      const UOp value = substitute(s.value, at);
      const std::vector<UOp> loops = ranges_of_reductions(value);
      const int64_t rounds = loops.empty() ? 1 : std::min(num_iterations_of(loops.back()), int64_t(most) + 1);
      for (int64_t turn = 0; turn < rounds; turn++) {
        Substitution turns;
        for (UOp r : loops) turns.emplace_back(r, r.const_like(Const(r == loops.back() ? turn : 0)));
        read(substitute(value, turns));
      }
    }
    return Unit{};
  });
  return done ? out : ElementIndices();
}

Result<ArraySample> make_reference_sample(UOp ast, const Arrays& inputs, const VariableValues& variables, double work) {
  return catch_failures([&] {
    auto stores = plain_stores(ast);
    const double all = work_of(ast);
    if (!stores && all > kMaxWorkFactor * work) throw Failure("the kernel is no plain AST, and too large for REF");
    if (!stores || all <= work) return compute_all_elements(ast, inputs, variables);
    double each = 0;
    for (const PlainStore& s : *stores) each += work_below(s.value, {s.ranges.begin(), s.ranges.end()});
    if (double(kMinSamples) * each > kMaxWorkFactor * work)
      throw Failure("a few places of the kernel are too large for REF");
    return ElementSampler(ast, std::clamp(int64_t(work / each), kMinSamples, kMaxSamples)).run(inputs, variables);
  });
}

Result<Arrays> compute_values_at(UOp ast, const Arrays& inputs, const VariableValues& variables,
                                 const ElementIndices& places, bool in_process) {
  return catch_failures([&] {
    auto stores = plain_stores(ast);
    if (!stores) throw Failure("the kernel is no plain AST");
    for (const PlainStore& s : *stores)
      if (auto it = places.find(stored_array_name(s)); it == places.end() || it->second.empty())
        throw Failure("no places of " + stored_array_name(s));
    size_t most = 0;
    for (auto& [name, list] : places) most = std::max(most, list.size());
    ElementIndices all = places;  // padded by repeating an array's first index, so that all arrays have as many indices
    for (auto& [name, list] : all) list.resize(most, list.at(0));
    ArraySample sample = ElementSampler(ast, int64_t(most)).run(inputs, variables, &all, in_process);
    if (sample.flat_indices != all) throw Failure("the offsets of the kernel's stores are no sums of its loops");
    for (NamedArray& a : sample.values) {
      std::vector<int64_t> first(places.at(a.name).size());
      std::iota(first.begin(), first.end(), 0);
      a.array = elements_at(a.array, first);
    }
    return std::move(sample.values);
  });
}

}  // namespace tgc
