#include "lib/import/importer.h"

#include <algorithm>
#include <cmath>

#include "lib/import/upgrade.h"
#include "lib/support/deadline.h"
#include "lib/support/depth_guard.h"
#include "lib/text/repr.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/wellformed.h"

namespace tgc::import {

namespace {
constexpr int kMaxDepth = 500;
constexpr int64_t kMaxElements = 1 << 14;  // most elements of a buffer that is used as a value
constexpr int64_t kMaxAllElements = 1 << 24;

// While tinygrad splits 64-bit integers into two words of 32 bits (0.14: codegen/decomp/dtype.py:pm_long_decomp), a
// tagged 64-bit node represents its low word (0) or high word (1). The tag is this number, or since 0.14 a tuple of the
// number and a dtype. Returns nullopt for other tags.
std::optional<int64_t> tagged_word(UOp u) {
  const Arg tag = u.tag();
  const Arg word = tag.is_tuple() && tag.items().size() == 2 ? tag[0] : tag;
  if (!word.is_int() || !word.as_int().is_small() || word.as_int().small_value() < 0 || word.as_int().small_value() > 1)
    return {};
  return word.as_int().small_value();
}

void extract_tagged_word(Importer& im, UOp u, Value& value) {
  const bool is_unsigned = value.dtype == dtypes::uint64;
  if (value.view || value.is_weak || !(is_unsigned || value.dtype == dtypes::int64)) return;
  const auto word = tagged_word(u);
  if (!word) return;
  if (std::ranges::any_of(value.elements, [](const ValueElement& e) { return bool(e.buffer); }))
    throw Refusal{"it stands for the address of a word"};
  const DType dtype = is_unsigned ? dtypes::uint32 : dtypes::int32;
  for (ValueElement& e : value.elements)
    e.node = (*word ? e.node.alu(Op::SHR, im.new_graph.constant(value.dtype, 32)) : e.node).cast(dtype);
  value.dtype = dtype;
}
}  // namespace

void Importer::import(UOp u) {
  if (has_value(u)) return;
  const OpUpgrade* row = find_upgrade(u);
  if (!row) throw Refusal{u.is(Op::OTHER) ? unknown_op_reason(u) : "no upgrade is known for it"};
  if (!row->make) throw Refusal{std::string(row->refusal_reason)};
  check_sources(u);
  throw_if_late();
  const size_t first = new_graph.size();
  Value value = row->make(*this, u);
  extract_tagged_word(*this, u, value);
  check_made_nodes(first);
  num_elements_ += int64_t(value.elements.size());
  if (num_elements_ > kMaxAllElements) throw Refusal{"the values of the graph have too many elements"};
  if (u.id() >= made_values_.size()) made_values_.resize(u.graph().size());
  made_values_[u.id()] = {std::move(value), true};
  origins->record_origin(new_graph, known_ops.original(u));
}

// Throws Refusal if an imported node is malformed, because other code reads sources, args and dtypes without checks, or
// if it has a dtype that tgc lacks.
void Importer::check_made_nodes(size_t first) const {
  for (size_t id = first; id < new_graph.size(); id++) {
    UOp made = new_graph.at(uint32_t(id));
    if (made.dtype().scalar_kind() == Scalar::Other) throw Refusal{"tgc has no " + std::string(made.dtype().repr())};
    if (!has_structure(made.op(), made.src(), made.arg()))
      throw Refusal{"the imported node is not well formed: " + structure_error(made.op(), made.src(), made.arg())};
  }
}

ElementType Importer::type_of(DType original) {
  const DType scalar = original.is_value() ? original.scalar() : original;
  if (scalar == weakint() || scalar == dtypes::index) return {dtypes::index, true};
  if (scalar == weakfloat()) return {dtypes::float32, true};
  if (scalar.scalar_kind() == Scalar::Other) throw Refusal{"tgc has no " + std::string(scalar.repr())};
  return {scalar};
}

ElementType Importer::joined_type(UOpSpan sources) const {
  std::vector<DType> floats, ints;
  bool has_weakint = false, has_weakfloat = false;
  for (UOp s : sources) {
    const Value& v = (*this)[s];
    if (v.is_invalid()) continue;
    if (v.is_weak) (v.dtype == dtypes::index ? has_weakint : has_weakfloat) = true;
    else if (dtypes::is_float(v.dtype)) floats.push_back(v.dtype);
    else if (dtypes::is_int(v.dtype)) ints.push_back(v.dtype);
  }
  if (!floats.empty()) return {least_upper_dtype(floats)};
  if (has_weakfloat) return {dtypes::float32, true};
  if (!ints.empty()) return {least_upper_dtype(ints)};
  if (has_weakint) return {dtypes::index, true};
  return {dtypes::bool_};
}

UOp Importer::literal(DType dtype, Const value) {
  if (!dtypes::is_float(dtype)) return new_graph.constant(dtype, value);
  const Const rounded = truncate(dtypes::as_const(value, dtype), dtype);
  if (rounded.as_float() != 0 || !std::signbit(rounded.as_float())) return new_graph.constant(dtype, rounded);
  // the constants 0.0 and -0.0 are one node in tgc's IR
  const DType bits = dtype.itemsize() == 1   ? dtypes::uint8
                     : dtype.itemsize() == 2 ? dtypes::uint16
                     : dtype.itemsize() == 4 ? dtypes::uint32
                                             : dtypes::uint64;
  return new_graph.constant(bits, Int::pow2(uint32_t(dtype.bitsize() - 1))).bitcast(dtype);
}

UOp Importer::literal(DType dtype, Arg value) {
  if (value.is_const()) return literal(dtype, value.to_const());
  if (is_const_float(value)) return literal(dtype, Const(-0.0));
  throw Refusal{"its value " + value.repr() + " is no number"};
}

UOp Importer::convert_node(UOp node, DType dtype, bool is_weak) {
  return is_weak && node.is_const() ? literal(dtype, node.arg().to_const()) : node.cast(dtype);
}

UOp Importer::index_node(const ValueElement& place, DType dtype) {
  if (!place.valid) return new_graph.node(Op::INDEX, dtype, {place.buffer, place.node});
  if (!(place.node.dtype() == dtypes::index))
    return new_graph.node(Op::INDEX, dtype, {place.buffer, place.node, place.valid});
  return new_graph.node(Op::INDEX, dtype, {place.buffer, place.node.valid(place.valid)});
}
UOp Importer::index_value(const ValueElement& place) { return index_node(place, place.buffer.dtype().base()); }
UOp Importer::pointer(const ValueElement& place) { return index_node(place, place.buffer.dtype()); }

CheckedList<ValueElement> Importer::elements_of_source(UOp source) {
  const Value& v = (*this)[source];
  if (!v.view) return v.elements;
  const Sizes& shape = v.view->shape();
  if (product(shape) > kMaxElements) throw Refusal{"it uses a whole buffer as a value"};
  CheckedList<ValueElement> out;
  for (int64_t i = 0; i < product(shape); i++) {
    CheckedList<UOp> at;
    for (int64_t index : unravel(i, shape)) at.push_back(new_graph.constant(dtypes::index, index));
    out.push_back({.node = v.view->index(at), .buffer = v.view->buffer});
  }
  return out;
}

Value Importer::number_value(UOp source, DType dtype) {
  const Value& v = (*this)[source];
  if (v.dtype == dtypes::void_) throw Refusal{"its source has no value"};
  // do not round to float32 in between: cast the number that was cast to weakfloat directly to `dtype`
  if (v.is_weak && v.dtype == dtypes::float32 && source.is(Op::CAST) && !(dtype == dtypes::float32)) {
    Value number = number_value(source.src(0), dtype);
    number.is_weak = true;
    return number;
  }
  // tinygrad computes a weakfloat expression in float32, but in a wider dtype if its user has one
  if (v.is_weak && v.dtype == dtypes::float32 && dtype == dtypes::float64 && source.in(ops::ALU)) {
    if (numbers_depth_ > kMaxDepth) throw Refusal{"its weakfloat operands are nested too deep"};
    const DepthGuard level(numbers_depth_);
    return import_elementwise(*this, source, {dtypes::float64});
  }
  Value out{.elements = elements_of_source(source),
            .shape = v.view ? v.view->shape() : v.shape,
            .dtype = dtype,
            .is_weak = v.is_weak};
  for (ValueElement& e : out.elements) {
    if (e.buffer) e = {is_false(e.valid) ? literal(v.dtype, Const(0)) : index_value(e)};
    e.node = convert_node(e.node, dtype, v.is_weak);
  }
  return out;
}

UOp Importer::scalar(UOp source, DType dtype) {
  Value v = number_value(source, dtype);
  if (v.elements.size() != 1) throw Refusal{"its source is a vector"};
  const ValueElement& e = v.elements[0];
  return e.valid ? e.valid.where(e.node, literal(dtype, Const(0))) : e.node;
}

Sizes Importer::constant_ints(UOp source) {
  Sizes out;
  const Value& v = (*this)[source];
  for (const ValueElement& e : v.elements) {
    Const most = e.buffer ? Const() : e.node.vmax();
    if (!most.is_integral() || !most.as_int().is_small()) throw Refusal{"its size is no number"};
    if (most.as_int().small_value() < 0 || most.as_int().small_value() > INT32_MAX)
      throw Refusal{"its size is out of range"};
    out.push_back(most.as_int().small_value());
  }
  return out;
}

int64_t Importer::size(UOp source) {
  const Sizes sizes = constant_ints(source);
  if (sizes.size() != 1) throw Refusal{"its size is no number"};
  return sizes[0];
}

namespace {

class GraphImporter {
 public:
  explicit GraphImporter(const Settings& settings) : importer_(settings) {}

