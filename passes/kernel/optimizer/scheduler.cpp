#include "passes/kernel/optimizer/scheduler.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "lib/rewrite/rewrite.h"
#include "lib/support/pytext.h"
#include "lib/text/repr.h"
#include "lib/uop/facts.h"
#include "lib/uop/integer_math.h"
#include "lib/uop/render.h"
#include "passes/kernel/stages.h"

namespace tgc {

namespace {

bool contains(std::span<const UOp> list, UOp u) { return std::find(list.begin(), list.end(), u) != list.end(); }

// The order of two axes in a kernel's shape: by the position of their types, then by their ids.
bool is_axis_before(UOp a, UOp b) {
  if (int pa = axis_to_pos(axis_type(a)), pb = axis_to_pos(axis_type(b)); pa != pb) return pa < pb;
  auto x = axis_ids(a), y = axis_ids(b);
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(),
                                      [](Arg i, Arg j) { return i.as_int() < j.as_int(); });
}

Sint simplified_size(UOp range) {
  UOp size = range.src(0);
  return size.is_const() ? Sint(size.arg()) : Sint(size.ssimplify());
}

bool has_several_steps(UOp range) { return py_less(0, range.vmax()); }

Arg kernel_info_field(UOp sink, size_t i) { return sink.arg().is(RecordClass::KernelInfo) ? sink.arg()[i] : Arg(); }
enum KernelInfoField : size_t { kName, kAxisTypes, kDontUseLocals, kAppliedOpts, kOptsToApply };

}  // namespace

AxisType axis_type(UOp range) { return range.arg().items().back().axis_type(); }
std::span<const Arg> axis_ids(UOp range) { return range.arg().items().first(range.arg().items().size() - 1); }

// For each node, a bit set of the axes among its transitive sources, the node itself included.
struct Scheduler::AxesBelow {
  AxesBelow(Graph& graph, const AstFacts& facts)
      : words_per_node((facts.rngs.size() + 63) / 64), row_of_node(graph),
        axis_bits(checked_size(words_per_node, facts.nodes.size()), 0) {
    uint32_t at = 0;
    for (UOp u : facts.nodes) {
      uint64_t* mine = &axis_bits[at * words_per_node];
      row_of_node[u] = at++;
      for (UOp s : u.src())
        for (size_t w = 0; w < words_per_node; w++) mine[w] |= axis_bits[*row_of_node.find(s) * words_per_node + w];
      if (!u.is(Op::RANGE)) continue;
      auto it = std::find(facts.rngs.begin(), facts.rngs.end(), u);
      if (size_t k = size_t(it - facts.rngs.begin()); it != facts.rngs.end()) mine[k / 64] |= uint64_t(1) << k % 64;
    }
  }
  static size_t checked_size(size_t words, size_t nodes) {
    constexpr size_t kMaxWords = size_t(1) << 27;  // 1 GiB
    if (words > kMaxWords / std::max<size_t>(nodes, 1))
      throw Failure("the kernel has too many loops for the optimizer, expected fewer or NOOPT=1");
    return words * nodes;
  }
  bool contains_axis(UOp u, size_t axis) const {
    return axis_bits[*row_of_node.find(u) * words_per_node + axis / 64] >> axis % 64 & 1;
  }

  size_t words_per_node;
  UOpMap<uint32_t> row_of_node;
  std::vector<uint64_t> axis_bits;
};

Scheduler::Scheduler(UOp ast, const Target& target) : ast_(ast), target_(&target) {
  Arg dont_use_locals = kernel_info_field(ast, kDontUseLocals), applied = kernel_info_field(ast, kAppliedOpts);
  dont_use_locals_ = dont_use_locals.kind() == Arg::Kind::Bool && dont_use_locals.as_bool();
  if (applied.is_tuple())
    for (Arg opt : applied.items()) applied_opts_.push_back(opt_from_arg(opt));
  next_range_ = first_free_range();
}

