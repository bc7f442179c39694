#include "lib/prove/encode.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <random>

#include "lib/prove/obligation.h"
#include "lib/support/z3.h"
#include "lib/uop/graph.h"
#include "lib/validate/reference_runner.h"

namespace tgc {
namespace {

constexpr int64_t kValues = 8;

void fill(Array& array, DType d, std::mt19937_64& random) {
  for (int64_t i = 0; i < kValues; i++) {
    int64_t small = int64_t(random() % 41) - 20;
    if (d.is(Scalar::Float32)) array.as<float>()[size_t(i)] = i == 0 ? 0.0f : i == 1 ? -0.0f : float(small) / 8;
    else if (d.is(Scalar::Float64)) array.as<double>()[size_t(i)] = i == 0 ? 0.0 : double(small) / 8;
    else if (d.is(Scalar::Float16))
      array.as<uint16_t>()[size_t(i)] = float_to_half_bits(i == 1 ? -0.0 : double(small) / 8);
    else if (d.is(Scalar::BFloat16))
      array.as<uint16_t>()[size_t(i)] = float_to_bf16_bits(i == 1 ? -0.0f : float(small) / 8);
    else if (dtypes::is_bool(d)) array.data()[i] = random() & 1;
    else {
      Int low = dtypes::min(d).to_int(), high = dtypes::max(d).to_int();
      Int v = i == 0 ? low : i == 1 ? high : i < 5 ? Int(int64_t(random())) : std::max(low, Int(small));
      uint64_t bits = v.low_64_bits();
      std::memcpy(array.data() + i * d.itemsize(), &bits, size_t(d.itemsize()));
    }
  }
}

UOp element(Graph& g, const Array& a, DType d, int64_t i) {
  if (dtypes::is_bool(d)) return g.constant(d, a.data()[i] != 0);
  uint64_t bits = 0;
  std::memcpy(&bits, a.data() + i * d.itemsize(), size_t(d.itemsize()));
  return g.constant(d, truncate(Const(Int(static_cast<unsigned long>(bits))), d));
}

// Returns "" for integers and bools. A float is text because a graph has one constant for 0.0 and -0.0.
std::string float_bits(const Array& a, DType d, int64_t i) {
  char text[64] = "";
  if (d.is(Scalar::Float32))
    std::snprintf(text, sizeof text, "((_ to_fp 8 24) #x%08x)", std::bit_cast<uint32_t>(a.as<float>()[size_t(i)]));
  if (d.is(Scalar::Float64))
    std::snprintf(text, sizeof text, "((_ to_fp 11 53) #x%016llx)",
                  static_cast<unsigned long long>(std::bit_cast<uint64_t>(a.as<double>()[size_t(i)])));
  if (d.is(Scalar::Float16) || d.is(Scalar::BFloat16))
    std::snprintf(text, sizeof text, "((_ to_fp %s) #x%04x)", d.is(Scalar::Float16) ? "5 11" : "8 8",
                  a.as<uint16_t>()[size_t(i)]);
  return text;
}

// Evaluates out[i] = op(a[i], b[i]) in REF, and checks that Z3 can derive no other value from the same operands.
// Returns the number of values that are defined.
int compare(Op op, DType d, DType out_dtype, ProofSenses senses, uint64_t seed) {
  Graph g;
  UOp i = g.range(Const(kValues), 0, AxisType::LOOP);
  auto data = [&](int64_t n, DType t) { return g.node(Op::DEFINE_GLOBAL, t.ptr(kValues), {}, n); };
  UOp a = data(1, d).index_ptr(i).load(), b = data(2, d).index_ptr(i).load();
  UOp value = op == Op::CAST      ? a.cast(out_dtype)
              : op == Op::BITCAST ? a.bitcast(out_dtype)
              : op == Op::WHERE   ? a.lt(b).where(b, a)
                                  : a.alu(op, b);
  if (ops::Unary.contains(op)) value = a.alu(op);
  UOp sink = g.sink({data(0, out_dtype).index_ptr(i).store(value).end(i)});
  std::mt19937_64 random(seed);
  Arrays inputs;
  for (int n = 0; n < 3; n++) {
    DType t = n ? d : out_dtype;
    inputs.push_back({"data" + std::to_string(n), Array(t, {kValues})});
    fill(inputs.back().array, t, random);
  }
  ExecutionResult done = std::move(ReferenceRunner(inputs, {}).run_reference(sink).value_or_throw());
  const Array& expected = done.outputs[0].array;

  ExprIsolator isolator(g, {{0, kValues}, {1, kValues}, {2, kValues}});
  UOp expr = isolator.load_value(value);
  IntervalAnalysis intervals(isolator);
  SmtEncoder encoder(intervals, senses);
  SmtValue result = encoder.value(expr, 0);
  std::string text = encoder.take_smt_text();
  int compared = 0;
  static Z3Session session;  // creating a session takes longer than most comparisons
  session.ask_z3("(reset)" + text);
  for (int64_t k = 0; k < kValues; k++) {
    std::string more;
    auto pin = [&](const std::string& term, const Array& array, DType t) {
      std::string constant = float_bits(array, t, k);
      if (constant.empty()) constant = encoder.value(element(g, array, t, k), 0).term;
      more += encoder.take_smt_text();
      return "(= " + term + " " + constant + ")";
    };
    std::string asserts;
    for (const SmtVariable& v : encoder.variables())
      if (v.node.is(Op::LOAD) && !v.offset_term.empty()) {
        int64_t n = v.node.src(0).src(0).arg().small_int();
        asserts += "(assert " + pin(v.name, inputs[size_t(n)].array, d) + ")\n";
      }
    if (!result.definedness.empty()) asserts += "(assert " + result.definedness + ")\n";
    std::string same = pin(result.term, expected, out_dtype);
    bool is_defined = session.ask_z3(more + "(push)" + asserts + "(check-sat)").starts_with("sat");
    std::string said = session.ask_z3("(assert (not " + same + "))(check-sat)(pop)");
    INFO(name_of(op), " ", d.repr(), " -> ", out_dtype.repr(), " at ", k, "\n", text, asserts, same);
    CHECK(said.starts_with("unsat"));
    compared += is_defined;
  }
  return compared;
}

TEST_CASE("encode: integers agree with REF") {
  for (IntSense ints : {IntSense::Numbers, IntSense::Bits})
    for (DType d : {dtypes::int8, dtypes::uint8, dtypes::int32, dtypes::uint32})
      for (Op op : {Op::ADD, Op::SUB, Op::MUL, Op::IDIV, Op::MOD, Op::MAX, Op::NEG, Op::WHERE})
        CHECK(compare(op, d, d, {FloatSense::Uninterpreted, ints}, uint64_t(op)) > 3);
}

TEST_CASE("encode: bit-vectors and comparisons agree with REF") {
  for (DType d : {dtypes::int16, dtypes::uint64, dtypes::int64}) {
    for (Op op : {Op::AND, Op::OR, Op::XOR, Op::SHL, Op::SHR})
      CHECK(compare(op, d, d, {FloatSense::Uninterpreted, IntSense::Bits}, uint64_t(op)) > 0);
    for (Op op : {Op::CMPLT, Op::CMPNE, Op::CMPEQ})
      CHECK(compare(op, d, dtypes::bool_, {FloatSense::Uninterpreted, IntSense::Bits}, uint64_t(op)) > 3);
    for (DType to : {dtypes::int8, dtypes::uint32, dtypes::int64, dtypes::bool_})
      if (to != d) CHECK(compare(Op::CAST, d, to, {FloatSense::Uninterpreted, IntSense::Bits}, 1) > 3);
  }
  for (Op op : {Op::AND, Op::OR, Op::XOR, Op::MUL, Op::ADD, Op::MAX})
    CHECK(compare(op, dtypes::bool_, dtypes::bool_, {}, uint64_t(op)) > 3);
}

TEST_CASE("encode: IEEE floats agree with REF") {
  const ProofSenses exact{FloatSense::Exact, IntSense::Bits};
  for (DType d : {dtypes::float32, dtypes::float64}) {
    for (Op op : {Op::ADD, Op::MUL, Op::MAX, Op::RECIPROCAL, Op::NEG, Op::SQRT, Op::TRUNC, Op::WHERE})
      CHECK(compare(op, d, d, exact, uint64_t(op)) > 3);
    for (Op op : {Op::CMPLT, Op::CMPNE}) CHECK(compare(op, d, dtypes::bool_, exact, uint64_t(op)) > 3);
    for (DType to : {dtypes::int32, dtypes::uint8, dtypes::bool_}) CHECK(compare(Op::CAST, d, to, exact, 1) > 3);
  }
  CHECK(compare(Op::CAST, dtypes::int32, dtypes::float32, exact, 1) > 3);
  CHECK(compare(Op::CAST, dtypes::float64, dtypes::float32, exact, 1) > 3);
}

TEST_CASE("encode: narrow floats, bit casts and Threefry agree with REF") {
  const ProofSenses exact{FloatSense::Exact, IntSense::Bits};
  for (DType d : {dtypes::float16, dtypes::bfloat16}) {
    for (Op op : {Op::ADD, Op::MUL, Op::MAX, Op::RECIPROCAL, Op::NEG, Op::SQRT, Op::TRUNC})
      CHECK(compare(op, d, d, exact, uint64_t(op)) > 3);
    CHECK(compare(Op::CMPLT, d, dtypes::bool_, exact, 1) > 3);
    for (DType to : {dtypes::float32, dtypes::float64, dtypes::int16, dtypes::uint8, dtypes::bool_})
      CHECK(compare(Op::CAST, d, to, exact, 1) > 3);
    for (DType from : {dtypes::float32, dtypes::int32, dtypes::uint8}) CHECK(compare(Op::CAST, from, d, exact, 1) > 3);
    CHECK(compare(Op::BITCAST, dtypes::uint16, d, exact, 1) > 3);
  }
  CHECK(compare(Op::BITCAST, dtypes::float32, dtypes::uint32, exact, 1) > 3);
  CHECK(compare(Op::BITCAST, dtypes::int32, dtypes::float32, exact, 1) > 3);
  CHECK(compare(Op::BITCAST, dtypes::int8, dtypes::uint8, {FloatSense::Uninterpreted, IntSense::Numbers}, 1) > 3);
  CHECK(compare(Op::THREEFRY, dtypes::uint64, dtypes::uint64, {FloatSense::Uninterpreted, IntSense::Bits}, 1) > 3);
  for (IntSense ints : {IntSense::Numbers, IntSense::Bits})
    CHECK(compare(Op::TRUNC, dtypes::int32, dtypes::int32, {FloatSense::Uninterpreted, ints}, 1) > 3);
}

bool proves(const std::function<std::pair<UOp, UOp>(Graph&)>& make, FloatSense* sense = nullptr) {
  Graph g;
  auto [before, after] = make(g);
  SideIsolator isolator(g, {{1, 64}});
  SideExpressions e = isolator.expressions_of({before, after});
  ProofCache cache;
  Prover prover(isolator.isolator(), cache);
  for (const ComparedValues& v : e.compared_values) {
    ProofOutcome out = prover.prove_values(v);
    if (sense) *sense = out.sense;
    if (out.kind != ProofOutcome::Kind::Proven) return false;
  }
  return !e.compared_values.empty();
}

TEST_CASE("prove: equal and different sides") {
  auto num = [](Graph& g, int64_t v) { return g.constant(dtypes::index, v); };
  auto var = [](Graph& g, int64_t least, int64_t most) { return g.variable("n", least, most); };
  CHECK(proves([&](Graph& g) {
    UOp n = var(g, 0, 99);
    return std::pair((n * Const(4) + Const(3)) / num(g, 4), n + Const(0));
  }));
  CHECK(!proves([&](Graph& g) {
    UOp n = var(g, -9, 99);
    return std::pair((n * Const(4) + Const(3)) / num(g, 4), n + Const(0));
  }));
  auto masked = [&](int64_t least) {
    return proves([&](Graph& g) {
      UOp n = var(g, least, 99);
      return std::pair(n % num(g, 8), n & num(g, 7));
    });
  };
  CHECK(masked(0));
  CHECK(!masked(-8));
  auto load = [](Graph& g, DType d) {
    return g.node(Op::DEFINE_GLOBAL, d.ptr(64), {}, 1).index_ptr(g.constant(dtypes::index, 0)).load();
  };
  FloatSense sense;
  CHECK(proves(
      [&](Graph& g) {
        UOp x = load(g, dtypes::float32);
        return std::pair(x * x.const_like(1.0), x.alu(Op::MAX, x));
      },
      &sense));
  CHECK(sense == FloatSense::Exact);
  CHECK(proves(
      [&](Graph& g) {
        UOp x = load(g, dtypes::float32);
        return std::pair(x * x.const_like(0.0), x.const_like(0.0) * x.const_like(1.0));
      },
      &sense));
  CHECK(sense == FloatSense::Finite);
  // sides that are bools or integers and differ for a NaN must not be proven
  auto is_nan_lost = [&](auto make) {
    return proves([&](Graph& g) {
      UOp x = load(g, dtypes::float32), is_nan = x.ne(x), never = is_nan.const_like(Const(false));
      return std::pair(make(is_nan), make(never));
    });
  };
  CHECK(!is_nan_lost([](UOp u) { return u; }));
  CHECK(!is_nan_lost([](UOp u) { return u.cast(dtypes::int32); }));
  CHECK(!proves([&](Graph& g) {
    UOp x = load(g, dtypes::float32);
    return std::pair(x * x.const_like(2.0), x + x.const_like(2.0));
  }));
  // the casts are equal only if `wide` has all values of `from`
  auto through = [&](DType from, DType wide, DType to) {
    bool equal = proves(
        [&](Graph& g) {
          UOp x = load(g, from);
          return std::pair(x.cast(wide).cast(to), x.cast(to));
        },
        &sense);
    return equal && sense <= FloatSense::Exact;
  };
  CHECK(through(dtypes::uint8, dtypes::float16, dtypes::float32));
  CHECK(through(dtypes::int16, dtypes::float32, dtypes::int64));
  CHECK(through(dtypes::float16, dtypes::float32, dtypes::bfloat16));
  CHECK(!through(dtypes::int32, dtypes::float32, dtypes::int64));
  CHECK(!through(dtypes::uint16, dtypes::float16, dtypes::float32));
  CHECK(proves([&](Graph& g) {
    UOp x = load(g, dtypes::bfloat16);
    return std::pair(x.exp2(), x.cast(dtypes::float32).exp2().cast(dtypes::bfloat16));
  }));
  CHECK(proves([&](Graph& g) {
    UOp x = load(g, dtypes::int64);
    return std::pair((x + Const(3)) * (x + Const(5)), x * x + x * Const(8) + Const(15));
  }));
  CHECK(!proves([&](Graph& g) {
    UOp x = load(g, dtypes::uint8);
    return std::pair((x + x.const_like(200)).lt(x.const_like(250)), x.lt(x.const_like(50)));
  }));
}

}  // namespace
}  // namespace tgc
