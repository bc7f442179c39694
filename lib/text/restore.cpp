#include "lib/text/restore.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "lib/uop/facts.h"

namespace tgc {

namespace {

constexpr std::string_view kUnknownDevice = "?";

bool is_unknown_device(UOp u) { return u.is(Op::DEVICE) && u.arg().is_str() && u.arg().text() == kUnknownDevice; }

UOp unknown_device(Graph& g) { return g.node(Op::DEVICE, dtypes::void_, {}, g.str(kUnknownDevice)); }

// replace(before, after) returns the node that replaces `before`; `after` is `before` with its sources already
// replaced.
template <class Replace>
UOp rebuild_graph(UOp root, Replace replace) {
  UOpMap<UOp> done(root.graph());
  std::vector<UOp> src;
  for (UOp u : toposort(root)) {
    src.clear();
    for (UOp s : u.src()) src.push_back(*done.find(s));
    done[u] = replace(u, u.with_src(src));
  }
  return *done.find(root);
}

// Finds the device of a stand-in from its users, in a graph with several devices.
class NearbyDevices {
 public:
  explicit NearbyDevices(std::span<const UOp> nodes) : users_(nodes[0].graph()) {
    for (UOp u : nodes)
      for (UOp s : u.src()) users_[s].push_back(u);
  }

  // Searches users, users' users and so on, but not beyond a COPY, for a source on a known device. Returns this device;
  // None if there is none.
  Arg nearest_device(UOp stand_in) {
    UOpSet seen(stand_in.graph());
    std::vector<UOp> level{stand_in};
    while (!level.empty()) {
      std::vector<UOp> next;
      for (UOp below : level)
        for (UOp user : users_[below]) {
          if (user.is(Op::COPY) || !seen.insert(user)) continue;
          for (UOp s : user.src())
            if (Arg device = device_of(s); device.is_str() && device.text() != kUnknownDevice) return device;
          next.push_back(user);
        }
      level = std::move(next);
    }
    return {};
  }

 private:
  UOpMap<std::vector<UOp>> users_;
};

}  // namespace

bool is_stand_in(UOp u) { return u.is(Op::CONST) && u.num_src() > 0 && is_unknown_device(u.src(0)); }

UOp make_local_unique_constant(UOp c, int64_t occurrence) {
  Graph& g = c.graph();
  UOp src[] = {unknown_device(g), g.node(Op::LUNIQUE, dtypes::void_, {}, -1 - occurrence)};
  return c.with_src(src);
}

UOp make_assign_to_unique_constant(UOp c, UOp value, const UOpSet& named, int64_t occurrence) {
  UOp unique = make_local_unique_constant(c, occurrence);
  UOpMap<UOp> done(c.graph());
  std::vector<UOp> src;
  for (UOp u : toposort(value, [&](UOp u) { return !named.contains(u); })) {
    src.clear();
    for (UOp s : u.src()) src.push_back(done.contains(s) ? *done.find(s) : s);
    bool same = u == c || (is_stand_in(u) && u.num_src() == 2 && u.with_src({}) == c);
    done[u] = same ? unique : u.with_src(src);
  }
  return unique.assign(done.contains(value) ? *done.find(value) : value);
}

UOp constant_on_unknown_device(UOp c) { return c.with_src(unknown_device(c.graph())); }

UOp restore_constants(UOp root) {
  Graph& g = root.graph();
  std::set<Int> taken;
  std::vector<UOp> unique;
  Arg device;
  bool in_kernel = false, several = false;
  auto nodes = toposort(root);
  for (UOp u : nodes) {
    if (is_stand_in(u) && u.num_src() == 2) unique.push_back(u);
    else if (u.is(Op::LUNIQUE) && u.arg().is_integral()) taken.insert(u.arg().as_int());
    else if (u.is(Op::DEVICE) && u.arg().is_str() && !is_unknown_device(u))
      device.is_none() ? void(device = u.arg()) : void(several |= device != u.arg());
    else if (u.is(Op::DEFINE_GLOBAL)) in_kernel = true;
    else if (u.is(Op::BUFFERIZE) && device.is_none() && device_of(u).is_str()) device = device_of(u);
  }
  bool known = !device.is_none();
  auto device_node = [&](Arg d) { return g.node(Op::DEVICE, dtypes::void_, {}, d); };
  UOp place = device_node(known ? device : g.str("CPU"));
  std::optional<NearbyDevices> nearby;
  if (several) nearby.emplace(nodes);
  auto place_of = [&](UOp stand_in) {
    Arg near = nearby ? nearby->nearest_device(stand_in) : Arg();
    return near.is_none() ? place : device_node(near);
  };
  std::sort(unique.begin(), unique.end(),
            [](UOp a, UOp b) { return b.src(1).arg().as_int() < a.src(1).arg().as_int(); });
  UOpMap<Int> number(g);
  Int next = 0;
  for (UOp u : unique) {
    while (taken.contains(next)) next += 1;
    number[u] = next;
    next += 1;
  }
  return rebuild_graph(root, [&](UOp before, UOp after) {
    if (!is_stand_in(before)) return after;
    if (in_kernel) return before.with_src({});
    if (before.num_src() == 1) return known ? before.with_src(place_of(before)) : before.with_src({});
    UOp src[] = {place_of(before), g.node(Op::LUNIQUE, dtypes::void_, {}, *number.find(before))};
    return before.with_src(src);
  });
}

namespace {

// Ops whose dtype pyrender omits, because it follows from the operands.
constexpr OpSet kDTypeFromOperands =
    (ops::ALU - OpSet{Op::MAX, Op::NEG, Op::TRUNC, Op::MULACC, Op::CMPEQ, Op::SUB, Op::FDIV, Op::POW}) |
    OpSet{Op::CONTIGUOUS, Op::DETACH};

class VectorLengths {
 public:
  VectorLengths(UOp root, const std::vector<UOp>& open)
      : order_(toposort(root)), node_numbers_(root.graph()), class_parents_(order_.size()) {
    std::iota(class_parents_.begin(), class_parents_.end(), size_t(0));
    class_lengths_.resize(order_.size());
    has_open_length_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); i++) node_numbers_[order_[i]] = i;
    for (UOp u : open)
      if (const size_t* i = node_numbers_.find(u)) has_open_length_[*i] = true;
    for (size_t i = 0; i < order_.size(); i++) constrain_node(i);
    for (auto [i, elements] : min_lengths_)  // a GEP gives a lower bound of the length
      if (class_lengths_[find_class(i)] == kUnknown) set_length(i, elements);
  }

