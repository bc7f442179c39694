#include "renderers/llvmir/llvmir.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

std::string_view llvm_scalar_type(Scalar s) {
  switch (s) {
    case Scalar::Void: return "void";
    case Scalar::Bool: return "i1";
    case Scalar::Int8:
    case Scalar::UInt8:
    case Scalar::FP8E4M3:
    case Scalar::FP8E5M2: return "i8";
    case Scalar::Int16:
    case Scalar::UInt16: return "i16";
    case Scalar::Int32:
    case Scalar::UInt32: return "i32";
    case Scalar::Int64:
    case Scalar::UInt64: return "i64";
    case Scalar::Float16: return "half";
    case Scalar::BFloat16: return "bfloat";
    case Scalar::Float32: return "float";
    case Scalar::Float64: return "double";
    case Scalar::Index:
    case Scalar::Other: return {};
  }
  return {};
}

enum class OperandClass { Unsigned, Signed, Float, None };
OperandClass operand_class_of(DType d) {
  if (dtypes::floats.contains(d)) return OperandClass::Float;
  if (dtypes::sints.contains(d)) return OperandClass::Signed;
  if (dtypes::uints.contains(d) || dtypes::is_bool(d)) return OperandClass::Unsigned;
  return OperandClass::None;
}

#define FLAGS " nsz arcp contract afn"
std::string_view float_instruction(Op op) {
  switch (op) {
    case Op::ADD: return "fadd" FLAGS;
    case Op::MUL: return "fmul" FLAGS;
    case Op::FDIV: return "fdiv" FLAGS;
    case Op::CMPLT: return "fcmp" FLAGS " ult";
    case Op::CMPNE: return "fcmp" FLAGS " une";
    case Op::CMPEQ: return "fcmp" FLAGS " oeq";
    default: return {};
  }
}
#undef FLAGS

std::string_view integer_instruction(Op op, bool is_signed) {
  switch (op) {
    case Op::ADD: return is_signed ? "add nsw" : "add";
    case Op::MUL: return "mul";
    case Op::IDIV: return is_signed ? "sdiv" : "udiv";
    case Op::MOD: return is_signed ? "srem" : "urem";
    case Op::CMPLT: return is_signed ? "icmp slt" : "icmp ult";
    case Op::CMPNE: return "icmp ne";
    case Op::CMPEQ: return "icmp eq";
    case Op::OR: return "or";
    case Op::AND: return "and";
    case Op::XOR: return "xor";
    case Op::SHL: return "shl";
    case Op::SHR: return is_signed ? "ashr" : "lshr";
    default: return {};
  }
}

std::string_view alu_instruction(LlvmIrRenderer& r, UOp u, Op op) {
  DType d = u.src(0).dtype();
  OperandClass c = d.is_ptr() ? OperandClass::None : operand_class_of(d);
  std::string_view name = c == OperandClass::None    ? ""
                          : c == OperandClass::Float ? float_instruction(op)
                                              : integer_instruction(op, c == OperandClass::Signed);
  if (name.empty()) r.throw_cannot_render(u, "there is no instruction for operands of " + std::string(d.repr()));
  return name;
}

std::string_view cast_instruction(LlvmIrRenderer& r, UOp u) {
  DType from = u.src(0).dtype(), to = u.dtype();
  bool shrinks = to.itemsize() < from.itemsize();
  if (dtypes::is_float(from)) {
    if (dtypes::is_float(to)) return to.itemsize() > from.itemsize() ? "fpext" : "fptrunc";
    if (dtypes::is_int(to)) return dtypes::is_unsigned(to) ? "fptoui" : "fptosi";
  } else if (dtypes::is_unsigned(from) || dtypes::is_bool(from)) {
    if (dtypes::is_float(to)) return "uitofp";
    if (dtypes::is_int(to)) return shrinks ? "trunc" : "zext";
  } else if (dtypes::is_int(from)) {
    if (dtypes::is_float(to)) return "sitofp";
    if (dtypes::is_int(to)) return shrinks ? "trunc" : "sext";
  }
  r.throw_cannot_render(u, "there is no cast from " + std::string(from.repr()));
}