Scheduler Scheduler::copy() const {
  Scheduler out(*this);
  out.next_range_ = first_free_range();
  return out;
}

int64_t Scheduler::first_free_range() const {
  if (rngs().empty()) return 1;
  Int last = axis_ids(rngs()[0])[0].as_int();
  for (UOp r : rngs()) last = std::max(last, axis_ids(r)[0].as_int());
  return (last + 1).int64_or_throw("an axis id");
}

void Scheduler::set_ast(UOp ast) {
  if (ast == ast_) return;
  ast_ = ast;
  ast_facts_.reset();
  axes_of_nodes_.reset();
}

const Scheduler::AstFacts& Scheduler::facts() const {
  if (ast_facts_) return *ast_facts_;
  auto f = std::make_shared<AstFacts>();
  f->nodes = backward_slice(ast_);
  for (UOp u : f->nodes) {
    switch (u.op()) {
      case Op::RANGE:
        if (has_several_steps(u)) f->rngs.push_back(u);
        break;
      case Op::INDEX:
        if (u.num_src() < 2) throw Failure("an INDEX of a kernel has no index expression");
        f->bufs.push_back(u);
        break;
      case Op::REDUCE: f->reduceops.push_back(u); break;
      case Op::WHERE: f->wheres.push_back(u); break;
      case Op::BUFFERIZE: f->bufferizes.push_back(u); break;
      default: break;
    }
  }
  std::reverse(f->bufs.begin(), f->bufs.end());
  std::stable_sort(f->rngs.begin(), f->rngs.end(), is_axis_before);
  for (UOp r : f->rngs) {
    f->shape.push_back(simplified_size(r));
    f->types.push_back(axis_type(r));
  }
  ast_facts_ = std::move(f);
  return *ast_facts_;
}

bool Scheduler::depends_on(UOp u, size_t axis) const {
  if (!axes_of_nodes_) axes_of_nodes_ = std::make_shared<AxesBelow>(graph(), facts());
  return std::any_of(u.src().begin(), u.src().end(), [&](UOp s) { return axes_of_nodes_->contains_axis(s, axis); });
}

std::vector<size_t> Scheduler::axes_used_by(UOp u) const {
  if (!axes_of_nodes_) axes_of_nodes_ = std::make_shared<AxesBelow>(graph(), facts());
  std::vector<size_t> out;
  for (size_t w = 0; w < axes_of_nodes_->words_per_node; w++) {
    uint64_t axis_bits = 0;
    for (UOp s : u.src())
      axis_bits |= axes_of_nodes_->axis_bits[*axes_of_nodes_->row_of_node.find(s) * axes_of_nodes_->words_per_node + w];
    for (; axis_bits; axis_bits &= axis_bits - 1) out.push_back(w * 64 + size_t(std::countr_zero(axis_bits)));
  }
  return out;
}

size_t Scheduler::axis_of(UOp rng) const {
  auto it = std::find(rngs().begin(), rngs().end(), rng);
  if (it == rngs().end()) throw KernelOptError("a range is not an axis of the kernel");
  return size_t(it - rngs().begin());
}

std::vector<size_t> Scheduler::axes_of(AxisTypeSet types) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < facts().types.size(); i++)
    if (types.contains(facts().types[i])) out.push_back(i);
  return out;
}

std::vector<UOp> Scheduler::ranges_of(AxisTypeSet types) const {
  std::vector<UOp> out;
  for (size_t i : axes_of(types)) out.push_back(rngs()[i]);
  return out;
}

bool Scheduler::has_axis_of_type(AxisTypeSet types) const {
  return std::any_of(facts().types.begin(), facts().types.end(), [&](AxisType t) { return types.contains(t); });
}

std::vector<size_t> Scheduler::upcastable_dims() const {
  auto out = axes_of({AxisType::GLOBAL, AxisType::LOCAL, AxisType::LOOP});
  std::erase_if(out, [&](size_t i) { return full_shape()[i].is_uop() || full_shape()[i].as_int() <= 1; });
  return out;
}

