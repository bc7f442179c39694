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

UOp with(UOp root, UOp from, UOp to) {
  UOpMap<UOp> now(root.graph());
  for (UOp u : toposort(root)) {
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(now[s]);
    now[u] = u == from ? to : u.with_src(src);
  }
  return now[root];
}

bool is_small(UOp u) {
  Const low = u.vmin(), high = u.vmax();
  return low.is_integral() && high.is_integral() && -kLargest < low.as_int() && high.as_int() < kLargest;
}

class Algebra {
 public:
  Algebra(Graph& g, RandomSource& chance) : g_(g), c_(chance) {}

  UOp kernel() {
    int64_t size = 1;
    std::vector<UOp> loops, reduced;
    for (size_t n = 1 + c_.random_below(3); loops.size() < n;) {
      int64_t end = c_.random_item(kSizes);
      if (size * end > kMaxElements) end = 2;
      loops.push_back(range(end, AxisType::LOOP));
      size *= end;
    }
    terms_ = loops;
    if (c_.one_in(4)) terms_.push_back(reduced.emplace_back(range(1 + int64_t(c_.random_below(9)), AxisType::REDUCE)));
    UOp value = stored_value(2 + int(c_.random_below(3)));
    if (!reduced.empty()) value = value.reduce(reduced, c_.one_in(3) ? Op::MAX : Op::ADD);
    UOp at = loops.back();
    int64_t stride = at.vmax().as_int().small_value() + 1;
    for (size_t i = loops.size() - 1; i-- > 0;) {
      at = loops[i] * Const(stride) + at;
      stride *= loops[i].vmax().as_int().small_value() + 1;
    }
    UOp out = g_.node(Op::DEFINE_GLOBAL, value.dtype().ptr(size), {}, Arg(0));
    if (c_.one_in(24)) {  // in all or some iterations, store the element that the buffer had
      UOp own = out.index(at);
      value = c_.one_in(2) ? own : loops[0].lt(loops[0].const_like(1)).where(value, own);
    }
    return g_.sink(out.index_ptr(at).store(value).end(loops));
  }

 private:
  UOp range(int64_t end, AxisType type) { return g_.range(end, next_axis_++, type); }
  UOp constant(int64_t v) { return g_.constant(dtypes::index, v); }

  // Returns a number of kEdges, or one at or near a multiple of a divisor or of a loop size, sometimes negated.
  int64_t number() {
    if (c_.one_in(8)) return c_.random_item(kEdges);
    int64_t d = divisors_.empty() || c_.one_in(3) ? c_.random_item(kDivisors) : c_.random_item(divisors_);
    if (c_.one_in(4)) d = c_.random_item(terms_).vmax().as_int().small_value() + 1;
    switch (c_.random_below(6)) {
      case 0: return d - 1;
      case 1: return d + 1;
      case 2: return -d;
      case 3: return d * int64_t(1 + c_.random_below(5));
      case 4: return -(d * int64_t(c_.random_below(4))) + int64_t(c_.random_below(3)) - 1;
      default: return d;
    }
  }
  int64_t divisor() {
    int64_t d = c_.one_in(2) || divisors_.empty() ? c_.random_item(kDivisors) : c_.random_item(divisors_);
    if (c_.one_in(5)) d *= int64_t(2 + c_.random_below(4));
    if (c_.one_in(12)) d = std::max<int64_t>(1, number());
    return divisors_.emplace_back(std::max<int64_t>(1, d));
  }