bool is_broadcast(UOp u) {
  for (UOp s : u.src())
    if (!(s == u.src(0))) return false;
  return u.num_src() > 0;
}

bool is_bool(UOp u) { return u.dtype().scalar() == dtypes::bool_; }

bool print_vectorize(LlvmIrRenderer& r, UOp u) {
  std::string type_name = r.type_name(u.dtype()), name(r.name_of_node());
  for (size_t i = 0; i < u.num_src(); i++) {
    bool last = i + 1 == u.num_src();
    r.output.append("  ")
        .append(name)
        .append(last ? "" : "_" + std::to_string(i))
        .append(" = insertelement ")
        .append(type_name)
        .append(" ");
    r.output.append(i ? name + "_" + std::to_string(i - 1) : "poison").append(", ");
    r.append_type(u.src(i).dtype());
    r.output.append(" ").append(r.text(u, int(i))).append(", i32 ").append(std::to_string(i));
    if (!last) r.output += '\n';
  }
  return true;
}

bool ends_range(UOp u) { return u.num_src() == 2 && u.src(1).is(Op::RANGE); }

}  // namespace

bool is_same_llvm_type(DType a, DType b) {
  if (a.vcount() != b.vcount() || a.is_ptr() != b.is_ptr()) return false;
  if (a.is_ptr()) return is_same_llvm_type(a.base(), b.base());
  return a.count() == b.count() && llvm_scalar_type(a.scalar_kind()) == llvm_scalar_type(b.scalar_kind());
}

std::span<const LlvmTextRow> llvm_rows() {
  // Placeholders, for the node or, with a digit, for a source: $t: type. $e: type of the elements. $p: type that the
  // pointer points to. $m: name without %. $r: ids of a RANGE. Only for the node: $i: instruction of the op. $c:
  // instruction of a cast. $k: instruction of a comparison with 0. $g: gate (condition) of a load. $a: first item of
  // the arg. $v: number of elements.
  static const LlvmTextRow rows[] = {
      {Op::INDEX, "  $n = getelementptr inbounds $p, $t0 $0, $t1 $1"},
      {Op::LOAD, is_gated_load,
       "  br label $n_entry\n$m_entry:\n"
       "  br i1 $g, label $n_load, label $n_exit\n$m_load:\n"
       "  $n_yes = load $t, $t0 $0\n"
       "  br label $n_exit\n$m_exit:\n"
       "  $n = phi $t [$n_yes, $n_load], [$1, $n_entry]"},
      {Op::LOAD, "  $n = load $t, $t0 $0"},
      {Op::STORE, "  store $t1 $1, $t0 $0"},
      {Op::GEP, "  $n = extractelement $t0 $0, i32 $a"},
      {Op::VECTORIZE, is_broadcast,
       "  $n_z = insertelement <1 x $t0> poison, $t0 $0, i32 0\n"
       "  $n = shufflevector <1 x $t0> $n_z, <1 x $t0> poison, <$v x i32> zeroinitializer"},
      {Op::VECTORIZE, print_vectorize},
      {Op::BITCAST, "  $n = bitcast $t0 $0 to $t"},
      {Op::CAST, is_bool, "  $n = $k $t0 $0, zeroinitializer"},
      {Op::CAST, "  $n = $c $t0 $0 to $t"},
      {Op::TRUNC, "  $n = call $t @llvm.trunc.$e($t0 $0)"},
      {ops::Binary, "  $n = $i $t0 $0, $1"},
      {Op::WHERE, "  $n = select $t0 $0, $t1 $1, $t2 $2"},
      {Op::RANGE,
       "  br label %loop_entry_$r\n"
       "loop_entry_$r:\n"
       "  br label %loop_latch_$r\n"
       "loop_latch_$r:\n"
       "  $n = phi $t [ 0, %loop_entry_$r ], [ $nphi, %loop_footer_$r ]\n"
       "  $nphi = add $t $n, 1\n"
       "  $ncmp = icmp ult $t $n, $0\n"
       "  br i1 $ncmp, label %loop_body_$r, label %loop_exit_$r\n"
       "loop_body_$r:"},
      {Op::END, ends_range,
       "  br label %loop_footer_$r1\n"
       "loop_footer_$r1:\n"
       "  br label %loop_latch_$r1\n"
       "loop_exit_$r1:"},
      {Op::IF, "  br i1 $0, label %ifbody_$m, label %ifskip_$m\nifbody_$m:"},
      {Op::ENDIF, "  br label %ifskip_$m0\nifskip_$m0:"},
      {Op::BARRIER, ""},
  };
  return rows;
}

