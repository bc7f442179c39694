#include "lib/import/export.h"

#include <algorithm>
#include <unordered_map>

#include "lib/import/upgrade.h"
#include "lib/text/repr.h"
#include "lib/uop/integer_math.h"

namespace tgc::import {

namespace {

class Exporter {
 public:
  explicit Exporter(Release release) : graph(std::make_shared<Graph>()), new_graph(*graph), release(release) {
    new_graph.set_release(release);
  }

  // The sources of `u` must have been exported already. Throws Refusal or Failure if `u` cannot be written.
  void export_node(UOp u);
  UOp operator[](UOp u) const { return exported_nodes_.at(u.id()); }
  std::vector<UOp> exported_sources(UOp u) const {
    std::vector<UOp> out;
    for (UOp s : u.src()) out.push_back((*this)[s]);
    return out;
  }
  UOp size(Int value) { return new_graph.node(Op::CONST, weakint(), {}, Arg(value)); }
  UOp invalid_node() {
    return new_graph.node(Op::CONST, release >= Release::v0_14 ? dtypes::bool_ : weakint(), {}, Const::invalid());
  }

  static DType dtype(DType d) {
    if (d == dtypes::index) return weakint();
    if (d.is_image()) throw Refusal{"it is an image"};
    if (d.is_ptr()) d = d.base();
    if (d.count() != 1) throw Refusal{std::string(d.repr()) + " is a vector"};
    return d;
  }

  // Returns an instance of a dataclass that 0.12.0 does not have. A field with an empty name is positional.
  Arg record(std::string_view name, std::initializer_list<std::pair<std::string_view, Arg>> fields) {
    std::vector<Arg> names, items{new_graph.str(name), Arg()};
    for (auto& [field, value] : fields) names.push_back(new_graph.str(field)), items.push_back(value);
    items[1] = new_graph.tuple(names);
    return new_graph.record(RecordClass::Open, items);
  }

  const std::shared_ptr<Graph> graph;
  Graph& new_graph;
  const Release release;