  UOp expression(int depth) {
    UOp made = depth <= 0 ? leaf() : inner(depth - 1);
    return is_small(made) ? made : leaf();
  }
  UOp leaf() { return c_.one_in(6) ? constant(number()) : c_.random_item(terms_); }
  UOp inner(int depth) {
    switch (c_.random_below(12)) {
      case 0:
      case 1:
      case 2: return expression(depth) + expression(depth);
      case 3: return expression(depth) + constant(number());
      case 4:
      case 5: return expression(depth) * constant(c_.one_in(2) ? divisor() : number());
      case 6:
      case 7: return expression(depth) / constant(divisor());
      case 8:
      case 9: return expression(depth) % constant(divisor());
      case 10: return condition(depth).where(expression(depth), expression(depth));
      default: return expression(depth).maximum(c_.one_in(2) ? constant(number()) : expression(depth));
    }
  }
  UOp condition(int depth) {
    UOp a = expression(depth), b = c_.one_in(3) ? expression(depth) : constant(number());
    switch (c_.random_below(6)) {
      case 0: return a.ne(b);
      case 1: return a.lt(b).logical_not();
      case 2: return a.lt(b).alu(Op::AND, expression(depth).lt(constant(number())));
      case 3: return a.lt(b).alu(Op::OR, constant(number()).lt(expression(depth)));
      default: return a.lt(b);
    }
  }

  UOp load(int depth) {
    UOp at = expression(depth);
    int64_t size = c_.random_item(kSizes);
    UOp wrapped = ((at % constant(size)) + constant(size)) % constant(size), valid;
    bool fits = Int(0) <= at.vmin().as_int() && at.vmax().as_int() < Int(kMaxElements);
    if (fits && c_.one_in(2)) wrapped = at, size = at.vmax().as_int().small_value() + 1;
    if (c_.one_in(2)) valid = condition(depth);
    if (valid && valid.op() != Op::CONST) wrapped = valid.where(wrapped, g_.invalid());
    static constexpr Scalar kTypes[] = {Scalar::Float32, Scalar::Int32, Scalar::Float32, Scalar::UInt8,
                                        Scalar::Float16};
    UOp buffer = g_.node(Op::DEFINE_GLOBAL, dtypes::of(c_.random_item(kTypes)).ptr(size), {}, Arg(next_buffer_++));
    return buffer.index(wrapped);
  }

  UOp stored_value(int depth) {
    switch (c_.random_below(6)) {
      case 0: return load(depth);
      case 5: {  // one load has the gate of the WHERE or its negation
        UOp gate = condition(depth - 1), at = c_.random_item(terms_), other = load(depth - 1);
        bool is_read_first = c_.one_in(2);
        UOp wanted = (is_read_first ? gate : gate.logical_not()).where(at, g_.invalid());
        UOp buffer = g_.node(Op::DEFINE_GLOBAL, other.dtype().ptr(at.vmax().as_int().small_value() + 1), {},
                             Arg(next_buffer_++));
        UOp read = buffer.index(wanted);
        return is_read_first ? gate.where(read, other) : gate.where(other, read);
      }
      case 1: {
        UOp a = load(depth - 1), b = load(depth - 1);
        return a.dtype() == b.dtype() ? a + b : condition(depth).where(a, a.const_like(1));
      }
      case 2: return expression(depth).cast(dtypes::int64);
      case 3: {
        UOp a = load(depth - 1);
        return condition(depth).where(a, a.const_like(0));
      }
      default: {
        UOp e = expression(depth + 1);
        bool fits = Int(std::numeric_limits<int32_t>::min()) <= e.vmin().as_int() &&
                    e.vmax().as_int() <= Int(std::numeric_limits<int32_t>::max());
        return e.cast(fits ? dtypes::int32 : dtypes::int64);
      }
    }
  }

  Graph& g_;
  RandomSource& c_;
  std::vector<UOp> terms_;
  std::vector<int64_t> divisors_;
  int64_t next_axis_ = 0, next_buffer_ = 1;
};

bool is_index(UOp u) { return u.dtype().is(Scalar::Index) && u.dtype().count() == 1 && !u.is_invalid(); }

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
    root = with(root, end.src(0), end.src(0).with_src(std::vector<UOp>{now, end.src(0).src(1)}));
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
    if (size != buffer.dtype().size()) root = with(root, buffer, buffer.with_dtype(buffer.dtype().base().ptr(size)));
  }
  return root;
}

