#include "renderers/cstyle/cstyle.h"

#include <algorithm>
#include <cmath>

#include "lib/support/pytext.h"
#include "lib/text/repr.h"
#include "lib/uop/graph.h"

namespace tgc {

namespace {

bool is_vector_cast(UOp u) { return u.dtype().count() > 1 && !u.dtype().is_ptr(); }

bool print_cast_const(CStyleRenderer& c, UOp u, std::string_view value) {
  c.output += '(';
  c.append_cast(u.dtype(), value);
  c.output += ')';
  return true;
}

bool print_number(CStyleRenderer& c, const Const& v, std::string_view suffix) {
  std::string text;
  v.append_str(text);
  c.output.append(text).append(suffix);
  return true;
}

bool print_const(CStyleRenderer& c, UOp u) {
  const CDialect& d = c.c_dialect();
  Const v = u.arg().to_const();
  if (v.is_float() && std::isinf(v.as_float()))
    return print_cast_const(c, u, (v.as_float() < 0 ? "-" : "") + std::string(d.infinity));
  if (dtypes::floats.contains(u.dtype()) && v.is_float() && std::isnan(v.as_float()))
    return print_cast_const(c, u, d.nan);
  switch (u.dtype().scalar_kind()) {
    case Scalar::Float32: return print_number(c, v, "f");
    case Scalar::Int64: return print_number(c, v, "ll");
    case Scalar::UInt64: return print_number(c, truncate(v, dtypes::uint64), "ull");
    case Scalar::UInt32: return print_number(c, truncate(v, dtypes::uint32), "u");
    case Scalar::Bool: c.output += v.truthy() ? '1' : '0'; return true;
    case Scalar::FP8E4M3:  // a type without literals: print a literal of a larger type and a cast
    case Scalar::FP8E5M2:
    case Scalar::BFloat16:
    case Scalar::Float16: return print_cast_const(c, u, v.str() + "f");
    case Scalar::UInt8:
    case Scalar::UInt16: return print_cast_const(c, u, v.str() + "u");
    case Scalar::Int8:
    case Scalar::Int16: return print_cast_const(c, u, v.str());
    default: return print_number(c, v, "");
  }
}

bool print_vectorize(CStyleRenderer& c, UOp u) {
  const CDialect& d = c.c_dialect();
  size_t at = d.vector_constructor.find("float4");
  if (at == d.vector_constructor.npos) c.throw_cannot_render(u, "the language has no vectors");
  c.output += d.vector_constructor.substr(0, at);
  c.append_type(u.dtype());
  c.output += d.vector_constructor.substr(at + 6);
  c.output += d.vector_open;
  for (size_t i = 0; i < u.num_src(); i++) {
    if (i) c.output += ',';
    c.append_source(u, int(i));
  }
  c.output += d.vector_close;
  return true;
}

bool print_gep(CStyleRenderer& c, UOp u) {
  int64_t i = u.arg()[0].small_int();
  c.append_source(u, 0);
  if (u.src(0).dtype().count() > c.c_dialect().largest_named_vector) {
    c.output += '[' + std::to_string(i) + ']';
  } else {
    constexpr std::string_view kNames = "xyzwabcd";
    if (i < 0 || size_t(i) >= kNames.size())
      c.throw_cannot_render(u, "element " + std::to_string(i) + " of a vector has no name");
    c.output += '.', c.output += kNames[size_t(i)];
  }
  return true;
}

bool print_cast(CStyleRenderer& c, UOp u) {
  c.output += '(';
  c.append_cast(u.dtype(), c.text(u, 0));
  c.output += ')';
  return true;
}

bool print_special(CStyleRenderer& c, UOp u) {
  const CDialect& d = c.c_dialect();
  std::string_view name = u.arg().text();
  std::string_view id = name[0] == 'g'   ? d.global_id
                        : name[0] == 'l' ? d.local_id
                        : name[0] == 'i' ? d.global_thread_id
                                         : "";
  if (id.empty()) c.throw_cannot_render(u, "the language has no index '" + std::string(name) + "'");
  for (size_t i = 0; i < id.size(); i++) {
    if (id[i] != '$') c.output += id[i];
    else if (id[++i] == 'd') c.output += name.back();
    else c.output += char('x' + (name.back() - '0'));
  }
  c.output += "; /* " + render(u.src(0), true, repr) + " */";
  return true;
}

bool print_custom(CStyleRenderer& c, UOp u) {
  std::vector<std::string_view> sources;
  for (UOp s : u.src()) sources.push_back(c.text(s));
  c.note_input_text(u.arg().text());
  c.output += format_like_python(u.arg().text(), sources);
  return true;
}

}  // namespace

std::span<const CTextRow> c_rows() {
  // Placeholders: $t: type of the node; $t0: type of source 0. $e: type that a pointer points to. $z: number of
  // elements of the buffer. $s0: source 0, without its parentheses if it has the node's op. $g: gate (condition) of a
  // load. $w: name of a tensor core. $B: the dialect's barrier. $L: the dialect's prefix of a local buffer.
  static const CTextRow rows[] = {
      {Op::DEFINE_REG, "$e $n[$z];"},
      {Op::DEFINE_LOCAL, "$L$e $n[$z];"},
      {Op::IF, "if ($0) {"},
      {{Op::ENDIF, Op::END}, "}"},
      {Op::RANGE, "for ($t $n = 0; $n < $0; $n++) {"},
      {Op::BARRIER, "$B"},
      {Op::SPECIAL, print_special},
      {Op::WMMA, "__$w($0, $1, $2)"},
      {Op::CONST, print_const},
      {Op::VECTORIZE, print_vectorize},
      {Op::GEP, print_gep},
      {Op::CAST, is_vector_cast, "__builtin_convertvector($0, $t)"},
      {Op::CAST, print_cast},
      {Op::BITCAST, "__builtin_bit_cast($t, ($t0)($0))"},
      {Op::INDEX, "($0+$1)"},
      {Op::LOAD, is_gated_load, "($g?*$0:$1)"},
      {Op::LOAD, "(*$0)"},
      {Op::STORE, "*$0 = $1;"},
      {Op::SQRT, "sqrt($0)"},
      {Op::RECIPROCAL, "(1/$0)"},
      {Op::NEG, "-$0"},
      {Op::EXP2, "exp2($0)"},
      {Op::LOG2, "log2($0)"},
      {Op::SIN, "sin($0)"},
      {Op::TRUNC, "trunc($0)"},
      {Op::ADD, "($s0+$s1)"},
      {Op::SUB, "($0-$1)"},
      {Op::MUL, "($s0*$s1)"},
      {Op::MOD, "($0%$1)"},
      {Op::IDIV, "($0/$1)"},
      {Op::AND, "($s0&$s1)"},
      {Op::OR, "($s0|$s1)"},
      {Op::XOR, "($s0^$s1)"},
      {Op::SHL, "($0<<$1)"},
      {Op::SHR, "($0>>$1)"},
      {Op::CMPLT, "($0<$1)"},
      {Op::CMPNE, "($0!=$1)"},
      {Op::CMPEQ, "($0==$1)"},
      {Op::WHERE, "($0?$1:$2)"},
      {{Op::CUSTOM, Op::CUSTOMI}, print_custom},
  };
  return rows;
}

CStyleRenderer::CStyleRenderer(const Target& target, const CDialect& c_dialect, std::span<const UOp> list,
                               bool expand_ssa, std::vector<std::string>* added)
    : TextRenderer(target, list, added), c_dialect_(c_dialect), should_expand_ssa_(expand_ssa) {
  body_text.reserve(64 * list.size());
  for (int i = 0; i < kNumScalars; i++) scalar_names_[size_t(i)] = dtypes::of(Scalar(i)).name();
  for (auto [scalar, name] : c_dialect.type_names) scalar_names_[size_t(scalar)] = name;
}

std::string_view CStyleRenderer::dialect_type_name(DType d) {
  if (d.is_value() && d.count() == 1)
    for (auto [scalar, name] : c_dialect_.type_names)
      if (scalar == d.scalar_kind()) return name;
  throw Failure("the " + target().name() + " renderer has no type for " + std::string(d.repr()));
}

void CStyleRenderer::print_rare_placeholder(char letter, int number, UOp u) {
  switch (letter) {
    case 't': return append_type(number < 0 ? u.dtype() : u.src(size_t(number)).dtype());
    case 'e': return append_type(u.dtype().base());
    case 'z': output += std::to_string(u.dtype().size()); return;
    case 'g': output += text(index_of_load(u).src(2)); return;
    case 'w': note_input_text(u.arg()[0].text()), output += u.arg()[0].text(); return;
    case 'B': output += c_dialect_.barrier; return;
    case 'L': output.append(c_dialect_.local_align).append(c_dialect_.local_prefix); return;
    default: throw_cannot_render(u, "its row has the unknown hole $" + std::string(1, letter));
  }
}

void CStyleRenderer::append_type(DType d, bool written) {
  if (c_dialect_.print_type) return c_dialect_.print_type(*this, d);
  if (d.is_image()) {
    output += written ? "write_only image2d_t" : "read_only image2d_t";
  } else if (d.is_ptr()) {
    if (d.addrspace() == AddrSpace::LOCAL && c_dialect_.has_local_prefix_in_casts) output += c_dialect_.local_prefix;
    if (d.addrspace() == AddrSpace::GLOBAL) output += c_dialect_.buffer_prefix;
    append_type(d.base());
    output += '*';
  } else {
    if (d.scalar() == dtypes::index)
      throw Failure("the " + target().name() + " renderer has no type for " + std::string(d.repr()));
    std::string_view name = scalar_names_[size_t(d.scalar_kind())];
    if (d.count() == 1) {
      output += name;
      return;
    }
    for (char ch : name) output += ch == ' ' ? '_' : ch;
    output += std::to_string(d.count());
  }
}

void CStyleRenderer::append_cast(DType d, std::string_view value) {
  if (c_dialect_.print_cast) return c_dialect_.print_cast(*this, d, value);
  output += '(';
  append_type(d);
  output.append(")(").append(value) += ')';
}

std::string CStyleRenderer::render() {
  std::string function_name = "test";
  for (UOp u : list()) {
    begin_node(u);
    if (u.in({Op::DEFINE_GLOBAL, Op::DEFINE_VAR})) add_parameter(u);
    else if (!accept_unprinted_node(u, function_name)) print_node(u);
    end_node(body_text);
  }
  return c_dialect_.assemble_source ? c_dialect_.assemble_source(*this, function_name) : assemble_c(function_name);
}

void CStyleRenderer::add_parameter(UOp u) {
  if (u.is(Op::DEFINE_VAR)) {
    note_input_text(u.arg()[0].text());
    set_text(u, u.arg()[0].text());
  } else {
    output.append("data").append(u.arg().str());
    if (u.dtype().size() > 0) output.append("_").append(std::to_string(u.dtype().size()));
    finish_text(u);
  }
  kernel_parameters_.push_back({u, text(u), u.dtype(), false});
  has_images_ |= u.dtype().is_image();
}

// Marks as written every buffer on which the address of `store` depends. Only the types of images need this.
void CStyleRenderer::mark_written_buffers(UOp store) {
  if (!has_images_) return;
  for (UOp u : toposort(store.src(0)))
    for (KernelParameter& p : kernel_parameters_) p.is_written |= p.node == u && u.is(Op::DEFINE_GLOBAL);
}

bool CStyleRenderer::is_printed_inline(UOp u) {
  constexpr OpSet kOnce = (ops::ALU - OpSet{Op::WHERE}) | OpSet{Op::VECTORIZE, Op::CAST, Op::BITCAST};
  switch (u.op()) {
    case Op::CONST:
    case Op::GEP:
    case Op::INDEX:
    case Op::CUSTOMI: return true;
    case Op::LOAD:
      if (!u.src(0).dtype().is_ptr()) throw_cannot_render(u, "its address is not a pointer");
      return u.src(0).dtype().addrspace() == AddrSpace::REG;
    case Op::CAST:
      if (u.dtype().vcount() != 1) return false;
      if (u.dtype().is_ptr()) return true;
      [[fallthrough]];
    default: return u.in(kOnce) && num_uses(u) == 1 && !should_expand_ssa_;
  }
}

void CStyleRenderer::set_node_name(UOp u) {
  static constexpr std::string_view kPrefixes[] = {"alu", "wmma", "temp", "const", "cast", "gep", "bidx", "acc", "val"};
  auto prefix_of = [](Op op) {
    switch (op) {
      case Op::WMMA: return 1;
      case Op::DEFINE_LOCAL: return 2;
      case Op::CONST: return 3;
      case Op::CAST:
      case Op::BITCAST:
      case Op::VECTORIZE: return 4;
      case Op::GEP: return 5;
      case Op::INDEX: return 6;
      case Op::DEFINE_REG: return 7;
      case Op::LOAD: return 8;
      default: return 0;
    }
  };
  name_prefix_ = {};
  if (u.is(Op::SPECIAL)) {
    note_input_text(u.arg().text());
    output += u.arg().text();
  } else if (u.is(Op::RANGE)) {
    output += axis_letter(u.arg().items().back().axis_type());
    output.append("idx").append(range_str(u));
  } else {
    prefix_index_ = size_t(prefix_of(u.op()));
    name_prefix_ = kPrefixes[prefix_index_];
    output += name_prefix_;
    output.append_number(name_counters_[prefix_index_]);
  }
  node_text_ = finish_text(u);
}

void CStyleRenderer::print_node(UOp u) {
  if (is_printed_inline(u)) {
    if (!c_dialect_.text_table->print_row(*this, u)) throw_cannot_render(u);
    finish_text(u);
    return;
  }
  if (u.is(Op::STORE)) mark_written_buffers(u);
  set_node_name(u);
  if (u.in({Op::ENDIF, Op::END})) indent_depth_--;
  bool variable = !u.in({Op::RANGE, Op::DEFINE_LOCAL, Op::STORE, Op::DEFINE_REG}) && u.dtype() != dtypes::void_;
  if (!body_text.empty()) output += '\n';
  // indent_depth_ may be negative, because a malformed list may have more ENDs than loops
  output.append(size_t(2 * std::max(indent_depth_, 0)), ' ');
  if (variable) {
    append_type(u.dtype());
    output += ' ';
    output.append_chunks(node_text_);
    output += " = ";
  }
  if (!c_dialect_.text_table->print_row(*this, u)) throw_cannot_render(u);
  if (variable && !u.is(Op::SPECIAL)) output += ';';
  body_text += output.view();
  output.drop_text();
  if (!name_prefix_.empty()) name_counters_[prefix_index_]++;
  if (u.in({Op::IF, Op::RANGE})) indent_depth_++;
}

std::string CStyleRenderer::assemble_c(std::string_view function_name) {
  std::string result;
  if (c_dialect_.print_prologue) c_dialect_.print_prologue(*this, result);
  for (std::string_view rest = c_dialect_.function_prefix; !rest.empty();) {
    size_t hole = rest.find("{}");
    result += rest.substr(0, hole);
    if (hole == rest.npos) break;
    result += launch_bounds_of(list()).str();
    rest.remove_prefix(hole + 2);
  }
  result.append(" ").append(function_name) += '(';
  bool first = true, images = false;
  for (const KernelParameter& p : kernel_parameters_) {
    if (!std::exchange(first, false)) result += ", ";
    images |= p.dtype.is_image();
    // like tinygrad, print "None" as the type of a variable that is not an int
    if (p.dtype.is_ptr()) append_type(p.dtype, p.is_written), output += c_dialect_.buffer_suffix;
    else output += p.dtype == dtypes::int32 ? c_dialect_.int_parameter_type : "None";
    result.append(output.view()).append(" ").append(p.name);
    output.drop_text();
  }
  if (!c_dialect_.extra_parameters.empty()) result.append(first ? "" : ", ").append(c_dialect_.extra_parameters);
  result += ") {\n";
  if (images) result += "const sampler_t smp = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n";
  result.append(body_text).append("\n}").append(c_dialect_.function_suffix);
  return result;
}

std::string element_name(int i) {
  constexpr std::string_view kNames = "xyzwabcdefghijkl";
  return size_t(i) < kNames.size() ? std::string(1, kNames[size_t(i)]) : "v" + std::to_string(i);
}

std::string element_names_text(int count, std::string_view before) {
  std::string out;
  for (int i = 0; i < std::min(count, 32); i++) out.append(i ? ", " : "").append(before).append(element_name(i));
  return out;
}

std::string render_c(const Target& target, const CDialect& c_dialect, std::span<const UOp> list,
                     std::vector<std::string>* added) {
  bool expand_ssa = !list.empty() && list.front().graph().settings().EXPAND_SSA;
  return CStyleRenderer(target, c_dialect, list, expand_ssa, added).render();
}

}  // namespace tgc
