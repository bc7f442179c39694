#include "renderers/ptx/ptx.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

std::string_view register_type(Scalar s) {
  switch (s) {
    case Scalar::Int8:
    case Scalar::Int16: return "s16";
    case Scalar::Int32: return "s32";
    case Scalar::Int64: return "s64";
    case Scalar::UInt8:
    case Scalar::UInt16: return "u16";
    case Scalar::UInt32: return "u32";
    case Scalar::UInt64: return "u64";
    case Scalar::Float16: return "f16";
    case Scalar::Float32: return "f32";
    case Scalar::Float64: return "f64";
    case Scalar::Bool: return "pred";
    default: return {};
  }
}
std::string_view cast_type(Scalar s) { return s == Scalar::Int8 ? "s8" : s == Scalar::UInt8 ? "u8" : register_type(s); }
std::string_view memory_type(Scalar s) {
  return s == Scalar::Bool ? "u8" : s == Scalar::Float16 ? "b16" : cast_type(s);
}

bool is_bool(UOp u) { return u.dtype() == dtypes::bool_; }
bool is_float(UOp u) { return dtypes::is_float(u.dtype()); }
bool is_int(UOp u) { return dtypes::is_int(u.dtype()); }
bool ends_range(UOp u) { return u.num_src() == 2 && u.src(1).is(Op::RANGE); }

bool print_const(PtxRenderer& p, UOp u) {
  std::string immediate_text = p.immediate_text(u, u.arg().to_const(), u.dtype());
  if (u.dtype().scalar() == dtypes::bool_) {
    p.output += "setp.ne.s16 ";
    p.append_name(u);
    p.output += ", " + immediate_text + ", 0;";
  } else {
    p.output.append("mov.b").append(p.register_type_name(u, u.dtype()).substr(1)).append(" ");
    p.append_name(u);
    p.output.append(", ").append(immediate_text) += ';';
  }
  return true;
}

bool print_special(PtxRenderer& p, UOp u) {
  std::string_view name = u.arg().text();
  p.output.append("mov.u32 %").append(name).append(", %").append(name[0] == 'g' ? "ctaid" : "tid").append(".");
  p.output += char('x' + (name.back() - '0'));
  p.output += ';';
  return true;
}

bool print_cast(PtxRenderer& p, UOp u) {
  DType to = u.dtype(), from = u.src(0).dtype();
  if (from.scalar() == dtypes::bool_) {
    p.output.append("selp.b").append(p.register_type_name(u, to).substr(1)).append(" ");
    p.append_name(u);
    p.output.append(", " + p.immediate_text(u, 1, to) + ", " + p.immediate_text(u, 0, to) + ", ")
        .append(p.text(u, 0)) += ';';
  } else if (to.scalar() == dtypes::bool_) {
    p.output.append("setp.ne.b").append(p.register_type_name(u, from).substr(1)).append(" ");
    p.append_name(u);
    p.output.append(", ").append(p.text(u, 0)).append(", " + p.immediate_text(u, 0, from) + ";");
  } else {
    bool rounds =
        dtypes::is_float(to) && (to.itemsize() < from.itemsize() || dtypes::is_int(from) || from == dtypes::bool_);
    std::string_view to_name = cast_type(to.scalar_kind()), from_name = cast_type(from.scalar_kind());
    if (to_name.empty() || from_name.empty() || to.count() > 1 || from.count() > 1)
      p.throw_cannot_render(u, "there is no conversion from " + std::string(from.repr()));
    p.output.append("cvt")
        .append(dtypes::is_int(to) && dtypes::is_float(from) ? ".rzi"
                : rounds                                     ? ".rn"
                                                             : "")
        .append(".");
    p.output.append(to_name).append(".").append(from_name).append(" ");
    p.append_name(u);
    p.output.append(", ").append(p.text(u, 0)) += ';';
  }
  return true;
}

bool print_if(PtxRenderer& p, UOp u) {
  std::string_view gate = p.text(u, 0);
  p.output.append("@!").append(gate).append(" bra IF_").append(gate.substr(1)).append("_")
      .append(std::to_string(p.position_of(u))) += ';';
  return true;
}
bool print_endif(PtxRenderer& p, UOp u) {
  UOp opened = u.src(0);
  p.output.append("IF_")
      .append(p.text(opened, 0).substr(1))
      .append("_")
      .append(std::to_string(p.position_of(opened))) += ':';
  return true;
}