  ImportedGraph graph(UOp root) {
    root = importer_.known_ops.replace_nodes(root);
    const std::vector<UOp> nodes = toposort(root);
    if (has_views(nodes)) return finish({.root = import_views(importer_, root, current_node)});
    importer_.find_accumulators(nodes);
    for (UOp u : nodes) import(u);
    if (importer_[root].elements.size() != 1) throw Refusal{"it is no kernel"};
    return finish({.root = importer_[root].elements[0].node});
  }

  // The imported list has each node after the new nodes that it needs. IFs that differ only in the gated address become
  // one node, which is in the list once for each recorded IF. The same holds for their ENDIFs.
  ImportedGraph list(std::span<const UOp> recorded) {
    importer_.is_list = true;
    std::vector<UOp> nodes;
    for (UOp u : recorded) nodes.push_back(importer_.known_ops.replace_nodes(u));
    UOpSet listed(importer_.new_graph);
    ImportedGraph out;
    auto push = [&](UOp node) {
      for (UOp n : toposort(node, [&](UOp s) { return s == node || !listed.contains(s); }))
        if (listed.insert(n) || (n == node && n.in({Op::IF, Op::ENDIF}))) out.list.push_back(n);
    };
    for (UOp u : nodes) {
      for (UOp s : toposort(u, [&](UOp n) { return !importer_.has_value(n); })) import(s);
      const Value& value = importer_[u];
      // add addresses here, because their first use may be inside of a range and another use after its end
      if (value.view) push(value.view->buffer);
      for (const ValueElement& e : value.elements)
        if (!is_false(e.valid)) push(e.buffer ? importer_.pointer(e) : e.node);
      importer_.origins->record_origin(importer_.new_graph, importer_.known_ops.original(u));
    }
    if (out.list.empty()) throw Failure("the list has no nodes");
    out.root = out.list.back();
    return finish(std::move(out));
  }