  UOp rebuild_graph() {
    std::vector<UOp> made, src;
    for (size_t i = 0; i < order_.size(); i++) {
      UOp u = order_[i];
      src.clear();
      for (UOp s : u.src()) src.push_back(made[*node_numbers_.find(s)]);
      DType d = u.dtype();
      if (int64_t n = has_open_length_[i] ? class_lengths_[find_class(i)] : kUnknown; n > 0)
        d = n == 1 ? d.scalar() : d.scalar().vec(n);
      made.push_back(d == u.dtype() ? u.with_src(src) : u.with_src(src).with_dtype(d));
    }
    return made.back();
  }
  bool is_length_known(UOp u) {
    const size_t* i = node_numbers_.find(u);
    return !i || class_lengths_[find_class(*i)] > 0;
  }

 private:
  static constexpr int64_t kUnknown = 0, kContradiction = -1;
  static constexpr int64_t kMaxElements = 1 << 20;  // limit of the index of a GEP, because the text is untrusted

  size_t find_class(size_t i) {
    while (class_parents_[i] != i) i = class_parents_[i] = class_parents_[class_parents_[i]];
    return i;
  }
  void set_length(size_t i, int64_t length) {
    int64_t& known = class_lengths_[find_class(i)];
    if (known == kUnknown) known = length;
    else if (known != length) known = kContradiction;
  }
  void join_classes(size_t i, size_t k) {
    size_t a = find_class(i), b = find_class(k);
    if (a != b) {
      class_parents_[b] = a;
      if (class_lengths_[b] != kUnknown) set_length(a, class_lengths_[b]);
    }
    for (size_t n : {i, k})
      if (!has_open_length_[n]) set_length(a, order_[n].dtype().count());
  }

  void constrain_node(size_t i) {
    UOp u = order_[i];
    bool was_open = has_open_length_[i];
    auto open_source = [&](UOp s) { return bool(has_open_length_[*node_numbers_.find(s)]); };
    if (!std::any_of(u.src().begin(), u.src().end(), open_source)) return;
    if (u.in(kDTypeFromOperands) && !was_open) has_open_length_[i] = true;
    if (u.in(kDTypeFromOperands | ops::ALU | OpSet{Op::CAST, Op::BITCAST}) && !was_open)
      for (UOp s : u.src()) join_classes(i, *node_numbers_.find(s));
    for (UOp s : u.src()) {
      size_t k = *node_numbers_.find(s);
      if (!has_open_length_[k]) continue;
      if (u.in({Op::VECTORIZE, Op::STACK}) && u.num_src()) set_length(k, u.dtype().count() / int64_t(u.num_src()));
      if (u.is(Op::GEP) && u.arg().is_tuple())
        for (Arg e : u.arg().items())
          if (e.is_int() && e.as_int() < kMaxElements) min_lengths_[k] = std::max(min_lengths_[k], e.small_int() + 1);
      if (u.in({Op::BUFFERIZE, Op::STAGE}) && s == u.src(0)) set_length(k, u.dtype().count());
      if (u.is(Op::STORE) && s == u.src(1)) set_length(k, stored_length(u.src(0).dtype()));
    }
  }
  // Returns the number of pointers in a vector of pointers, or else the pointee's length.
  static int64_t stored_length(DType d) { return d.is_ptr() && d.vcount() > 1 ? d.vcount() : d.base().count(); }