 private:
  std::unordered_map<uint32_t, UOp> exported_nodes_;
};

UOp export_same(Exporter& ex, UOp u) {
  if (!has_op(ex.release, u.op())) throw Refusal{"tinygrad " + std::string(name_of(ex.release)) + " has no such op"};
  if (u.dtype().is_value() && u.dtype().count() != 1) throw Refusal{std::string(u.dtype().repr()) + " is a vector"};
  return ex.new_graph.node(u.op(), Exporter::dtype(u.dtype()), ex.exported_sources(u), copy_arg(ex.new_graph, u.arg()));
}

UOp export_buffer(Exporter& ex, UOp u) {
  const DType dtype = Exporter::dtype(u.dtype());
  if (!u.arg().is_int()) throw Refusal{"its arg " + u.arg().repr() + " is no number"};
  if (u.dtype().size() < 0) throw Refusal{"its size is unknown"};
  if (ex.release == Release::v0_13) return ex.new_graph.node(Op::PARAM, u.dtype(), {}, u.arg());
  return ex.new_graph.node(
      Op::PARAM, dtype, {ex.size(Int(u.dtype().size()))},
      ex.record("ParamArg", {{"", u.arg()}, {"", Arg(dtype)}, {"device", ex.new_graph.str("CPU")}}));
}

// DEFINE_LOCAL and DEFINE_REG are the same ops in 0.13, and BUFFERs with an address space since 0.14.
UOp export_local(Exporter& ex, UOp u) {
  const DType dtype = Exporter::dtype(u.dtype());
  if (!u.arg().is_int()) throw Refusal{"its arg " + u.arg().repr() + " is no number"};
  if (ex.release == Release::v0_13) return ex.new_graph.node(u.op(), u.dtype(), {}, u.arg());
  const Arg space(u.is(Op::DEFINE_LOCAL) ? AddrSpace::LOCAL : AddrSpace::REG);
  return ex.new_graph.node(Op::BUFFER, dtype, {ex.size(Int(u.dtype().size()))},
                           ex.record("ParamArg", {{"", u.arg()}, {"", Arg(dtype)}, {"addrspace", space}}));
}

UOp export_variable(Exporter& ex, UOp u) {
  const DType dtype = Exporter::dtype(u.dtype());
  const Arg name = ex.new_graph.str(u.arg()[0].text()), least = u.arg()[1], most = u.arg()[2];
  if (ex.release == Release::v0_13)
    return ex.new_graph.node(Op::DEFINE_VAR, dtype, {}, ex.new_graph.tuple({name, least, most}));
  const Arg arg = ex.record("ParamArg", {{"", Arg(-1)},
                                         {"", Arg(dtype)},
                                         {"vmin_vmax", ex.new_graph.tuple({least, most})},
                                         {"multiple_of", Arg(1)},
                                         {"name", name},
                                         {"addrspace", ex.new_graph.raw_arg("AddrSpace.ALU")}});
  return ex.new_graph.node(Op::PARAM, dtype, {ex.new_graph.node(Op::STACK)}, arg);
}

UOp export_const(Exporter& ex, UOp u) {
  if (u.arg().is_invalid()) return ex.invalid_node();
  if (!u.arg().is_const()) throw Refusal{"its value " + u.arg().repr() + " is no number"};
  // 0.14 rounds a float constant when it makes the constant, and its later stages rely on that
  const bool rounds = ex.release >= Release::v0_14 && u.dtype().is_value() && dtypes::is_float(u.dtype());
  const Arg value = rounds ? Arg(truncate(u.arg().to_const(), u.dtype())) : u.arg();
  return ex.new_graph.node(Op::CONST, Exporter::dtype(u.dtype()), {}, const_float(ex.new_graph, value));
}

UOp export_index(Exporter& ex, UOp u) {
  if (u.num_src() < 2 || u.num_src() > 3) throw Refusal{"it has " + std::to_string(u.num_src()) + " sources"};
  UOp at = ex[u.src(1)];
  if (u.num_src() == 3) at = ex.new_graph.node(Op::WHERE, at.dtype(), {ex[u.src(2)], at, ex.invalid_node()});
  return ex.new_graph.node(Op::INDEX, Exporter::dtype(u.dtype()), {ex[u.src(0)], at});
}

// IDIV and MOD round to 0. For indices that are not negative, FLOORDIV and FLOORMOD are equal, and tinygrad has more
// rules for them.
UOp export_division(Exporter& ex, UOp u) {
  const bool rounds_down =
      u.dtype() == dtypes::index && py_less_equal(0, u.src(0).vmin()) && py_less(0, u.src(1).vmin());
  const Op op = u.is(Op::IDIV) ? (rounds_down ? Op::FLOORDIV : Op::CDIV) : rounds_down ? Op::FLOORMOD : Op::CMOD;
  return ex.new_graph.node(op, Exporter::dtype(u.dtype()), ex.exported_sources(u));
}

bool is_number(UOp u, int64_t value) { return u.is(Op::CONST) && py_equal(u.arg().to_const(), value); }

// True if `u` is the condition that a / b rounded to 0 is larger than the exact a / b.
bool is_rounding_condition(UOp u, UOp a, UOp b) {
  auto is_negative = [](UOp less, UOp x) {
    return less.is(Op::CMPLT) && less.src(0) == x && is_number(less.src(1), 0);
  };
  if (!u.is(Op::AND) || !u.src(0).is(Op::CMPNE) || !u.src(1).is(Op::CMPNE)) return false;
  const UOp left = u.src(0).src(0), unlike = u.src(1);
  return left.is(Op::MOD) && left.src(0) == a && left.src(1) == b && is_number(u.src(0).src(1), 0) &&
         is_negative(unlike.src(0), a) && is_negative(unlike.src(1), b);
}

// Recognizes the sums by which the import replaces FLOORDIV and FLOORMOD: IDIV(a, b) + WHERE(rounded up, -1, 0), MOD(a,
// b) + WHERE(rounded up, b, 0) and, for an index, IDIV(a + n * b, b) - n. Returns the empty UOp for other sums.
UOp match_floor_division(Exporter& ex, UOp u) {
  const UOp rounded = u.src(0), correction = u.src(1);
  if (!rounded.in({Op::IDIV, Op::MOD})) return {};
  UOp a = rounded.src(0);
  const UOp b = rounded.src(1);
  const bool divides = rounded.is(Op::IDIV);
  if (correction.is(Op::WHERE)) {
    const bool is_its_own = divides ? is_number(correction.src(1), -1) : correction.src(1) == b;
    if (!is_its_own || !is_number(correction.src(2), 0) || !is_rounding_condition(correction.src(0), a, b)) return {};
  } else {
    const bool is_sum = divides && u.dtype() == dtypes::index && a.is(Op::ADD) && a.src(1).is(Op::CONST);
    if (!is_sum || !correction.is(Op::CONST) || !b.is(Op::CONST) || !py_less_equal(0, a.vmin())) return {};
    if (!(a.src(1).arg().as_int() == -correction.arg().as_int() * b.arg().as_int())) return {};
    a = a.src(0);
  }
  return ex.new_graph.node(divides ? Op::FLOORDIV : Op::FLOORMOD, Exporter::dtype(u.dtype()), {ex[a], ex[b]});
}

UOp export_sum(Exporter& ex, UOp u) {
  const UOp division = match_floor_division(ex, u);
  return division ? division : export_same(ex, u);
}

UOp export_reduce(Exporter& ex, UOp u) {
  const Arg axes = ex.release == Release::v0_13 ? ex.new_graph.tuple({}) : Arg(0);
  return ex.new_graph.node(Op::REDUCE, Exporter::dtype(u.dtype()), ex.exported_sources(u),
                           ex.new_graph.tuple({u.arg(), axes}));
}

// Since 0.14, a loop has the axis type WEAK until an optimization gives it another type.
UOp export_range(Exporter& ex, UOp u) {
  std::vector<Arg> ids;
  for (Arg a : u.arg().items()) {
    const bool is_loop = a.kind() == Arg::Kind::AxisType && a.axis_type() == AxisType::LOOP;
    ids.push_back(is_loop && ex.release >= Release::v0_14 ? ex.new_graph.raw_arg("AxisType.WEAK") : a);
  }
  return ex.new_graph.node(Op::RANGE, Exporter::dtype(u.dtype()), ex.exported_sources(u), ex.new_graph.tuple(ids));
}

UOp export_sink(Exporter& ex, UOp u) {
  const Arg none = ex.new_graph.tuple({});
  const Arg info = u.arg().is_none() ? ex.new_graph.record(RecordClass::KernelInfo,
                                                           {ex.new_graph.str("test"), none, Arg(false), none, Arg()})
                                     : copy_arg(ex.new_graph, u.arg());
  return ex.new_graph.node(Op::SINK, dtypes::void_, ex.exported_sources(u), info);
}

UOp export_cast(Exporter& ex, UOp u) {
  const DType dtype = Exporter::dtype(u.dtype());
  return ex.new_graph.node(u.op(), dtype, ex.exported_sources(u), ex.release >= Release::v0_14 ? Arg(dtype) : Arg());
}

// `refusal_reason`: why the ops cannot be written, if `make` is null. The comments in the table show tgc's node -> the
// node of 0.14.
struct OpDowngrade {
  std::string_view name;
  OpSet ops;
  UOp (*make)(Exporter& ex, UOp u) = nullptr;
  std::string_view refusal_reason = {};
};

constexpr OpDowngrade kDowngrades[] = {
    // DEFINE_GLOBAL dtype.ptr(size), slot -> PARAM(size; slot, dtype)
    {.name = "define-global", .ops = Op::DEFINE_GLOBAL, .make = export_buffer},
    // DEFINE_LOCAL or DEFINE_REG dtype.ptr(size), slot -> BUFFER(size; slot, dtype, LOCAL or REG)
    {.name = "define-local", .ops = {Op::DEFINE_LOCAL, Op::DEFINE_REG}, .make = export_local},
    // since 0.14: DEFINE_VAR(name, min, max) -> PARAM((); -1, name, (min, max), ALU)
    {.name = "define-var", .ops = Op::DEFINE_VAR, .make = export_variable},
    // CONST index -> CONST weakint; CONST Invalid -> CONST Invalid of dtype bool
    {.name = "const", .ops = Op::CONST, .make = export_const},
    // INDEX(buffer, i, gate) -> INDEX(buffer, WHERE(gate, i, Invalid))
    {.name = "index", .ops = Op::INDEX, .make = export_index},
    // IDIV(x, y) -> CDIV(x, y) or FLOORDIV(x, y); MOD(x, y) -> CMOD(x, y) or FLOORMOD(x, y)
    {.name = "division", .ops = {Op::IDIV, Op::MOD}, .make = export_division},
    // ADD(IDIV(x, y), its correction) -> FLOORDIV(x, y); ADD(MOD(x, y), its correction) -> FLOORMOD(x, y)
    {.name = "floor-division", .ops = Op::ADD, .make = export_sum},
    {.name = "reduce", .ops = Op::REDUCE, .make = export_reduce},
    {.name = "range", .ops = Op::RANGE, .make = export_range},
    {.name = "sink", .ops = Op::SINK, .make = export_sink},
    {.name = "same", .ops = ops::ALU, .make = export_same},
    {.name = "cast", .ops = {Op::CAST, Op::BITCAST}, .make = export_cast},
    {.name = "memory", .ops = {Op::LOAD, Op::STORE}, .make = export_same},
    {.name = "order", .ops = {Op::END, Op::AFTER, Op::GROUP, Op::NOOP, Op::BARRIER, Op::SPECIAL}, .make = export_same},
    {.name = "custom", .ops = {Op::CUSTOM, Op::CUSTOMI}, .refusal_reason = "it is source code"},
    {.name = "vector", .ops = {Op::VECTORIZE, Op::GEP, Op::VCONST, Op::CAT, Op::PTRCAT, Op::WMMA},
     .refusal_reason = "it is a vector"},
};

void Exporter::export_node(UOp u) {
  auto row = std::ranges::find_if(kDowngrades, [&](const OpDowngrade& d) { return d.ops.contains(u.op()); });
  if (row == std::end(kDowngrades)) throw Refusal{"it is no op of a kernel's AST"};
  if (!row->make) throw Refusal{std::string(row->refusal_reason)};
  exported_nodes_.emplace(u.id(), row->make(*this, u));
}

}  // namespace
}  // namespace tgc::import