std::span<const PtxTextRow> ptx_rows() {
  // Placeholders in templates, for the node or, with a digit, for a source: $t: register type. $w: number of bits of
  // the register type. $h: register type, but b16 for halves. $m: register without its %. Only for the node: $v: memory
  // type of a variable. $d: name of a parameter. $l: size of the loop that an END ends.
  static const PtxTextRow rows[] = {
      {Op::CONST, print_const},
      {Op::SPECIAL, print_special},
      {Op::DEFINE_GLOBAL, "ld.param.u64 $n, [$d+0];"},
      {Op::DEFINE_VAR, "ld.param.$v $n, [$d+0];"},
      {Op::CMPLT, "setp.lt.$t0 $n, $0, $1;"},
      {Op::CMPNE, "setp.ne.$t0 $n, $0, $1;"},
      {Op::CMPEQ, "setp.eq.$t0 $n, $0, $1;"},
      {Op::RECIPROCAL, is_float, "rcp.approx.$t $n, $0;"},
      {Op::RECIPROCAL, "rcp.$t $n, $0;"},
      {Op::EXP2, "ex2.approx.$t $n, $0;"},
      {Op::LOG2, "lg2.approx.$t $n, $0;"},
      {Op::SIN, "sin.approx.$t $n, $0;"},
      {Op::SQRT, "sqrt.approx.$t $n, $0;"},
      {Op::TRUNC, "cvt.rzi.$t.$t $n, $0;"},
      {Op::SHR, "shr.$t $n, $0, $1;"},
      {Op::SHL, "shl.b$w $n, $0, $1;"},
      {Op::ADD, is_bool, "or.$t $n, $0, $1;"},
      {Op::ADD, "add.$t $n, $0, $1;"},
      {Op::MUL, is_bool, "and.$t $n, $0, $1;"},
      {Op::MUL, is_int, "mul.lo.$t $n, $0, $1;"},
      {Op::MUL, "mul.$t $n, $0, $1;"},
      {Op::XOR, is_bool, "xor.pred $n, $0, $1;"},
      {Op::XOR, "xor.b$w $n, $0, $1;"},
      {Op::AND, is_bool, "and.pred $n, $0, $1;"},
      {Op::AND, "and.b$w $n, $0, $1;"},
      {Op::OR, is_bool, "or.pred $n, $0, $1;"},
      {Op::OR, "or.b$w $n, $0, $1;"},
      {Op::IDIV, "div.$t $n, $0, $1;"},
      {Op::MOD, "rem.$t $n, $0, $1;"},
      {Op::MAX, "max.$t $n, $0, $1;"},
      {Op::MULACC, is_float, "fma.rn.$t $n, $0, $1, $2;"},
      {Op::MULACC, "mad.lo.$t $n, $0, $1, $2;"},
      {Op::WHERE, is_bool, "@$0 mov.$t $n, $1;\n@!$0 mov.$t $n, $2;"},
      {Op::WHERE, "selp.$h $n, $1, $2, $0;"},
      {Op::BITCAST, "mov.b$w $n, $0;"},
      {Op::CAST, print_cast},
      {Op::RANGE, "mov.u32 $n, -1;\nbra END_$m;\nLOOP_$m:"},
      {Op::END, ends_range, "END_$m1:\nadd.s32 $1, $1, 1;\nsetp.lt.s32 $n, $1, $l;\n@$n bra LOOP_$m1;"},
      {Op::IF, print_if},
      {Op::ENDIF, print_endif},
      {Op::BARRIER, "bar.sync\t0;"},
  };
  return rows;
}

}  // namespace

std::string_view PtxRenderer::register_type_name(UOp u, DType d) const {
  std::string_view t = d.is_ptr() || d.count() > 1 ? std::string_view() : register_type(d.scalar_kind());
  if (t.empty()) throw_cannot_render(u, "there is no register type for " + std::string(d.repr()));
  return t;
}
std::string_view PtxRenderer::memory_type_name(UOp u, DType d) const {
  std::string_view t = memory_type(d.scalar_kind());
  if (t.empty()) throw_cannot_render(u, "there is no memory type for " + std::string(d.repr()));
  return t;
}

