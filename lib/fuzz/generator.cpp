#include "lib/fuzz/generator.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "lib/spec/loops.h"
#include "lib/uop/facts.h"
#include "lib/uop/wellformed.h"

namespace tgc {
namespace {

constexpr int64_t kMaxElements = 4096;
constexpr int64_t kSizes[] = {1,  2,  3,  4,  5,  7,  8,   9,   12,  15,  16,  17,
                              31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256};
constexpr int64_t kDivisors[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 24, 32, 64, 100, 127, 128, 1000};
constexpr int64_t kEdges[] = {0,
                              1,
                              -1,
                              127,
                              128,
                              -128,
                              255,
                              256,
                              32767,
                              65535,
                              65536,
                              (int64_t(1) << 24) + 1,
                              std::numeric_limits<int32_t>::max(),
                              std::numeric_limits<int32_t>::min()};
const Int kLargest(int64_t(1) << 40);  // limit for indices: more than 32 bits, and sums fit 64 bits

UOp replace_in_graph(UOp root, UOp from, UOp to) {
  UOpMap<UOp> now(root.graph());
  for (UOp u : toposort(root)) {
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(now[s]);
    now[u] = u == from ? to : u.with_src(src);
  }
  return now[root];
}

bool has_small_bounds(UOp u) {
  Const low = u.vmin(), high = u.vmax();
  return low.is_integral() && high.is_integral() && -kLargest < low.as_int() && high.as_int() < kLargest;
}

class AlgebraKernelMaker {
 public:
  AlgebraKernelMaker(Graph& g, RandomSource& chance) : graph_(g), random_(chance) {}

  UOp make_kernel() {
    int64_t size = 1;
    std::vector<UOp> loops, reduced;
    for (size_t n = 1 + random_.random_below(3); loops.size() < n;) {
      int64_t end = random_.random_item(kSizes);
      if (size * end > kMaxElements) end = 2;
      loops.push_back(range(end, AxisType::LOOP));
      size *= end;
    }
    terms_ = loops;
    if (random_.one_in(4))
      terms_.push_back(reduced.emplace_back(range(1 + int64_t(random_.random_below(9)), AxisType::REDUCE)));
    UOp value = random_stored_value(2 + int(random_.random_below(3)));
    if (!reduced.empty()) value = value.reduce(reduced, random_.one_in(3) ? Op::MAX : Op::ADD);
    UOp at = loops.back();
    int64_t stride = at.vmax().as_int().small_value() + 1;
    for (size_t i = loops.size() - 1; i-- > 0;) {
      at = loops[i] * Const(stride) + at;
      stride *= loops[i].vmax().as_int().small_value() + 1;
    }
    UOp out = graph_.node(Op::DEFINE_GLOBAL, value.dtype().ptr(size), {}, Arg(0));
    if (random_.one_in(24)) {  // in all or some iterations, store the element that the buffer had
      UOp own = out.index(at);
      value = random_.one_in(2) ? own : loops[0].lt(loops[0].const_like(1)).where(value, own);
    }
    return graph_.sink(out.index_ptr(at).store(value).end(loops));
  }

 private:
  UOp range(int64_t end, AxisType type) { return graph_.range(end, next_axis_++, type); }
  UOp constant(int64_t v) { return graph_.constant(dtypes::index, v); }

  // Returns a number of kEdges, or one at or near a multiple of a divisor or of a loop size, sometimes negated.
  int64_t random_number() {
    if (random_.one_in(8)) return random_.random_item(kEdges);
    int64_t d =
        divisors_.empty() || random_.one_in(3) ? random_.random_item(kDivisors) : random_.random_item(divisors_);
    if (random_.one_in(4)) d = random_.random_item(terms_).vmax().as_int().small_value() + 1;
    switch (random_.random_below(6)) {
      case 0: return d - 1;
      case 1: return d + 1;
      case 2: return -d;
      case 3: return d * int64_t(1 + random_.random_below(5));
      case 4: return -(d * int64_t(random_.random_below(4))) + int64_t(random_.random_below(3)) - 1;
      default: return d;
    }
  }
  int64_t random_divisor() {
    int64_t d =
        random_.one_in(2) || divisors_.empty() ? random_.random_item(kDivisors) : random_.random_item(divisors_);
    if (random_.one_in(5)) d *= int64_t(2 + random_.random_below(4));
    if (random_.one_in(12)) d = std::max<int64_t>(1, random_number());
    return divisors_.emplace_back(std::max<int64_t>(1, d));
  }

