#include "lib/text/open_args.h"

#include <cmath>

#include "lib/text/repr.h"

namespace tgc {

void append_open_repr(std::string& out, Arg a) {
  const bool is_record = a.kind() == Arg::Kind::Record;
  if (a.is_uop()) out += repr(a.uop());
  if (a.is_uop()) return;
  if (!is_record && !a.is_tuple()) return a.append_repr(out);
  if (is_record) out += RecordView(a).name();
  auto items = is_record ? RecordView(a).values() : a.items();
  out += '(';
  for (size_t i = 0; i < items.size(); i++) {
    if (i) out += ", ";
    if (is_record && !RecordView(a).field(i).empty()) out.append(RecordView(a).field(i)) += '=';
    append_open_repr(out, items[i]);
  }
  out += !is_record && items.size() == 1 ? ",)" : ")";
}

std::string open_arg_str(UOp u) {
  Arg a = shown_arg(u);
  if (a.is_str()) return std::string(a.text());
  std::string out;
  append_open_repr(out, a);
  return out;
}

bool is_const_float(Arg a) { return a.is_float() || (a.kind() == Arg::Kind::Raw && a.text() == kNegativeZero); }

Arg const_float(Graph& graph, Arg a) {
  const bool negative_zero = a.is_float() && a.to_const().as_float() == 0 && std::signbit(a.to_const().as_float());
  return negative_zero ? graph.raw(kNegativeZero) : a;
}

DType weakint() {
  static const DType d = dtypes::open("weakint");
  return d;
}
DType weakfloat() {
  static const DType d = dtypes::open("weakfloat");
  return d;
}

bool is_float_of_any_release(DType d) {
  if (d.scalar_kind() != Scalar::Other) return dtypes::is_float(d);
  return d.scalar().repr().find("float") != std::string_view::npos || d.scalar().repr().starts_with("dtypes.fp");
}

std::string own_arg_text(UOp u) { return u.graph().is_foreign() ? open_arg_str(u) : u.arg().repr(); }

}  // namespace tgc