namespace tgc {

Result<ExportedGraph> export_ast(UOp root, Release release) {
  if (release < Release::v0_13) return Diag{"no graph can be written for tinygrad " + std::string(name_of(release))};
  UOp at = root;
  auto refuse = [&](const std::string& reason) {
    return Diag{"cannot export Ops." + std::string(name_of(at.op())) + " to tinygrad " +
                std::string(name_of(release)) + ": " + reason};
  };
  import::Exporter ex(release);
  try {
    for (UOp u : toposort(root)) at = u, ex.export_node(u);
  } catch (const import::Refusal& refusal) {
    return refuse(refusal.reason);
  } catch (const Failure& failure) {
    return refuse(failure.diag().text());
  }
  return ExportedGraph{ex.graph, ex[root]};
}

Result<ExportedGraph> ast_for_release(const std::shared_ptr<Graph>& graph, UOp root, Release release) {
  const Release from = graph->release();
  if (from == release) return ExportedGraph{graph, root};
  ImportedGraph imported{.graph = graph, .root = root};
  if (from != Release::v0_12) {
    auto made = import_graph(root);
    if (!made) return made.diag();
    imported = std::move(*made);
  }
  if (release == Release::v0_12) return ExportedGraph{imported.graph, imported.root};
  return export_ast(imported.root, release);
}

}  // namespace tgc