void PtxRenderer::print_placeholder(char letter, int number, UOp u) {
  UOp of = number < 0 ? u : u.src(size_t(number));
  switch (letter) {
    case 't': output += register_type_name(u, of.dtype()); return;
    case 'w': output += register_type_name(u, of.dtype()).substr(1); return;
    case 'h': output += of.dtype() == dtypes::float16 ? "b16" : register_type_name(u, of.dtype()); return;
    case 'v': output += memory_type_name(u, u.dtype()); return;
    case 'm': output += (number < 0 ? node_text_ : text(of)).substr(1); return;
    case 'd': output += u.is(Op::DEFINE_GLOBAL) ? "data" + u.arg().str() : std::string(u.arg()[0].text()); return;
    case 'l': output += text(u.src(1), 0); return;
    default: throw_cannot_render(u, "its row has the unknown hole $" + std::string(1, letter));
  }
}

std::string PtxRenderer::immediate_text(UOp u, Const v, DType d) const {
  char text[32];
  if (dtypes::is_float(d)) {
    double x = v.to_double();
    if (d == dtypes::float64)
      std::snprintf(text, sizeof text, "0d%016llX", static_cast<unsigned long long>(std::bit_cast<uint64_t>(x)));
    else if (d == dtypes::float16) std::snprintf(text, sizeof text, "0x%04X", unsigned(float_to_half_bits(x)));
    else std::snprintf(text, sizeof text, "0f%08X", std::bit_cast<uint32_t>(float(x)));
    if (std::isfinite(x) && d.scalar() == dtypes::float32 && std::isinf(float(x)))
      throw_cannot_render(u, "the constant is too large");
    return text;
  }
  return v.to_int().str() + (dtypes::is_unsigned(d) ? "U" : "");
}

PtxRenderer::PtxRenderer(const Target& target, std::span<const UOp> list, std::vector<std::string>* added)
    : TextRenderer(target, list, added), node_registers_(list.size() * 2), node_positions_(list.size()) {
  for (size_t i = list.size(); i-- > 0;) node_positions_[list[i]] = i;
}

// Adds lines to the body. To align the operands, inserts a tab before each line and replaces its first space by tabs.
void PtxRenderer::add_lines(std::string_view text) {
  if (text.empty()) return;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view l = text.substr(at, end - at);
    size_t space = l.find(' ');
    body_text_.append("\t").append(l.substr(0, space));
    if (space != l.npos) body_text_.append(space > 7 ? "\t" : "\t\t").append(l.substr(space + 1));
    body_text_ += '\n';
    at = end + 1;
  }
}

void PtxRenderer::print_node(UOp u) {
  if (u.is(Op::DEFINE_VAR))
    parameters_.push_back(".param ." + std::string(register_type_name(u, u.dtype())) + " " +
                          std::string(u.arg()[0].text()));
  if (u.is(Op::DEFINE_GLOBAL)) parameters_.push_back(".param .u64 data" + u.arg().str());
  name_node(u);
  static const NodeTextTable<PtxRenderer> table{ptx_rows(), ptx_memory_rows(), ptx_wmma_rows()};
  if (!table.print_row(*this, u)) throw_cannot_render(u);
  add_lines(output.view());
  output.drop_text();
  if (u.is(Op::SPECIAL)) special_lines_.push_back("\t.reg\t\t.u32 %" + std::string(u.arg().text()) + ";\n");
}

std::string PtxRenderer::function_head(std::string_view function_name) {
  std::string text =
      ".version VERSION\n.target TARGET\n.address_size 64\n.visible .entry " + std::string(function_name) + " (\n\t";
  for (size_t i = 0; i < parameters_.size(); i++) text.append(i ? ",\n\t" : "").append(parameters_[i]);
  text += "\n)\n.maxntid " + launch_bounds_of(list()).str() + "\n{\n";
  for (const RegisterCounter& c : counters_)
    text.append("\t.reg\t\t.")
        .append(c.type)
        .append(" ")
        .append(c.name_start)
        .append("<" + std::to_string(c.count) + ">;\n");
  for (size_t i = special_lines_.size(); i-- > 0;) text += special_lines_[i];
  return text;
}

std::string PtxRenderer::render() {
  std::string function_name = "test";
  body_text_.reserve(64 * list().size());
  for (UOp u : list()) {
    begin_node(u);
    if (u.is(Op::SINK)) function_name = u.arg().is_none() ? function_name : function_name_of(u);
    else if (!handle_register_node(u)) print_node(u);
    end_node(body_text_);
  }
  return function_head(function_name).append(body_text_) + "\tret;\n}";
}

std::string render_ptx(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  return PtxRenderer(target, list, added).render();
}

}  // namespace tgc