  UOp random_expression(int depth) {
    UOp made = depth <= 0 ? random_leaf() : random_operation(depth - 1);
    return has_small_bounds(made) ? made : random_leaf();
  }
  UOp random_leaf() { return random_.one_in(6) ? constant(random_number()) : random_.random_item(terms_); }
  UOp random_operation(int depth) {
    switch (random_.random_below(12)) {
      case 0:
      case 1:
      case 2: return random_expression(depth) + random_expression(depth);
      case 3: return random_expression(depth) + constant(random_number());
      case 4:
      case 5: return random_expression(depth) * constant(random_.one_in(2) ? random_divisor() : random_number());
      case 6:
      case 7: return random_expression(depth) / constant(random_divisor());
      case 8:
      case 9: return random_expression(depth) % constant(random_divisor());
      case 10: return random_condition(depth).where(random_expression(depth), random_expression(depth));
      default:
        return random_expression(depth).maximum(random_.one_in(2) ? constant(random_number())
                                                                  : random_expression(depth));
    }
  }
  UOp random_condition(int depth) {
    UOp a = random_expression(depth), b = random_.one_in(3) ? random_expression(depth) : constant(random_number());
    switch (random_.random_below(6)) {
      case 0: return a.ne(b);
      case 1: return a.lt(b).logical_not();
      case 2: return a.lt(b).alu(Op::AND, random_expression(depth).lt(constant(random_number())));
      case 3: return a.lt(b).alu(Op::OR, constant(random_number()).lt(random_expression(depth)));
      default: return a.lt(b);
    }
  }

  UOp random_load(int depth) {
    UOp at = random_expression(depth);
    int64_t size = random_.random_item(kSizes);
    UOp wrapped = ((at % constant(size)) + constant(size)) % constant(size), valid;
    bool fits = Int(0) <= at.vmin().as_int() && at.vmax().as_int() < Int(kMaxElements);
    if (fits && random_.one_in(2)) wrapped = at, size = at.vmax().as_int().small_value() + 1;
    if (random_.one_in(2)) valid = random_condition(depth);
    if (valid && valid.op() != Op::CONST) wrapped = valid.where(wrapped, graph_.invalid());
    static constexpr Scalar kTypes[] = {Scalar::Float32, Scalar::Int32, Scalar::Float32, Scalar::UInt8,
                                        Scalar::Float16};
    UOp buffer =
        graph_.node(Op::DEFINE_GLOBAL, dtypes::of(random_.random_item(kTypes)).ptr(size), {}, Arg(next_buffer_++));
    return buffer.index(wrapped);
  }

  UOp random_stored_value(int depth) {
    switch (random_.random_below(6)) {
      case 0: return random_load(depth);
      case 5: {  // one load has the gate of the WHERE or its negation
        UOp gate = random_condition(depth - 1), at = random_.random_item(terms_), other = random_load(depth - 1);
        bool is_read_first = random_.one_in(2);
        UOp wanted = (is_read_first ? gate : gate.logical_not()).where(at, graph_.invalid());
        UOp buffer = graph_.node(Op::DEFINE_GLOBAL, other.dtype().ptr(at.vmax().as_int().small_value() + 1), {},
                                 Arg(next_buffer_++));
        UOp read = buffer.index(wanted);
        return is_read_first ? gate.where(read, other) : gate.where(other, read);
      }
      case 1: {
        UOp a = random_load(depth - 1), b = random_load(depth - 1);
        return a.dtype() == b.dtype() ? a + b : random_condition(depth).where(a, a.const_like(1));
      }
      case 2: return random_expression(depth).cast(dtypes::int64);
      case 3: {
        UOp a = random_load(depth - 1);
        return random_condition(depth).where(a, a.const_like(0));
      }
      default: {
        UOp e = random_expression(depth + 1);
        bool fits = Int(std::numeric_limits<int32_t>::min()) <= e.vmin().as_int() &&
                    e.vmax().as_int() <= Int(std::numeric_limits<int32_t>::max());
        return e.cast(fits ? dtypes::int32 : dtypes::int64);
      }
    }
  }