  UOp original() const { return importer_.known_ops.original(current_node); }
  UOp current_node;  // the node that is being imported; KnownOps may have made it

 private:
  void import(UOp u) {
    current_node = u;
    importer_.import(u);
  }
  ImportedGraph finish(ImportedGraph out) {
    out.graph = importer_.graph;
    out.origins = importer_.origins;
    auto wrong = out.list.empty() ? first_malformed_below(out.root) : first_malformed_node(out.list);
    if (!wrong) return out;
    if (UOp origin = out.origins->original_of_node(wrong->node)) current_node = origin;
    throw Refusal{"the imported node is not well formed: " + wrong->message};
  }
  Importer importer_;
};

}  // namespace
}  // namespace tgc::import

namespace tgc {

std::span<const UOp> list_of_program(UOp root) {
  if (!root.is(Op::PROGRAM)) return {};
  auto linear = std::ranges::find_if(root.src(), [](UOp s) { return s.is(Op::LINEAR); });
  return linear == root.src().end() ? std::span<const UOp>() : linear->src();
}

Result<ImportedGraph> import_graph(UOp root, std::span<const UOp> list, const Settings& settings,
                                   NonImportableNode* why) {
  if (root.is(Op::PROGRAM) && list.empty() && root.num_src()) {
    list = list_of_program(root);
    root = root.src(0);
  }
  import::GraphImporter walk(settings);
  NonImportableNode details;
  auto refuse = [&](std::string reason) -> Diag {
    const UOp at = walk.original();
    details = {at, std::string(printed_op_name(at)), std::move(reason)};
    if (why) *why = details;
    return Diag{.message = details.text()};
  };
  return catch_failures([&]() -> ImportedGraph {
    try {
      return list.empty() ? walk.graph(root) : walk.list(list);
    } catch (const import::Refusal& refusal) {
      throw Failure(refuse(refusal.reason));
    } catch (const Failure& failure) {
      if (!walk.current_node) throw;
      throw Failure(refuse(failure.diag().text()));
    }
  });
}

}  // namespace tgc
