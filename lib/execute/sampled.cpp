#include "lib/execute/sampled.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/copy.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr int64_t kFewest = 64, kMost = 2048;  // places of each store
constexpr int64_t kOwn = 1000000;              // number of the first DEFINE_GLOBAL that is not the kernel's
constexpr int64_t kPointAxis = 1 << 20;

int64_t number_of(const std::string& array) {
  int64_t n = -1;
  std::from_chars(array.data() + std::min<size_t>(4, array.size()), array.data() + array.size(), n);
  return n;
}

struct PlainStore {
  UOp memory, offset, value;
  std::vector<UOp> ranges;
};

// The stores of a plain AST; nothing when it is another.
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
    if (std::ranges::find(out, s.memory, &PlainStore::memory) != out.end()) return std::nullopt;
    out.push_back(std::move(s));
  }
  for (UOp u : toposort(ast))
    if (u.in({Op::AFTER, Op::BUFFERIZE, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::BARRIER})) return std::nullopt;
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

double extent_of(UOp range) { return range.src(0).is_const() ? std::max(1.0, range.vmax().to_double() + 1) : 1; }

// The evaluations below `root`, once for each element of the ranges that are not in `without`.
double work_below(UOp root, const std::unordered_set<UOp>& without) {
  double out = 0;
  for (UOp u : toposort(root)) {
    double times = 1;
    for (UOp r : ranges_of(u))
      if (!without.contains(r)) times *= extent_of(r);
    out += times;
  }
  return out;
}

// One graph that computes all stores at their points.
class Sampling {
 public:
  Sampling(UOp ast, int64_t points) : graph_(ast.graph().settings()), points_(points), ast_(copy_into(graph_, ast)) {
    point_ = graph_.range(Const(points), kPointAxis, AxisType::GLOBAL);
  }

  Sample run(const Arrays& inputs, const VariableValues& variables) {
    auto plain = plain_stores(ast_);
    for (const PlainStore& s : *plain) add(s);
    RefProgram program =
        std::move(RefProgram::from_graph(graph_.sink(graph_.group(stores_).end(point_))).value_or_throw());
    Arrays read = copy_of(inputs);
    std::vector<RefBuffer> buffers;
    for (NamedArray& a : read) buffers.push_back({number_of(a.name), a.array.data(), a.array.nbytes()});
    for (size_t i = 0; i < own_.size(); i++) buffers.push_back({kOwn + int64_t(i), own_[i].data(), own_[i].nbytes()});
    program.run(buffers, variables).value_or_throw();
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
    own_.emplace_back(dtype, std::vector<int64_t>{points_});
    return graph_.node(Op::DEFINE_GLOBAL, dtype.ptr(points_), {}, Arg(kOwn + int64_t(number)));
  }

  // Ranges become numbers that lie in an array, the edges first.
  UOp drawn(UOp range) {
    size_t number;
    UOp table = array(dtypes::int64, number);
    auto* numbers = reinterpret_cast<int64_t*>(own_[number].data());
    int64_t size = int64_t(extent_of(range));
    for (int64_t i = 0; i < points_; i++)
      numbers[i] = i == 0 ? 0 : i == 1 ? size - 1 : int64_t(random_() % uint64_t(size));
    return table.index_ptr(point_).load().cast(range.dtype());
  }

  void add(const PlainStore& s) {
    Substitution points;
    for (UOp r : s.ranges) points.emplace_back(r, drawn(r));
    size_t offsets, values;
    UOp to_offsets = array(dtypes::int64, offsets), to_values = array(s.value.dtype(), values);
    stores_.push_back(to_offsets.index_ptr(point_).store(substitute(s.offset, points).cast(dtypes::int64)));
    stores_.push_back(to_values.index_ptr(point_).store(substitute(s.value, points)));
    results_.push_back({"data" + std::to_string(s.memory.arg().small_int()), offsets, values});
  }

  struct Stored {
    std::string name;
    size_t offsets, values;  // of own_
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
  Arrays arrays = copy_of(inputs);
  std::vector<RefBuffer> buffers;
  for (NamedArray& a : arrays) buffers.push_back({number_of(a.name), a.array.data(), a.array.nbytes()});
  std::move(RefProgram::from_graph(ast).value_or_throw()).run(buffers, variables).value_or_throw();
  std::vector<UOp> nodes = toposort(ast);
  for (const BufferSpec& b : buffers_of(nodes))
    if (b.written) {
      auto made = std::ranges::find(arrays, b.name(), &NamedArray::name);
      if (made != arrays.end()) out.values.push_back({b.name(), std::move(made->array)});
    }
  return out;
}

}  // namespace

Array elements_of(const Array& array, const std::vector<int64_t>& places) {
  Array out(array.dtype(), {int64_t(places.size())});
  auto item = size_t(array.dtype().itemsize());
  for (size_t i = 0; i < places.size(); i++)
    std::memcpy(out.data() + i * item, array.data() + size_t(places[i]) * item, item);
  return out;
}

double work_of(UOp ast) { return work_below(ast, {}); }

Result<Sample> sampled(UOp ast, const Arrays& inputs, const VariableValues& variables, double work) {
  return catch_failures([&] {
    auto stores = plain_stores(ast);
    if (!stores || work_of(ast) <= work) return all_of(ast, inputs, variables);
    double each = 0;
    for (const PlainStore& s : *stores) each += work_below(s.value, {s.ranges.begin(), s.ranges.end()});
    return Sampling(ast, std::clamp(int64_t(work / each), kFewest, kMost)).run(inputs, variables);
  });
}

}  // namespace tgc