  std::vector<UOp> order_;
  UOpMap<size_t> node_numbers_;
  std::vector<size_t> class_parents_;  // union-find over node numbers; the nodes of a class have equal lengths
  std::vector<int64_t> class_lengths_;
  std::vector<char> has_open_length_;
  std::map<size_t, int64_t> min_lengths_;  // by node number: 1 + the highest index of a GEP
};

}  // namespace

UOp infer_vector_lengths(UOp root, std::vector<UOp>& open) {
  VectorLengths lengths(root, open);
  UOp out = lengths.rebuild_graph();
  std::erase_if(open, [&](UOp u) { return lengths.is_length_known(u); });
  return out;
}

namespace {

// `to` has a bit for each dtype that this dtype promotes to in one step.
struct Promotion {
  std::string_view attribute;
  uint32_t to;
};
enum : uint32_t {
  kBool, kWeakInt, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64,
  kWeakFloat, kE4M3, kE4M3Z, kE5M2, kE5M2Z, kHalf, kBF16, kFloat, kDouble, kNumPromoted
};
constexpr uint32_t promotion_bit(uint32_t i) { return 1u << i; }
constexpr Promotion kPromotions[kNumPromoted] = {
    {"bool", promotion_bit(kWeakInt)},
    {"weakint", promotion_bit(kI8) | promotion_bit(kU8)},
    {"char", promotion_bit(kI16)},
    {"uchar", promotion_bit(kI16) | promotion_bit(kU16)},
    {"short", promotion_bit(kI32)},
    {"ushort", promotion_bit(kI32) | promotion_bit(kU32)},
    {"int", promotion_bit(kI64)},
    {"uint", promotion_bit(kI64) | promotion_bit(kU64)},
    {"long", promotion_bit(kWeakFloat)},
    {"ulong", promotion_bit(kWeakFloat)},
    {"weakfloat", promotion_bit(kE4M3) | promotion_bit(kE5M2) | promotion_bit(kE4M3Z) | promotion_bit(kE5M2Z)},
    {"fp8e4m3", promotion_bit(kHalf) | promotion_bit(kBF16)},
    {"fp8e4m3fnuz", promotion_bit(kHalf) | promotion_bit(kBF16)},
    {"fp8e5m2", promotion_bit(kHalf) | promotion_bit(kBF16)},
    {"fp8e5m2fnuz", promotion_bit(kHalf) | promotion_bit(kBF16)},
    {"half", promotion_bit(kFloat)},
    {"bfloat16", promotion_bit(kFloat)},
    {"float", promotion_bit(kDouble)},
    {"double", 0},
};

constexpr uint32_t reachable_promotions(uint32_t i) {
  uint32_t out = promotion_bit(i);
  for (uint32_t k = i; k < kNumPromoted; k++)  // a dtype promotes only to later ones
    if (out >> k & 1) out |= kPromotions[k].to;
  return out;
}
constexpr auto kReachable = [] {
  std::array<uint32_t, kNumPromoted> out{};
  for (uint32_t i = 0; i < kNumPromoted; i++) out[i] = reachable_promotions(i);
  return out;
}();

const std::array<DType, kNumPromoted>& promotable_dtypes() {
  static const auto kAll = [] {
    std::array<DType, kNumPromoted> out;
    for (size_t i = 0; i < kNumPromoted; i++) out[i] = dtypes::parse_any_release(kPromotions[i].attribute);
    return out;
  }();
  return kAll;
}

uint32_t promotion_index(DType d) {
  return uint32_t(std::ranges::find(promotable_dtypes(), d) - promotable_dtypes().begin());
}

}  // namespace

std::optional<DType> promoted_dtype_0_14(DType a, DType b) {
  if (a == b && a != dtypes::void_) return a;
  const uint32_t i = promotion_index(a), k = promotion_index(b);
  if (i == kNumPromoted || k == kNumPromoted) return std::nullopt;
  return promotable_dtypes()[size_t(__builtin_ctz(kReachable[i] & kReachable[k]))];
}

}  // namespace tgc