void LlvmIrRenderer::append_type(DType d) {
  if (d.vcount() > 1) {
    output.append("<").append(std::to_string(d.vcount())).append(" x ");
    append_type(d.scalar());
    output += '>';
  } else if (d.is_ptr()) {
    append_type(d.base());
    output += '*';
  } else {
    std::string_view name = llvm_scalar_type(d.scalar_kind());
    if (name.empty()) throw Failure("the " + target().name() + " renderer has no type for " + std::string(d.repr()));
    output += name;
  }
}

void LlvmIrRenderer::print_placeholder(char letter, int number, UOp u) {
  if (number >= int(u.num_src())) throw_cannot_render(u, "it lacks source " + std::to_string(number));
  UOp of = number < 0 ? u : u.src(size_t(number));
  switch (letter) {
    case 't': return append_type(of.dtype());
    case 'e': return append_type(of.dtype().scalar());
    case 'p': return append_type(of.dtype().base());
    case 'm': output += (number < 0 ? node_text_ : text(of)).substr(1); return;
    case 'a':
      if (!u.arg().is_tuple() || u.arg().items().empty()) throw_cannot_render(u, "its arg is not a tuple with items");
      output += u.arg()[0].str();
      return;
    case 'v': output += std::to_string(u.dtype().count()); return;
    case 'i': output += alu_instruction(*this, u, u.op()); return;
    case 'k': output += alu_instruction(*this, u, Op::CMPNE); return;
    case 'c': output += cast_instruction(*this, u); return;
    case 'g':
      if (index_of_load(u).num_src() < 3) throw_cannot_render(u, "its index has no gate");
      output += text(index_of_load(u).src(2));
      return;
    case 'r': output += range_str(of); return;
    default: throw_cannot_render(u, "its row has the unknown hole $" + std::string(1, letter));
  }
}

std::string LlvmIrRenderer::constant_text(UOp u) {
  Const v = u.arg().to_const();
  DType d = u.dtype();
  if (!dtypes::floats.contains(d)) return v.to_int().str();
  if (dtypes::fp8s.contains(d)) return std::to_string(float_to_fp8(v.to_double(), d.scalar_kind()));
  if (double x = v.to_double(); !std::isfinite(x)) {
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%016llX", static_cast<unsigned long long>(std::bit_cast<uint64_t>(x)));
    return bits;
  }
  return truncate(v, d).str();
}

void LlvmIrRenderer::add_parameter(UOp u) {
  node_text_ = set_text(u, "%" + (u.is(Op::DEFINE_GLOBAL) ? "data" + u.arg().str() : std::string(u.arg()[0].text())));
  parameters_text_.append(parameters_text_.empty() ? "" : ", ").append(type_name(u.dtype()))
      .append(u.dtype().is_ptr() ? " noalias align 32 " : " ").append(node_text_);
}

// Local memory of a GPU is a global variable, which the work group shares; any other buffer is on the stack.
void LlvmIrRenderer::add_local_buffer(UOp u) {
  bool local = u.is(Op::DEFINE_LOCAL);
  std::string id;
  for (char c : u.arg().str())
    if (c == ',') id += '_';
    else if (c != '(' && c != ')' && c != ' ') id += c;
  std::string name = (local ? "%local_" : "%reg_") + id;
  set_text(u, name);
  std::string size = "[" + std::to_string(u.dtype().size()) + " x ";
  if (!local || target().device == "CPU") {
    append_line("  " + name + " = alloca " + size + type_name(u.dtype().base()) + "]" + (local ? ", align 16" : ""));
    return;
  }
  std::string array = size + type_name(u.dtype()) + "]", global = "@" + name.substr(1);
  globals_text_ += global + " = internal unnamed_addr addrspace(3) global " + array + " undef, align 16\n";
  append_line("  " + name + " = addrspacecast " + array + " addrspace(3)* " + global + " to " + array + "*");
}