std::vector<size_t> Scheduler::unrollable_dims() const {
  auto out = axes_of({AxisType::GROUP_REDUCE, AxisType::REDUCE});
  std::erase_if(out, [&](size_t i) { return full_shape()[i].is_uop() || full_shape()[i].as_int() <= 1; });
  return out;
}

Int Scheduler::upcast_size() const {
  Int out = 1;
  for (size_t i : axes_of({AxisType::UPCAST, AxisType::UNROLL}))
    out *= full_shape()[i].int64_or_throw("the size of an upcast axis");
  return out;
}

std::vector<TcAxis> Scheduler::shape_str() const {
  std::vector<TcAxis> out;
  int counts[kNumAxisTypes] = {};
  for (AxisType t : facts().types) out.push_back({axis_letter(t), counts[int(t)]++});
  return out;
}

std::vector<UOp> Scheduler::output_rngs() const {
  std::vector<UOp> out;
  for (UOp end : ast_.src()) {
    if (!end.is(Op::END)) continue;
    for (UOp ended : end.src().subspan(1))
      for (UOp r : ended.ranges())
        if (axis_type(r) != AxisType::REDUCE && !contains(out, r)) out.push_back(r);
  }
  return out;
}

std::vector<UOp> Scheduler::globalizable_rngs() const {
  auto out = output_rngs();
  std::erase_if(out, [&](UOp r) {
    auto& inner = facts().bufferizes;
    return axis_type(r) != AxisType::LOOP ||
           !std::all_of(inner.begin(), inner.end(), [&](UOp b) { return is_inside_range(b, r); });
  });
  return out;
}

bool Scheduler::is_globalizable(UOp rng) const {
  auto all = globalizable_rngs();
  return std::find(all.begin(), all.end(), rng) != all.end();
}

namespace {
UOp with_axis_type(UOp range, AxisType type) {
  std::vector<Arg> arg(range.arg().items().begin(), range.arg().items().end());
  arg.back() = type;
  return range.with_arg(range.graph().tuple(arg));
}
}  // namespace

void Scheduler::convert_loop_to_global() {
  if (!target_->has_local) return;
  Substitution to_global;
  for (UOp r : globalizable_rngs())
    if (has_several_steps(r)) to_global.emplace_back(r, with_axis_type(r, AxisType::GLOBAL));
  set_ast(substitute(ast_, to_global));
}

// Returns the name of shift_to()'s substitution in tinygrad's VIZ, "shift (5,) 4 upcast"; "shift" without an observer.
static std::string_view name_of_shift(UOp rng, int64_t amount, AxisType type) {
  Graph& graph = rng.graph();
  if (!rewrite_observer_of(graph)) return "shift";
  const auto axis = rng.arg().items();
  std::string kind(name_of(type));
  for (char& c : kind) c = char(std::tolower(static_cast<unsigned char>(c)));
  const std::string name = "shift " + graph.tuple(axis.first(axis.size() - 1)).repr() + " " + std::to_string(amount);
  return graph.str(name + " " + kind).text();
}

// Splits `rng` into the rest and a new axis of `amount` steps, which is `new_rng` if given. The new axis is the outer
// one if `top` is true, else the inner one. Throws KernelOptError if `amount` does not divide the size of `rng`.
std::pair<UOp, UOp> Scheduler::shift_to(UOp rng, int64_t amount, AxisType type, bool top, UOp new_rng) {
  UOp rest_size = divides(rng.src(0), amount);
  if (!rest_size)
    throw KernelOptError(std::to_string(amount) + " can't divide " + render(rng.src(0)) + " in " + colored_shape());
  if (rest_size.is(Op::BIND)) rest_size = rest_size.src(0);
  if (!new_rng) new_rng = graph().range(amount, next_range_++, type);
  UOp rest = rng.with_src(rest_size);
  UOp both = top ? new_rng * rest_size + rest : rest * amount + new_rng;
  set_ast(substitute(ast_, {{rng, both}}, nullptr, name_of_shift(rng, amount, type)));
  return {rest, new_rng};
}

