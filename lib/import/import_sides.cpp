#include "lib/import/import_sides.h"

#include <algorithm>
#include <cmath>

#include "lib/import/importer.h"
#include "lib/text/repr.h"

namespace tgc {
namespace {

using import::ValueElement;
using import::Importer;
using import::Refusal;
using import::Value;

// Returns void if the values cannot be compared. A weak value takes the other value's dtype, but a weak and a signed
// integer are compared as indices, which have no width: so a rewrite that gives a weak integer a dtype which cannot
// hold it is found. Two floats are compared in the wider dtype. A float that tinygrad emulates as an integer is
// compared by its bits.
DType common_dtype(const Value& a, const Value& b) {
  if (a.dtype == b.dtype) return a.dtype;
  if (!a.is_weak && !b.is_weak) {
    if (dtypes::is_float(a.dtype) && dtypes::is_float(b.dtype))
      return a.dtype.itemsize() < b.dtype.itemsize() ? b.dtype : a.dtype;
    if (a.dtype.itemsize() != b.dtype.itemsize() || dtypes::is_float(a.dtype) == dtypes::is_float(b.dtype))
      return dtypes::void_;
    const DType bits = dtypes::is_float(a.dtype) ? b.dtype : a.dtype;
    return dtypes::is_int(bits) ? bits : dtypes::void_;
  }
  const Value& weak = a.is_weak ? a : b;
  const Value& other = a.is_weak ? b : a;
  if (!other.is_weak && dtypes::is_int(weak.dtype) && dtypes::is_int(other.dtype) && !dtypes::is_unsigned(other.dtype))
    return dtypes::index;
  return weak.is_weak && other.is_weak ? dtypes::float32 : other.dtype;
}

double rounding_error(DType d) { return std::ldexp(0.5, -dtypes::finfo(d).mantissa_bits); }

// An element that may be Invalid becomes WHERE(condition, number, Invalid).
std::vector<UOp> scalars_of(Importer& im, UOp u, DType dtype) {
  const Value& own = im[u];
  const Value numbers = im.number_value(u, own.is_weak ? dtype : own.dtype);
  std::vector<UOp> out;
  for (const ValueElement& e : numbers.elements) {
    const bool is_bits = !own.is_weak && dtypes::is_float(own.dtype) && dtypes::is_int(dtype);
    UOp node = e.node.dtype() == dtype ? e.node : is_bits ? e.node.bitcast(dtype) : e.node.cast(dtype);
    out.push_back(e.valid ? e.valid.where(node, im.new_graph.constant(dtype, Const::invalid())) : node);
  }
  return out;
}

struct StoredNumber {
  UOp place, number;
};

// Returns empty nodes unless `original` stores one number. If tinygrad emulates the place's float dtype, the place has
// this dtype as its tag, and the stored number is a wider float: the result is then the number rounded to the tag's
// dtype.
StoredNumber stored_number(Importer& im, UOp original, UOp made) {
  const Arg tag = original.is(Op::STORE) ? original.src(0).tag() : Arg();
  if (tag.kind() == Arg::Kind::DType && is_float_of_any_release(tag.dtype())) {
    const Value value = im.number_value(original.src(1));
    const auto places = im.elements_of_source(original.src(0));
    if (value.elements.size() == 1 && dtypes::is_float(value.dtype) && places.size() == 1 && places[0].buffer)
      return {im.pointer(places[0]), value.elements[0].node.cast(Importer::type_of(tag.dtype()).dtype)};
  }
  return made.is(Op::STORE) ? StoredNumber{made.src(0), made.src(1)} : StoredNumber{};
}

// tinygrad stores the bits of a float dtype that it emulates. Pairs places and values if `a` stores a float, and `b` an
// integer of the same size, without a condition to the same buffer in global memory. Else returns no pairs.
std::vector<std::pair<UOp, UOp>> pairs_of_stores(const StoredNumber& a, UOp b) {
  if (!a.place || !a.place.is(Op::INDEX) || !b.is(Op::STORE) || !b.src(0).is(Op::INDEX)) return {};
  const UOp to_a = a.place.src(0), to_b = b.src(0).src(0), at_a = a.place.src(1), at_b = b.src(0).src(1);
  const DType of_a = a.number.dtype(), of_b = b.src(1).dtype();
  if (!to_a.is(Op::DEFINE_GLOBAL) || !to_b.is(Op::DEFINE_GLOBAL) || !(to_a.arg() == to_b.arg())) return {};
  if (at_a.is(Op::WHERE) || at_b.is(Op::WHERE) || !dtypes::is_float(of_a) || !dtypes::is_int(of_b) ||
      of_a.itemsize() != of_b.itemsize())
    return {};
  return {{at_a.cast(dtypes::int64), at_b.cast(dtypes::int64)}, {a.number, b.src(1).bitcast(of_a)}};
}

// Leaves out leading dimensions of size 1, which broadcasting adds anyway.
import::Sizes broadcast_shape(const import::Value& v) {
  const import::Sizes shape = v.view ? v.view->shape() : v.shape;
  return {std::ranges::find_if(shape, [](int64_t n) { return n != 1; }), shape.end()};
}

// tinygrad 0.13 makes a LOAD of each INDEX, and then rewrites a store to such a LOAD into a store to the place.
UOp store_to_place(UOp u) {
  if (!u.is(Op::STORE) || !u.src(0).is(Op::LOAD) || u.src(0).num_src() != 1) return u;
  std::vector<UOp> src(u.src().begin(), u.src().end());
  src[0] = src[0].src(0);
  return u.with_src(src);
}

}  // namespace

bool is_expanded_range(UOp u) {
  if (!u.is(Op::RANGE) || !u.arg().is_tuple() || u.arg().items().empty()) return false;
  const Arg axis = u.arg().items().back();
  return axis == Arg(AxisType::UPCAST) || axis == Arg(AxisType::UNROLL);
}

SidesImporter::SidesImporter(const Settings& settings) : importer_(std::make_unique<Importer>(settings)) {}
SidesImporter::~SidesImporter() = default;
Graph& SidesImporter::graph() const { return importer_->new_graph; }

void SidesImporter::import_nodes_below(UOp u) {
  is_refused_.resize(u.graph().size());
  for (UOp s : toposort(u, [&](UOp n) { return !importer_->has_value(n); })) {
    if (importer_->has_value(s)) continue;
    const bool has_refused = std::ranges::any_of(s.src(), [&](UOp x) { return is_refused_[x.id()]; });
    try {
      if (has_refused || is_refused_[s.id()]) throw Refusal{"a node below it cannot be imported"};
      importer_->import(s);
    } catch (const Refusal&) {
      is_refused_[s.id()] = true;
      throw;
    }
  }
}

Result<SidesImporter::ImportedSides> SidesImporter::import(UOp before, UOp after) {
  return catch_failures([&] {
    ImportedSides out;
    before = importer_->known_ops.replace_nodes(store_to_place(before)),
    after = importer_->known_ops.replace_nodes(after);
    try {
      import_nodes_below(before), import_nodes_below(after);
      Importer& im = *importer_;
      const Value &a = im[before], &b = im[after];
      if (a.dtype == dtypes::void_ || b.dtype == dtypes::void_) {
        if (!(a.dtype == b.dtype) || a.elements.size() != 1 || b.elements.size() != 1) return out;
        out.pairs = pairs_of_stores(stored_number(im, before, a.elements[0].node), b.elements[0].node);
        if (out.pairs.empty()) out.pairs.emplace_back(a.elements[0].node, b.elements[0].node);
        return out;
      }
      const DType dtype = common_dtype(a, b);
      if (dtype == dtypes::void_) return out;
      const std::vector<UOp> left = scalars_of(im, before, dtype);
      std::vector<UOp> right = scalars_of(im, after, dtype);
      if (is_expanded_range(before) && int64_t(right.size()) == im.size(before) + 1) {
        for (size_t i = 0; i < right.size(); i++)
          out.pairs.emplace_back(im.literal(dtype, Const(int64_t(i))), right[i]);
        return out;
      }
      if (right.size() == 1 && after.is(Op::CONST)) right.resize(left.size(), right[0]);  // a CONST fits any shape
      if (left.size() != right.size()) return out;
      if (left.size() > 1 && !after.is(Op::CONST) && broadcast_shape(a) != broadcast_shape(b)) return out;
      for (size_t i = 0; i < left.size(); i++) out.pairs.emplace_back(left[i], right[i]);
      if (!(a.dtype == b.dtype) && !a.is_weak && !b.is_weak && dtypes::is_float(a.dtype) && dtypes::is_float(b.dtype))
        out.tolerance = 1.01 * std::max(rounding_error(a.dtype), rounding_error(b.dtype));
      return out;
    } catch (const Refusal& refusal) {
      throw Failure(refusal.reason);
    }
  });
}

}  // namespace tgc