Op similar(Op op, RandomSource& c) {
  static constexpr Op kFloats[] = {Op::ADD, Op::MUL, Op::MAX},
                      kUnary[] = {Op::EXP2, Op::LOG2, Op::SIN, Op::SQRT, Op::RECIPROCAL};
  if (std::ranges::find(kFloats, op) != std::end(kFloats)) return c.random_item(kFloats);
  if (std::ranges::find(kUnary, op) != std::end(kUnary)) return c.random_item(kUnary);
  if (op == Op::CMPLT) return Op::CMPNE;
  if (op == Op::IDIV) return Op::MOD;
  return op == Op::MOD ? Op::IDIV : op == Op::AND ? Op::OR : op == Op::OR ? Op::AND : op;
}

UOp changed(UOp u, RandomSource& c) {
  Graph& g = u.graph();
  auto number = [&](int64_t v) { return g.constant(u.dtype(), v); };
  if (u.is(Op::RANGE) && u.src(0).is_const())
    return u.with_src(std::vector<UOp>{g.constant(u.src(0).dtype(), c.random_item(kSizes))});
  if (u.is(Op::CONST) && is_index(u)) {
    int64_t v = u.arg().to_const().to_int().low_64_bits();
    int64_t choices[] = {v + 1, v - 1, 2 * v, v / 2, -v, c.random_item(kDivisors)};
    return number(c.random_item(choices));
  }
  if (u.is(Op::CONST) && dtypes::is_float(u.dtype())) {
    double choices[] = {0.0, 1.0, -1.0, 2.0, 0.5, -0.0};
    return g.constant(u.dtype(), c.random_item(choices));
  }
  if (is_index(u) && !u.is(Op::CONST)) {
    int64_t d = c.random_item(kDivisors);
    switch (c.random_below(5)) {
      case 0: return (u * number(d)) / number(d);
      case 1: return (u / number(d)) * number(d) + u % number(d);
      case 2: return u % number(d);
      case 3: return u / number(d);
      default: return (u + number(d)) / number(d);
    }
  }
  if (u.in(ops::ALU) && !u.is(Op::WHERE)) return u.replace({.op = similar(u.op(), c)});
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

UOp random_algebra_kernel(Graph& graph, RandomSource& chance) { return Algebra(graph, chance).kernel(); }

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
    UOp u = chance.random_item(nodes), now = changed(u, chance);
    if (!(now == u) && now.dtype() == u.dtype()) root = with(root, u, now);
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
    root = with(root, u, now);
  }
  return root == sink || first_malformed_below(root) ? UOp() : root;
}

UOp shrink_kernel(UOp ast, int64_t most) {
  UOp root = ast;
  for (UOp u : toposort(ast))
    if (u.is(Op::RANGE) && u.src(0).is_const() && u.src(0).arg().to_const().to_int() > Int(most))
      root = with(root, u, u.with_src(std::vector<UOp>{u.graph().constant(u.src(0).dtype(), most)}));
  return root == ast ? UOp() : with_fitting_buffers(root);
}

UOp make_equivalent_kernel(UOp ast, RandomSource& chance) {
  Graph& g = ast.graph();
  std::vector<UOp> nodes = toposort(ast);
  for (int tries = 0; tries < 8; tries++) {
    UOp u = chance.random_item(nodes);
    if (chance.one_in(24)) return with(ast, u, u.rtag(int64_t(1)));
    if (u.in({Op::ADD, Op::MUL}) && chance.one_in(2))
      return with(ast, u, u.with_src(std::vector<UOp>{u.src(1), u.src(0)}));
    if (is_index(u) && !u.is(Op::CONST))
      return with(ast, u,
                  chance.one_in(2) ? u + g.constant(u.dtype(), int64_t(0)) : u * g.constant(u.dtype(), int64_t(1)));
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