  Graph& graph_;
  RandomSource& random_;
  std::vector<UOp> terms_;
  std::vector<int64_t> divisors_;
  int64_t next_axis_ = 0, next_buffer_ = 1;
};

bool is_index_value(UOp u) { return u.dtype().is(Scalar::Index) && u.dtype().count() == 1 && !u.is_invalid(); }

// Fits buffers to their accesses. Returns the empty UOp if indices or buffers do not permit it.
UOp with_fitting_buffers(UOp root) {
  // Let each iteration store to its own element, because with a mutated loop size two iterations might share one.
  for (UOp end : toposort(root)) {
    if (!end.is(Op::END) || !end.src(0).is(Op::STORE)) continue;
    UOp index = end.src(0).src(0), at;
    if (!index.is(Op::INDEX) || index.num_src() != 2) return {};
    int64_t size = 1;
    for (size_t i = end.num_src(); i-- > 1;) {
      Const most = end.src(i).vmax();
      if (!most.is_integral() || most.as_int() >= Int(kMaxElements)) return {};
      UOp term = size == 1 ? end.src(i) : end.src(i) * Const(size);
      at = at ? term + at : term;
      size *= most.as_int().small_value() + 1;
      if (size > 4 * kMaxElements) return {};
    }
    UOp now =
        index.with_src(std::vector<UOp>{index.src(0), at ? at : root.graph().constant(dtypes::index, int64_t(0))});
    root = replace_in_graph(root, end.src(0), end.src(0).with_src(std::vector<UOp>{now, end.src(0).src(1)}));
  }
  std::map<uint32_t, std::pair<UOp, int64_t>> sizes;
  for (UOp u : toposort(root)) {
    if (!u.is(Op::INDEX) || u.num_src() != 2 || !u.src(0).is(Op::DEFINE_GLOBAL)) continue;
    UOp at = u.src(1).get_idx();
    Const low = at.vmin(), high = at.vmax();
    if (!low.is_integral() || !high.is_integral() || low.as_int() < Int(0) || high.as_int() >= Int(8 * kMaxElements))
      return {};
    auto& [buffer, size] = sizes[u.src(0).id()];
    buffer = u.src(0), size = std::max(size, high.as_int().small_value() + 1);
  }
  for (auto& [id, sized] : sizes) {
    auto& [buffer, size] = sized;
    if (buffer.dtype().is_image()) return {};
    if (size != buffer.dtype().size())
      root = replace_in_graph(root, buffer, buffer.with_dtype(buffer.dtype().base().ptr(size)));
  }
  return root;
}

Op similar_op(Op op, RandomSource& c) {
  static constexpr Op kFloats[] = {Op::ADD, Op::MUL, Op::MAX},
                      kUnary[] = {Op::EXP2, Op::LOG2, Op::SIN, Op::SQRT, Op::RECIPROCAL};
  if (std::ranges::find(kFloats, op) != std::end(kFloats)) return c.random_item(kFloats);
  if (std::ranges::find(kUnary, op) != std::end(kUnary)) return c.random_item(kUnary);
  if (op == Op::CMPLT) return Op::CMPNE;
  if (op == Op::IDIV) return Op::MOD;
  return op == Op::MOD ? Op::IDIV : op == Op::AND ? Op::OR : op == Op::OR ? Op::AND : op;
}

UOp mutate_node(UOp u, RandomSource& c) {
  Graph& g = u.graph();
  auto number = [&](int64_t v) { return g.constant(u.dtype(), v); };
  if (u.is(Op::RANGE) && u.src(0).is_const())
    return u.with_src(std::vector<UOp>{g.constant(u.src(0).dtype(), c.random_item(kSizes))});
  if (u.is(Op::CONST) && is_index_value(u)) {
    int64_t v = u.arg().to_const().to_int().low_64_bits();
    int64_t choices[] = {v + 1, v - 1, 2 * v, v / 2, -v, c.random_item(kDivisors)};
    return number(c.random_item(choices));
  }
  if (u.is(Op::CONST) && dtypes::is_float(u.dtype())) {
    double choices[] = {0.0, 1.0, -1.0, 2.0, 0.5, -0.0};
    return g.constant(u.dtype(), c.random_item(choices));
  }
  if (is_index_value(u) && !u.is(Op::CONST)) {
    int64_t d = c.random_item(kDivisors);
    switch (c.random_below(5)) {
      case 0: return (u * number(d)) / number(d);
      case 1: return (u / number(d)) * number(d) + u % number(d);
      case 2: return u % number(d);
      case 3: return u / number(d);
      default: return (u + number(d)) / number(d);
    }
  }
  if (u.in(ops::ALU) && !u.is(Op::WHERE)) return u.replace({.op = similar_op(u.op(), c)});
  if (u.is(Op::WHERE)) return u.with_src(std::vector<UOp>{u.src(0), u.src(2), u.src(1)});
  return u;
}

}  // namespace

uint64_t RandomSource::next() {
  uint64_t z = random_state_ += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

RowMajorIndex make_row_major_index(std::span<const UOp> loops) {
  RowMajorIndex out;
  for (UOp loop : loops) {
    int64_t n = loop.vmax().as_int().small_value() + 1;
    out.position = out.position ? out.position * Const(n) + loop : loop;
    out.size *= n;
  }
  return out;
}

bool is_kernel(UOp ast) {
  if (!is_sound(ast, Spec::Kernel)) return false;
  // by node id of a buffer: the indices of its stores
  std::map<uint32_t, std::vector<UOp>> stored;
  std::vector<UOp> nodes = toposort(ast);
  for (UOp u : nodes)
    if (u.is(Op::STORE) && u.src(0).is(Op::INDEX) && u.src(0).num_src() > 1)
      stored[u.src(0).src(0).id()].push_back(u.src(0).src(1).get_idx());
  auto is_elsewhere = [&](UOp u) {
    if (!u.is(Op::INDEX) || u.num_src() < 2) return false;
    auto it = stored.find(u.src(0).id());
    return it != stored.end() && std::ranges::any_of(it->second, [&](UOp at) { return !(at == u.src(1).get_idx()); });
  };
  std::set<std::string_view> variables;
  return std::ranges::none_of(nodes, [&](UOp u) {
    if (u.is(Op::DEFINE_VAR) && !variables.insert(u.arg()[0].text()).second) return true;
    return is_elsewhere(u) || (u.is(Op::RANGE) && !ranges_of(u.src(0)).empty());
  });
}

UOp random_algebra_kernel(Graph& graph, RandomSource& chance) {
  return AlgebraKernelMaker(graph, chance).make_kernel();
}

UOp random_matmul_kernel(Graph& g, RandomSource& c) {
  static constexpr Scalar kIn[] = {Scalar::Float16, Scalar::BFloat16, Scalar::FP8E4M3,
                                   Scalar::FP8E5M2, Scalar::Float32,  Scalar::Int8};
  static constexpr int64_t kDims[] = {16, 16, 32};
  DType in = dtypes::of(c.random_item(kIn)), sum = in.is(Scalar::Int8) ? dtypes::int32 : dtypes::float32;
  if (c.one_in(3) && in.itemsize() > 1) sum = in;
  int64_t m = c.random_item(kDims), n = c.random_item(kDims), k = 16 * int64_t(1 + c.random_below(4));
  UOp i = g.range(m, 0, AxisType::LOOP), j = g.range(n, 1, AxisType::LOOP), l = g.range(k, 2, AxisType::REDUCE);
  auto buffer = [&](DType d, int64_t size, int64_t number) {
    return g.node(Op::DEFINE_GLOBAL, d.ptr(size), {}, Arg(number));
  };
  UOp product = buffer(in, m * k, 1).index(i * Const(k) + l) * buffer(in, k * n, 2).index(l * Const(n) + j);
  UOp value = product.cast(sum).reduce(std::vector<UOp>{l}, Op::ADD);
  if (c.one_in(2)) value = value.cast(in);
  return g.sink(buffer(value.dtype(), m * n, 0).index_ptr(i * Const(n) + j).store(value).end(std::vector<UOp>{i, j}));
}

UOp grown_kernel(UOp ast, RandomSource& chance) {
  UOp root = ast;
  for (size_t n = 1 + chance.random_below(3); n > 0; n--) {
    std::vector<UOp> nodes = toposort(root);
    UOp u = chance.random_item(nodes), now = mutate_node(u, chance);
    if (!(now == u) && now.dtype() == u.dtype()) root = replace_in_graph(root, u, now);
  }
  if (root == ast || first_malformed_below(root)) return {};
  UOp out = with_fitting_buffers(root);
  return out == ast ? UOp() : out;
}

UOp mutated_tensor_graph(UOp sink, RandomSource& c) {
  Graph& g = sink.graph();
  UOp root = sink, device;
  for (UOp u : toposort(root))
    if (u.is(Op::DEVICE) && u.arg().kind() == Arg::Kind::Str) device = u;
  for (size_t n = 1 + c.random_below(3); n > 0; n--) {
    UOp u = c.random_item(toposort(root)), now = u;
    if (!u.dtype().is_value() || u.dtype().is(Scalar::Void) || u.in({Op::BIND, Op::DEFINE_VAR})) continue;
    switch (c.random_below(6)) {
      case 0: now = g.node(Op::CONTIGUOUS, u.dtype(), u); break;
      case 1: now = g.node(c.one_in(2) ? Op::DETACH : Op::CONTIGUOUS_BACKWARD, u.dtype(), u); break;
      case 2:
        if (device) now = g.node(Op::COPY, u.dtype(), {u, device.with_arg(g.str(c.one_in(2) ? "CPU:1" : "CPU"))});
        break;
      case 3: now = u + u; break;
      case 4: now = u.cast(dtypes::float32).cast(u.dtype()); break;
      default:
        if (dtypes::is_float(u.dtype())) now = c.one_in(2) ? u.exp2() : u.reciprocal();
    }
    root = replace_in_graph(root, u, now);
  }
  return root == sink || first_malformed_below(root) ? UOp() : root;
}

UOp shrink_kernel(UOp ast, int64_t most) {
  UOp root = ast;
  for (UOp u : toposort(ast))
    if (u.is(Op::RANGE) && u.src(0).is_const() && u.src(0).arg().to_const().to_int() > Int(most))
      root = replace_in_graph(root, u, u.with_src(std::vector<UOp>{u.graph().constant(u.src(0).dtype(), most)}));
  return root == ast ? UOp() : with_fitting_buffers(root);
}

UOp make_equivalent_kernel(UOp ast, RandomSource& chance) {
  Graph& g = ast.graph();
  std::vector<UOp> nodes = toposort(ast);
  for (int tries = 0; tries < 8; tries++) {
    UOp u = chance.random_item(nodes);
    if (chance.one_in(24)) return replace_in_graph(ast, u, u.rtag(int64_t(1)));
    if (u.in({Op::ADD, Op::MUL}) && chance.one_in(2))
      return replace_in_graph(ast, u, u.with_src(std::vector<UOp>{u.src(1), u.src(0)}));
    if (is_index_value(u) && !u.is(Op::CONST))
      return replace_in_graph(
          ast, u, chance.one_in(2) ? u + g.constant(u.dtype(), int64_t(0)) : u * g.constant(u.dtype(), int64_t(1)));
    if (!u.is(Op::RANGE) || !u.src(0).is_const() || u.arg().items().size() != 2) continue;
    int64_t size = u.src(0).arg().to_const().to_int().low_64_bits(), by = int64_t(2 + chance.random_below(4)),
            axis = 100;
    if (size % by || size == by) continue;
    AxisType type = u.arg().items().back().axis_type();
    UOp outer = g.range(size / by, axis, type), inner = g.range(by, axis + 1, type);
    UOp both = outer * Const(by) + inner;
    UOpMap<UOp> now(g);  // where the split loop ended, both new ones end
    for (UOp x : nodes) {
      std::vector<UOp> src;
      for (size_t i = 0; i < x.num_src(); i++) {
        if (x.in({Op::END, Op::REDUCE}) && i > 0 && x.src(i) == u) src.push_back(outer), src.push_back(inner);
        else src.push_back(now[x.src(i)]);
      }
      now[x] = x == u ? both : x.with_src(src);
    }
    return now[ast];
  }
  return {};
}

}  // namespace tgc