std::vector<std::string_view> Scheduler::colors() const {
  auto output = output_rngs(), globalizable = globalizable_rngs();
  std::vector<std::string_view> out;
  for (UOp r : rngs()) {
    AxisType type = axis_type(r);
    if (dont_use_locals_ && type == AxisType::GLOBAL) out.push_back("BLUE");
    else if (type == AxisType::LOOP && !contains(output, r)) out.push_back("BLACK");
    else if (type == AxisType::LOOP && !contains(globalizable, r)) out.push_back("white");
    else out.push_back(axis_color(type));
  }
  return out;
}

std::string Scheduler::colored_shape() const {
  std::string out;
  auto color = colors();
  for (size_t i = 0; i < rngs().size(); i++) {
    std::string size = render(rngs()[i].src(0));
    size.insert(0, size.size() < 4 ? 4 - size.size() : 0, ' ');
    out += (i ? " " : "") + colored(size, color[i]);
  }
  return out;
}

// Makes the kernel's name with colours, such as "r_32_4_4": r if the kernel has a reduce, else E, followed by the sizes
// of existing SPECIALs and of the axes.
std::string Scheduler::kernel_name(std::map<std::string, int>& kernel_name_counts) const {
  std::string out = reduceop() ? "r" : "E", separator = colored("_", "BLACK");
  std::vector<UOp> specials;
  for (UOp u : facts().nodes)
    if (u.is(Op::SPECIAL)) specials.push_back(u);
  std::stable_sort(specials.begin(), specials.end(), [](UOp a, UOp b) { return a.arg().text() < b.arg().text(); });
  for (UOp s : specials)
    out += separator + colored(py_add(s.vmax(), 1).str(), s.arg().text().starts_with('g') ? "blue" : "cyan");

  auto color = colors();
  for (size_t i = 0; i < rngs().size(); i++) out += separator + colored(render(rngs()[i].src(0), true, repr), color[i]);
  if (int earlier = kernel_name_counts[to_function_name(out)]++; earlier > 0)
    return out + colored("n" + std::to_string(earlier), "BLACK");
  return out + colored("", "BLACK");
}

UOp Scheduler::make_optimized_ast(std::optional<std::string_view> name,
                                  std::map<std::string, int>& kernel_name_counts) {
  Arg final_name = graph().str(name ? std::string(*name) : kernel_name(kernel_name_counts));
  set_ast(graph_rewrite(ast_, pm_flatten_range(), {.name = "flatten range"}));
  std::vector<Arg> opts;
  for (const Opt& opt : applied_opts_) opts.push_back(opt_to_arg(graph(), opt));
  Arg info = graph().record(RecordClass::KernelInfo,
                            {final_name, graph().tuple({}), dont_use_locals_, graph().tuple(opts), Arg()});
  return ast_.replace({.arg = info, .tag = Arg(1)});
}

Arg opt_to_arg(Graph& graph, const Opt& opt) {
  return graph.record(RecordClass::Opt, {opt.op, opt.axis ? Arg(*opt.axis) : Arg(), opt.arg});
}

Opt opt_from_arg(Arg record) {
  if (!record.is(RecordClass::Opt) || record[0].kind() != Arg::Kind::OptOps)
    throw Failure("not an Opt: " + record.repr());
  Opt opt{record[0].opt_op(), {}, record[2]};
  if (record[1].is_integral()) opt.axis = record[1].as_int().int64_or_throw("the axis of an Opt");
  else if (!record[1].is_none()) throw Failure("the axis of an Opt is an integer or None, not " + record[1].repr());
  return opt;
}

}  // namespace tgc
