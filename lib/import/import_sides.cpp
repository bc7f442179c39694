#include "lib/import/import_sides.h"

#include <algorithm>

#include "lib/import/importer.h"

namespace tgc {
namespace {

using import::Element;
using import::Importer;
using import::Refusal;
using import::Value;

// Returns the dtype in which values of the dtypes `a` and `b` are compared; void: they cannot be compared. A weak value
// has no width yet, so it is compared in the other value's dtype; but two signed integers are compared without a width,
// because committing a weak integer to a dtype that cannot hold it is a fault.
DType common_dtype(const Value& a, const Value& b) {
  if (a.dtype == b.dtype) return a.dtype;
  if (!a.weak && !b.weak) return dtypes::void_;
  const Value& weak = a.weak ? a : b;
  const Value& other = a.weak ? b : a;
  if (!other.weak && dtypes::is_int(weak.dtype) && dtypes::is_int(other.dtype) && !dtypes::is_unsigned(other.dtype))
    return dtypes::index;
  return weak.weak && other.weak ? dtypes::float32 : other.dtype;
}

// Returns the scalars of `u` as numbers of `dtype`. An element that may be invalid becomes an Invalid if it is.
std::vector<UOp> scalars_of(Importer& im, UOp u, DType dtype) {
  const Value& own = im[u];
  const Value numbers = im.numbers(u, own.weak ? dtype : own.dtype);
  std::vector<UOp> out;
  for (const Element& e : numbers.elements) {
    UOp node = e.node.dtype() == dtype ? e.node : e.node.cast(dtype);
    out.push_back(e.valid ? e.valid.where(node, im.to.constant(dtype, Const::invalid())) : node);
  }
  return out;
}

}  // namespace

SidesImporter::SidesImporter(const Settings& settings) : importer_(std::make_unique<Importer>(settings)) {}
SidesImporter::~SidesImporter() = default;
Graph& SidesImporter::graph() const { return importer_->to; }

void SidesImporter::import_below(UOp u) {
  refused_.resize(u.graph().size());
  for (UOp s : toposort(u, [&](UOp n) { return !importer_->has(n); })) {
    if (importer_->has(s)) continue;
    const bool has_refused = std::ranges::any_of(s.src(), [&](UOp x) { return refused_[x.id()]; });
    try {
      if (has_refused || refused_[s.id()]) throw Refusal{"a node below it cannot be imported"};
      importer_->import(s);
    } catch (...) {
      refused_[s.id()] = true;
      throw;
    }
  }
}

Result<std::vector<std::pair<UOp, UOp>>> SidesImporter::import(UOp before, UOp after) {
  return catch_failures([&] {
    std::vector<std::pair<UOp, UOp>> out;
    try {
      import_below(before), import_below(after);
      Importer& im = *importer_;
      const Value &a = im[before], &b = im[after];
      if (a.dtype == dtypes::void_ || b.dtype == dtypes::void_) {
        if (a.dtype == b.dtype && a.elements.size() == 1 && b.elements.size() == 1)
          out.emplace_back(a.elements[0].node, b.elements[0].node);
        return out;
      }
      const DType dtype = common_dtype(a, b);
      if (dtype == dtypes::void_) return out;
      const std::vector<UOp> left = scalars_of(im, before, dtype), right = scalars_of(im, after, dtype);
      if (left.size() != right.size()) return out;
      for (size_t i = 0; i < left.size(); i++) out.emplace_back(left[i], right[i]);
      return out;
    } catch (const Refusal& refusal) {
      throw Failure(refusal.reason);
    }
  });
}

}  // namespace tgc
