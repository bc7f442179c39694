#include "lib/bisect/list_variants.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tgc {
namespace {

constexpr OpSet kParameters = {Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG, Op::DEFINE_VAR};

bool has_storable_value(UOp u) {
  constexpr int64_t kMostElements = 16;
  DType d = u.dtype();
  return d.is_value() && !d.is(Scalar::Void) && d.count() <= kMostElements && !u.in(kParameters);
}

}  // namespace

ObservedList::ObservedList(std::span<const UOp> list, bool stores_words)
    : linear_list_(list), stores_words_(stores_words) {
  std::vector<size_t> open;
  int64_t number = 0;
  for (UOp u : list)
    if (u.is(Op::DEFINE_GLOBAL)) number = std::max(number, u.arg().small_int() + 1);
  for (size_t i = 0; i < list.size(); i++) {
    UOp u = list[i];
    if (u.in({Op::RANGE, Op::SPECIAL})) {
      auto most = u.vmax().as_int().to_int64();
      loops_.push_back({i, most && *most >= 0 && *most < INT32_MAX ? *most + 1 : INT32_MAX});
      open.push_back(loops_.size() - 1);
      shorten_loops(open);
    }
    loops_of_nodes_.push_back(open);
    first_array_numbers_.push_back(number);
    if (has_storable_value(u)) number += u.dtype().count();
    if (!u.is(Op::END)) continue;
    for (UOp range : u.src()) std::erase_if(open, [&](size_t loop) { return list[loops_[loop].list_index] == range; });
  }
}

DType ObservedList::storage_dtype(DType element) const {
  const bool is_small = !dtypes::is_float(element) && element.itemsize() < 4;
  if (!stores_words_ || !is_small) return element;
  return dtypes::is_unsigned(element) ? dtypes::uint32 : dtypes::int32;
}

void ObservedList::shorten_loops(const std::vector<size_t>& around) {
  auto runs = [&] {
    double product = 1;
    for (size_t loop : around) product *= double(loops_[loop].num_iterations);
    return product;
  };
  auto can_be_shortened = [&](size_t loop) {
    UOp u = linear_list_[loops_[loop].list_index];
    return u.is(Op::RANGE) && u.src(0).is(Op::CONST) && loops_[loop].num_iterations > 2;
  };
  while (runs() > kMaxIterations) {
    size_t longest = SIZE_MAX;
    for (size_t loop : around)
      if (can_be_shortened(loop) &&
          (longest == SIZE_MAX || loops_[loop].num_iterations > loops_[longest].num_iterations))
        longest = loop;
    if (longest == SIZE_MAX) return void(is_short_ = false);
    loops_[longest].num_iterations = (loops_[longest].num_iterations + 1) / 2, loops_[longest].is_shortened = true;
  }
}

int64_t ObservedList::num_iterations_of_node(size_t node) const {
  int64_t out = 1;
  for (size_t loop : loops_of_nodes_[node]) out *= loops_[loop].num_iterations;
  return out;
}

std::vector<size_t> ObservedList::storable_nodes() const {
  std::vector<size_t> out;
  for (size_t i = 0; i < linear_list_.size(); i++)
    if (has_storable_value(linear_list_[i])) out.push_back(i);
  return out;
}

std::string ObservedList::array_name(size_t node, size_t element) const {
  return "data" + std::to_string(first_array_numbers_[node] + int64_t(element));
}

std::vector<int64_t> ObservedList::run_point_key(size_t node, int64_t iteration) const {
  std::vector<int64_t> out;
  int64_t size = num_iterations_of_node(node);
  for (size_t loop : loops_of_nodes_[node]) {
    size /= loops_[loop].num_iterations;
    out.push_back(int64_t(loops_[loop].list_index));
    out.push_back(iteration / size % loops_[loop].num_iterations);
  }
  out.push_back(int64_t(node));
  return out;
}

// Builds one variant of the list. Tags the nodes that it adds, except arrays, so that a seeded fault
// (renderers/misprint.h) does not count them.
class ObservedList::Builder {
 public:
  Builder(const ObservedList& of, const ListVariant& variant)
      : list_(of), variant_(variant), graph_(of.linear_list_[0].graph()) {}

  std::vector<UOp> build() {
    size_t arrays = 0;
    for (size_t i = 0; i < list_.linear_list_.size(); i++)
      if (list_.linear_list_[i].is(Op::DEFINE_GLOBAL)) arrays = i + 1;
    for (size_t i = 0; i < list_.linear_list_.size(); i++) {
      if (i == arrays) add_arrays();
      add_node(i);
    }
    return std::move(out_);
  }

 private:
  UOp append_node(UOp u) { return out_.emplace_back(u); }
  UOp append_added_node(UOp u) { return append_node(u.rtag(Arg(++num_tags_))); }