// Allocates stack memory for the operands of a WMMA, because AMX reads and writes only memory.
void LlvmIrRenderer::add_amx_operands(UOp wmma) {
  std::string name = "%wmma" + std::to_string(num_named_values_++);
  set_text(wmma, name);
  auto axes = wmma.arg()[6].items();
  for (size_t i = 0; i < axes.size(); i++) {
    int64_t elements = 1;
    for (Arg axis : axes[i].items()) elements *= axis[1].small_int();
    DType d = wmma.arg()[2].dtype().vec(elements);
    std::string n = std::to_string(i), t = type_name(d);
    append_line("  " + name + "_amx" + n + " = alloca " + t + ", align " + std::to_string(d.itemsize()));
    append_line("  " + name + "_ptr_amx" + n + " = ptrtoint " + t + "* " + name + "_amx" + n + " to i64");
  }
}

void LlvmIrRenderer::print_node(UOp u) {
  if (has_text(u)) {
    node_text_ = text(u);  // add_amx_operands() has given the node a name
  } else {
    output += "%v";
    output.append_number(uint32_t(num_named_values_++));
    node_text_ = finish_text(u);
  }
  if (!text_table_.print_row(*this, u)) throw_cannot_render(u);
  append_line(output.view());
  output.drop_text();
}

std::string LlvmIrRenderer::attributes_text() {
  std::string bounds =
      target().device == "CPU" ? "" : " \"amdgpu-flat-work-group-size\"=\"1," + launch_bounds_of(list()).str() + "\"";
  return "attributes #0 = { alwaysinline nounwind \"no-builtins\"" + bounds + " \"no-trapping-math\"=\"true\" }";
}

std::string LlvmIrRenderer::render() {
  std::string function_name = "test";
  body_text_.reserve(96 * list().size());
  if (list().front().graph().settings().AMX)
    for (UOp u : list())
      if (u.is(Op::WMMA)) add_amx_operands(u);
  for (UOp u : list()) {
    begin_node(u);
    switch (u.op()) {
      case Op::DEFINE_GLOBAL:
      case Op::DEFINE_VAR: add_parameter(u); break;
      case Op::DEFINE_LOCAL:
      case Op::DEFINE_REG: add_local_buffer(u); break;
      case Op::CONST: set_text(u, constant_text(u)); break;
      case Op::CAST:  // a cast to a pointer, or to the same LLVM type, needs no instruction
        if (u.dtype().is_ptr() || is_same_llvm_type(u.dtype(), u.src(0).dtype())) share_text(u, u.src(0));
        else print_node(u);
        break;
      default:
        if (!accept_unprinted_node(u, function_name)) print_node(u);
    }
    end_node(body_text_);
  }
  bool gpu = target().device != "CPU";
  std::string result = std::move(globals_text_);
  if (gpu && std::any_of(list().begin(), list().end(),
                         [](UOp u) { return u.dtype().count() == 1 && dtypes::fp8s.contains(u.dtype()); }))
    result.append(amd_float_to_fp8_definition()) += '\n';
  result.append("define ").append(gpu ? "amdgpu_kernel " : "").append("void @").append(function_name).append("(")
      .append(parameters_text_).append(") #0\n{\n");
  return result.append(body_text_).append("  ret void\n}\n").append(attributes_text());
}

namespace {

const NodeTextTable<LlvmIrRenderer>& text_table_for(const Target& target) {
  static const NodeTextTable<LlvmIrRenderer> cpu{llvm_rows(), llvm_amx_rows()};
  if (target.device == "CPU") return cpu;
  return amd_llvm_table(is_cdna(target.arch));
}

}  // namespace

std::string render_llvm_ir(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  return LlvmIrRenderer(target, list, text_table_for(target), added).render();
}

}  // namespace tgc
