#include <limits>

#include "lib/rewrite/testing.h"
#include "lib/target/target.h"
#include "passes/kernel/stages.h"

namespace tgc {

namespace {

struct LoadTest : RuleTest {
  explicit LoadTest(const RuleSet& set, const Settings& settings = {}) : RuleTest(set, settings) {}

  UOp wide(UOp pointer, int n) {
    return pointer.cast(pointer.dtype().base().vec(n).ptr(pointer.dtype().size(), pointer.dtype().addrspace()));
  }
  UOp index(Const i) { return constant(dtypes::index, i); }
  UOp ptrcat(DType element, std::initializer_list<UOp> pointers, int n) {
    return graph.node(Op::PTRCAT, element.vec(n), UOpSpan(pointers));
  }
  UOp image(int64_t height, int64_t width) {
    const int64_t shape[] = {height, width, 4};
    return graph.node(Op::DEFINE_GLOBAL, dtypes::imagef(shape), {}, 0);
  }
};
UOp gep(UOp x, std::initializer_list<int64_t> picks) { return x.gep(std::span(picks.begin(), picks.size())); }
const Target target(std::string_view name) { return parse_target(name, {}).value_or_throw(); }

TEST_CASE("each rule of pm_add_loads applies and declines") {
  LoadTest t(pm_add_loads());
  UOp buf = t.buffer(0, dtypes::float32), r = t.range(8), x = t.load(1, dtypes::float32);
  t.check_rule("load-index", buf.index(r), buf.index_ptr(r).load());
  UOp many = t.vectorize({buf, buf});
  t.check_rule("load-index", many.index(t.vectorize({r, r}), dtypes::float32.vec(2)),
               many.index_ptr(t.vectorize({r, r})).load({}, dtypes::float32.vec(2)));
  t.check_declines("load-index", buf.index_ptr(r));
  t.check_rule("store-to-pointer", buf.index_ptr(r).load().store(x, UOpSpan{r}), buf.index_ptr(r).store(x, UOpSpan{r}));
  t.check_declines("store-to-pointer", buf.index_ptr(r).store(x));
  t.check_all_rules_fired();
}

TEST_CASE("each rule of load_store_indexing applies and declines") {
  LoadTest t(load_store_indexing());
  UOp buf = t.buffer(0, dtypes::float32), x = t.var("x", 0, 20), i64 = t.var("y", 0, 20, dtypes::int64);
  UOp gate = x.lt(10), any = t.load(5, dtypes::bool_);
  t.check_rule("index-given-valid", buf.index_ptr((x / 10 + x).valid(gate)), buf.index_ptr(x.valid(gate)));
  t.check_declines("index-given-valid", buf.index_ptr(x.valid(gate)));
  t.check_declines("index-given-valid", buf.index_ptr(x.valid(any)));
  t.check_rule("long-index-given-gate", buf.index_ptr(i64 / 10 + i64, i64.lt(10)),
               buf.index_ptr(i64.valid(i64.lt(10))));
  t.check_declines("long-index-given-gate", buf.index_ptr(i64, i64.lt(10)));
  t.check_declines("long-index-given-gate", buf.index_ptr(x / 10 + x, gate));
  t.check_rule("drop-true-gate", buf.index_ptr(x, t.constant(dtypes::bool_, true)), buf.index_ptr(x));
  t.check_declines("drop-true-gate", buf.index_ptr(x, any));
  t.check_all_rules_fired();
}

TEST_CASE("gate clauses that an image's bounds check implies are dropped") {
  LoadTest t(load_store_indexing());
  UOp image = t.image(8, 10), x = t.var("x", 0, 20), y = t.var("y", 0, 30), z = t.var("z", 0, 4);
  auto at = [&](UOp column, UOp row) { return t.vectorize({column, row}); };
  // the image has 10 columns and 8 rows: its bounds check makes the clauses x < 10 and y < 8 redundant
  t.check_rule("index-given-valid", image.index_ptr(at(x, y).valid(x.lt(10))), image.index_ptr(at(x, y)));
  t.check_rule("index-given-valid", image.index_ptr(at(x, y).valid(y.lt(8))), image.index_ptr(at(x, y)));
  t.check_rule("index-given-valid", image.index_ptr(at(x, y).valid(x.lt(10) & y.lt(5))),
               image.index_ptr(at(x, y).valid(y.lt(5))));
  t.check_declines("index-given-valid", image.index_ptr(at(x, y).valid(x.lt(9))));
  // x >= 1 is redundant, because for x = 0 the column x - 1 is negative
  t.check_rule("index-given-valid", image.index_ptr(at(x - 1, y).valid(x.ge(1))), image.index_ptr(at(x - 1, y)));
  t.check_rule("index-given-valid", image.index_ptr(at(x + z - 1, y).valid((x + z).ge(1))),
               image.index_ptr(at(x + z - 1, y)));
  t.check_declines("index-given-valid", image.index_ptr(at(x, y).valid(x.ge(1))));
  t.check_declines("index-given-valid", image.index_ptr((x / 10 + x).valid(x.lt(10))));
}

TEST_CASE("each rule of load_store_folding applies and declines") {
  LoadTest t(load_store_folding());
  UOp buf = t.buffer(0, dtypes::float32), r = t.range(8), x = t.load(1, dtypes::float32.vec(4)),
      gate = t.load(5, dtypes::bool_);
  auto at = [&](int64_t i) { return buf.index_ptr(i ? r + i : r); };
  auto cat = [&](std::initializer_list<UOp> pointers, int n) { return t.ptrcat(buf.dtype(), pointers, n); };

  UOp vec = t.load(9, dtypes::index.vec(2));
  UOp two = t.graph.node(Op::VECTORIZE, buf.dtype(), {buf.index_ptr(vec.gep(0)), buf.index_ptr(vec.gep(1))});
  t.check_rule("expand-index", t.vectorize({buf, buf}).index_ptr(vec), two);
  UOp after = buf.after(r);
  t.check_rule("expand-index", t.vectorize({after, after}).index_ptr(t.vectorize({r, r})),
               t.graph.node(Op::VECTORIZE, buf.dtype(), {after.index_ptr(r), after.index_ptr(r)}));
  t.check_declines("expand-index", t.vectorize({buf, t.buffer(1, dtypes::float32)}).index_ptr(vec));

  t.check_rule("fold-expanded-index", t.vectorize({at(0), at(1), at(2), at(3)}),
               gep(cat({t.wide(at(0), 4)}, 4), {0, 1, 2, 3}));
  t.check_rule("fold-expanded-index", t.vectorize({at(1), at(0), at(1)}), gep(cat({t.wide(at(0), 2)}, 2), {1, 0, 1}));
  t.check_rule("fold-expanded-index", t.vectorize({at(0), at(1), at(5)}),
               gep(cat({t.wide(at(0), 2), at(5)}, 3), {0, 1, 2}));
  UOp other = buf.index_ptr(t.range(8, 1));
  t.check_rule("fold-expanded-index", t.vectorize({at(0), other, at(1)}),
               gep(cat({t.wide(at(0), 2), other}, 3), {0, 2, 1}));
  UOp gated = buf.index_ptr((r + 1).valid(gate));
  t.check_rule("fold-expanded-index", t.vectorize({at(0), gated}), gep(cat({at(0), gated}, 2), {0, 1}));
  // c + r is the same index as r + c, and a constant index is an offset without a base; an invalid index is not merged
  UOp c0 = buf.index_ptr(t.index(7)), c1 = buf.index_ptr(t.index(8));
  t.check_rule("fold-expanded-index", t.vectorize({c1, c0}), gep(cat({t.wide(c0, 2)}, 2), {1, 0}));
  UOp flipped = buf.index_ptr(t.index(1) + r);
  t.check_rule("fold-expanded-index", t.vectorize({at(0), flipped}), gep(cat({t.wide(at(0), 2)}, 2), {0, 1}));
  UOp invalid = buf.index_ptr(t.graph.invalid()), at0 = buf.index_ptr(t.index(0));
  t.check_rule("fold-expanded-index", t.vectorize({invalid, at0}), gep(cat({invalid, at0}, 2), {0, 1}));
  t.check_declines("fold-expanded-index", t.vectorize({at(0), t.buffer(1, dtypes::float32).index_ptr(r)}));
  t.check_declines("fold-expanded-index", t.vectorize({buf.index(r), buf.index(r)}));

  UOp p = cat({t.wide(at(0), 4)}, 4);
  // the new load has a scalar dtype, because the rule load-cat later replaces it by loads of the right widths
  t.check_rule("load-gep", gep(p, {1, 0, 3, 2}).load({}, dtypes::float32.vec(4)), gep(p.load(), {1, 0, 3, 2}));
  t.check_rule("store-gep", gep(p, {2, 0, 1, 3}).store(x, UOpSpan{r}), p.store(gep(x, {1, 2, 0, 3}), UOpSpan{r}));
  UOp q = cat({t.wide(at(0), 2), at(5)}, 3), v3 = t.load(1, dtypes::float32.vec(3));
  t.check_rule(
      "load-cat", q.load({}, dtypes::float32.vec(3)),
      t.graph.node(Op::CAT, dtypes::float32.vec(3), {t.wide(at(0), 2).load({}, dtypes::float32.vec(2)), at(5).load()}));
  t.check_rule("store-cat", q.store(v3),
               t.graph.group({t.wide(at(0), 2).store(gep(v3, {0, 1})), at(5).store(v3.gep(2))}));
  t.check_rule("store-cat", p.store(x), t.wide(at(0), 4).store(gep(x, {0, 1, 2, 3})));
  t.check_all_rules_fired();
}

TEST_CASE("UNSAFE_DISABLE_MASK drops the gate of a vector index") {
  Settings s;
  s.UNSAFE_DISABLE_MASK = 1;
  LoadTest t(load_store_folding(), s);
  UOp buf = t.buffer(0, dtypes::float32), vec = t.load(9, dtypes::index.vec(2)), gate = t.load(5, dtypes::bool_.vec(2));
  UOp two = t.graph.node(Op::VECTORIZE, buf.dtype(), {buf.index_ptr(vec.gep(0)), buf.index_ptr(vec.gep(1))});
  t.check_rule("expand-index", t.vectorize({buf, buf}).index_ptr(vec.valid(gate)), two);
}

// Returns the widths into which an access of `n` elements at `idx` is split; {n} if the access is not split.
std::vector<int> widths(LoadTest& t, const Target& on, UOp buf, UOp idx, int n) {
  UOp load = t.wide(buf.index_ptr(idx), n).load({}, buf.dtype().base().vec(n));
  UOp out = graph_rewrite(load, correct_load_store(), {.ctx = on});
  if (!out.is(Op::CAT)) return {n};
  std::vector<int> w;
  for (UOp s : out.src()) w.push_back(s.dtype().count());
  return w;
}

TEST_CASE("wide accesses are split into widths that the target supports") {
  using W = std::vector<int>;
  LoadTest t(correct_load_store());
  const Target cpu = target("CPU"), web = target("WEBGPU");
  UOp r = t.range(8), f = t.buffer(0, dtypes::float32);
  CHECK(widths(t, cpu, f, r * 4, 4) == W{4});
  CHECK(widths(t, cpu, f, r * 8, 8) == W{4, 4});
  CHECK(widths(t, cpu, f, r * 4, 7) == W{4, 2, 1});
  CHECK(widths(t, cpu, f, r * 2, 6) == W{2, 2, 2});
  CHECK(widths(t, cpu, f, r * 3, 3) == W{1, 1, 1});
  CHECK(widths(t, cpu, f, r * 4 + 2, 4) == W{2, 2});
  CHECK(widths(t, web, f, r * 4, 4) == W{1, 1, 1, 1});
  CHECK(widths(t, cpu, t.buffer(1, dtypes::float16), r * 8, 8) == W{4, 4});
  CHECK(widths(t, cpu, t.buffer(1, dtypes::fp8e4m3), r * 4, 4) == W{4});
  for (DType d : {dtypes::int32, dtypes::float64, dtypes::bfloat16, dtypes::int8})
    CHECK(widths(t, cpu, t.buffer(2, d), r * 4, 2) == W{1, 1});
  UOp reg = t.graph.node(Op::DEFINE_REG, dtypes::float32.ptr(16, AddrSpace::REG), {}, 0);
  CHECK(widths(t, cpu, reg, t.index(0), 4) == W{1, 1, 1, 1});

  Settings s;
  s.ALLOW_HALF8 = 1;
  LoadTest half8(correct_load_store(), s);
  CHECK(widths(half8, cpu, half8.buffer(1, dtypes::float16), half8.range(8) * 8, 8) == W{8});
  CHECK(widths(half8, cpu, half8.buffer(1, dtypes::float32), half8.range(8) * 8, 8) == W{4, 4});
  Settings amx;
  amx.AMX = 1;
  LoadTest wide(correct_load_store(), amx);
  CHECK(widths(wide, cpu, wide.buffer(1, dtypes::float32), wide.range(8) * 32, 32) == W{16, 16});
}

TEST_CASE("a split load becomes a CAT of loads, a split store a GROUP of stores") {
  LoadTest t(correct_load_store());
  const Target cpu = target("CPU");
  UOp r = t.range(8), f = t.buffer(0, dtypes::float32), gate = t.load(5, dtypes::bool_),
      x = t.load(1, dtypes::float32.vec(3));
  auto part = [&](int i) { return f.index_ptr((r * 2 + i).valid(gate)); };
  UOp whole = t.wide(f.index_ptr((r * 2).valid(gate)), 3);
  t.check_rule("split-load-store", whole.load({}, dtypes::float32.vec(3)),
               t.graph.node(Op::CAT, dtypes::float32.vec(3),
                            {t.wide(part(0), 2).load({}, dtypes::float32.vec(2)), part(2).load()}),
          cpu);
  t.check_rule("split-load-store", whole.store(x, UOpSpan{r}),
          t.graph.group({t.wide(part(0), 2).store(gep(x, {0, 1}), UOpSpan{r}), part(2).store(x.gep(2), UOpSpan{r})}),
               cpu);
  t.check_declines("split-load-store", t.wide(f.index_ptr(r * 4), 4).load({}, dtypes::float32.vec(4)), cpu);
}

TEST_CASE("images are accessed by pixel") {
  LoadTest t(correct_load_store());
  UOp image = t.image(8, 10), x = t.var("x", 0, 300), n = t.var("n", -4, 300), gate = x.lt(20);
  auto pixel = [&](UOp i) { return t.vectorize({(i / 4) % 10, i / 40}); };
  auto valid = [&](UOp i, UOp cond) { return image.index_ptr(i.valid(cond)); };
  UOp yes = t.constant(dtypes::bool_, true), v = t.load(1, dtypes::float32.vec(4));
  UOp quad = image.index_ptr(x.valid(gate)).cast(dtypes::float32.vec(4).ptr(320));
  t.check_rule("image-by-pixel", quad.load({}, dtypes::float32.vec(4)),
               valid(pixel(x), gate).load({}, dtypes::float32.vec(4)));
  t.check_rule("image-by-pixel", quad.store(v), valid(pixel(x), gate).store(v));
  // to load a single channel, the whole pixel is loaded and channel x % 4 is selected
  UOp all = valid(pixel(x), yes).load({}, dtypes::float32.vec(4)), value = all.gep(0);
  for (int i = 1; i < 4; i++) value = (x % 4).ne(i).where(value, all.gep(i));
  t.check_rule("image-by-pixel", image.index_ptr(x).load({}, dtypes::float32), value);
  // if the flat index n may be negative, n % 4 may match no channel, so the default value is NaN
  UOp some = valid(pixel(n), yes).load({}, dtypes::float32.vec(4)),
      or_nan = t.constant(dtypes::float32, std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 4; i++) or_nan = (n % 4).ne(i).where(or_nan, some.gep(i));
  t.check_rule("image-by-pixel", image.index_ptr(n).load({}, dtypes::float32), or_nan);
  t.check_declines("image-by-pixel", valid(pixel(x), gate).load({}, dtypes::float32.vec(4)));
  t.check_declines("image-by-pixel", t.buffer(1, dtypes::float32).index_ptr(x).load());
  CHECK_THROWS_AS(t.check_declines("image-by-pixel", image.index_ptr(x).store(t.constant(dtypes::float32, 1.0))),
                  Failure);
}

TEST_CASE("an INDEX of a pointer INDEX becomes one INDEX") {
  RuleTest t(pm_syntactic_sugar());
  UOp buffer = t.buffer(0, dtypes::float32), i = t.var("i", 0, 3), j = t.var("j", 0, 3);
  t.check_rule("index-of-index", buffer.index_ptr(i).index(j), buffer.index(UOpSpan{i, j}, dtypes::float32));
  t.check_declines("index-of-index", buffer.index_ptr(i).index_ptr(j));
  t.check_declines("index-of-index", buffer.index(i).index(UOpSpan(j), dtypes::float32));
  t.check_all_rules_fired();
}

}  // namespace

}  // namespace tgc
