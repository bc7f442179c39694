#include "renderers/names.h"

#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/support/visible.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

[[noreturn]] void throw_unsafe_name(UOp u, const std::string& found, std::string_view expected) {
  throw Failure(Diag{.message = "the name of Ops." + std::string(name_of(u.op())) + " would be code: " + found,
                     .expected = std::string(expected),
                     .context = visible_text(describe(u, 1))});
}

void check_identifier(UOp u, Arg name) {
  if (!name.is_str() || !is_identifier(name.text()))
    throw_unsafe_name(u, visible_text(name.repr()), "a C identifier: letters, digits and underscores, no digit first");
}

bool is_numeric(Arg a) {
  if (a.is_tuple()) return std::ranges::all_of(a.items(), is_numeric);
  return a.is_const() || a.kind() == Arg::Kind::AxisType || a.kind() == Arg::Kind::AddrSpace;
}
void check_number(UOp u, Arg arg) {
  if (!is_numeric(arg)) throw_unsafe_name(u, visible_text(arg.repr()), "a number");
}

Arg first_arg_item(UOp u) { return u.arg().is_tuple() && !u.arg().items().empty() ? u.arg()[0] : Arg(); }

void check_node_name(UOp u) {
  switch (u.op()) {
    case Op::DEFINE_VAR: return check_identifier(u, first_arg_item(u));
    case Op::WMMA: return check_identifier(u, first_arg_item(u));
    case Op::SPECIAL:
      check_identifier(u, u.arg());
      if (char axis = u.arg().text().back(); axis < '0' || axis > '2')
        throw_unsafe_name(u, visible_text(u.arg().repr()), "a name that ends in its axis, as gidx0, lidx1, idx2 do");
      if (!u.src(0).is_const())  // renderers print this expression in a comment
        for (UOp s : toposort(u.src(0))) check_node_name(s);
      return;
    case Op::CONST:
    case Op::VCONST:
    case Op::RANGE:
    case Op::GEP:
    case Op::DEFINE_GLOBAL:
    case Op::DEFINE_LOCAL:
    case Op::DEFINE_REG: return check_number(u, u.arg());
    default: return;
  }
}

constexpr OpSet kWithNames{Op::DEFINE_VAR, Op::WMMA, Op::SPECIAL,       Op::CONST,        Op::VCONST,
                           Op::RANGE,      Op::GEP,  Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG};

}  // namespace

bool is_identifier(std::string_view name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, is_word_char);
}

void check_names(std::span<const UOp> list) {
  for (UOp u : list)
    if (u.in(kWithNames)) check_node_name(u);
}

void check_function_name(std::string_view function_name, UOp sink) {
  if (!is_identifier(function_name))
    throw_unsafe_name(sink, visible_text(std::string(function_name)), "a C identifier");
}

}  // namespace tgc