  UOp make_zero() { return append_added_node(graph_.constant(dtypes::int32, Const(int64_t(0)))); }

  void add_arrays() {
    zero_ = make_zero();
    for (size_t node : variant_.watched_nodes) add_arrays(node);
    if (variant_.replaced_node < list_.linear_list_.size()) add_arrays(variant_.replaced_node);
  }

  void add_arrays(size_t node) {
    std::vector<UOp>& arrays = arrays_[node];
    DType dtype =
        list_.storage_dtype(list_.linear_list_[node].dtype().scalar()).ptr(list_.num_iterations_of_node(node));
    for (size_t e = 0; e < list_.num_arrays_of_node(node); e++)
      arrays.push_back(
          append_node(graph_.node(Op::DEFINE_GLOBAL, dtype, {}, Arg(list_.first_array_numbers_[node] + int64_t(e)))));
  }

  void add_node(size_t node) {
    UOp u = list_.linear_list_[node];
    auto loop = std::ranges::find(list_.loops_, node, &ListLoop::list_index);
    std::vector<UOp> src;
    for (UOp s : u.src()) {
      bool keeps_loop = s.in({Op::RANGE, Op::SPECIAL}) && u.in({Op::END, Op::RANGE});
      auto& copies = keeps_loop ? copies_ : values_;
      src.push_back(copies.contains(s) ? copies[s] : s);
    }
    if (loop != list_.loops_.end() && loop->is_shortened)
      src[0] = append_added_node(graph_.constant(u.src(0).dtype(), Const(loop->num_iterations)));
    if (variant_.stores_only_first_element && u.is(Op::INDEX) && u.src(0).is(Op::DEFINE_GLOBAL)) src[1] = make_zero();
    UOp same = append_node(std::ranges::equal(src, u.src()) ? u : u.with_src(src));
    copies_[u] = values_[u] = same;
    if (loop != list_.loops_.end()) compute_iteration_number(node);
    if (std::ranges::find(variant_.watched_nodes, node) != variant_.watched_nodes.end()) store_value(node, same);
    if (node == variant_.replaced_node) values_[u] = load_value(node);
  }

  // Appends UOps that compute the row-major number of the iteration of the loops around `node`.
  void compute_iteration_number(size_t node) {
    UOp at;
    for (size_t loop : list_.loops_of_nodes_[node]) {
      UOp i = copies_.at(list_.linear_list_[list_.loops_[loop].list_index]);
      if (!(i.dtype() == dtypes::int32)) i = append_added_node(i.cast(dtypes::int32));
      if (at)
        at = append_added_node(at.alu(
            Op::MUL, append_added_node(graph_.constant(dtypes::int32, Const(list_.loops_[loop].num_iterations)))));
      at = at ? append_added_node(at.alu(Op::ADD, i)) : i;
    }
    iteration_numbers_[list_.loops_of_nodes_[node]] = at;
  }
  UOp iteration_number(size_t node) const {
    return list_.loops_of_nodes_[node].empty() ? zero_ : iteration_numbers_.at(list_.loops_of_nodes_[node]);
  }

  void store_value(size_t node, UOp value) {
    UOp at = iteration_number(node);
    const std::vector<UOp>& arrays = arrays_.at(node);
    for (size_t e = 0; e < arrays.size(); e++) {
      DType element = value.dtype().scalar();
      UOp one = value;
      if (arrays.size() > 1) one = append_added_node(graph_.node(Op::GEP, element, value, graph_.tuple({int64_t(e)})));
      if (const DType stored = list_.storage_dtype(element); stored != element)
        one = append_added_node(one.cast(stored));
      append_added_node(append_added_node(arrays[e].index_ptr(at)).store(one));
    }
  }

  UOp load_value(size_t node) {
    UOp at = iteration_number(node);
    std::vector<UOp> elements;
    const DType element = list_.linear_list_[node].dtype().scalar();
    for (UOp array : arrays_.at(node)) {
      UOp stored = append_added_node(append_added_node(array.index_ptr(at)).load());
      elements.push_back(stored.dtype() == element ? stored : append_added_node(stored.cast(element)));
    }
    return elements.size() == 1
               ? elements[0]
               : append_added_node(graph_.node(Op::VECTORIZE, list_.linear_list_[node].dtype(), elements));
  }

  const ObservedList& list_;
  const ListVariant& variant_;
  Graph& graph_;
  std::vector<UOp> out_;
  UOp zero_;
  std::unordered_map<size_t, std::vector<UOp>> arrays_;
  std::unordered_map<UOp, UOp> copies_, values_;
  std::map<std::vector<size_t>, UOp> iteration_numbers_;
  int64_t num_tags_ = 0;
};

std::vector<UOp> ObservedList::make_variant(const ListVariant& variant) const {
  return Builder(*this, variant).build();
}

}  // namespace tgc
