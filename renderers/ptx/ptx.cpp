#include "renderers/ptx/ptx.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "lib/uop/graph.h"
#include "renderers/text_table.h"

namespace tgc {
namespace {

// ---- types: of registers, in memory, and in conversions

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
std::string_view memory_type(Scalar s) { return s == Scalar::Bool ? "u8" : s == Scalar::Float16 ? "b16" : cast_type(s); }

class Ptx;
using Row = TextRow<Ptx>;

class Ptx : public TextRenderer {
 public:
  Ptx(const Target& target, std::span<const UOp> list) : TextRenderer(target, list), registers_(list.size() * 2), position_(list.size()) {
    for (size_t i = list.size(); i-- > 0;) position_[list[i]] = i;
  }
  std::string render();
  void hole(char letter, int number, UOp u);

  // ---- for rows
  std::string_view type(UOp u, DType d) const;
  std::string_view memory(UOp u, DType d) const;
  std::span<const std::string_view> vector(UOp u);  // the registers of a vector's elements
  std::string joined(UOp u) { return joined(vector(u)); }
  static std::string joined(std::span<const std::string_view> names);
  std::string value(UOp u, Const v, DType d);
  std::string_view space_of(UOp buffer, UOp user);
  std::vector<std::string_view> wmma_registers[3];
  size_t position(UOp u) { return *position_.find(u); }

 private:
  void print(UOp u);
  bool needs_no_code(UOp u);
  void lay_out_wmma(UOp u);
  void add_lines(std::string_view text);
  std::string_view new_register(std::string_view prefix, std::string_view type);
  void name_node(UOp u);
  void set_vector(UOp u, std::vector<std::string_view> names) { registers_[u] = std::move(names); }

  struct Counter {
    std::string_view prefix, type;  // "val", "f32"
    std::string name;               // "%val_f32_"
    int count;
  };
  std::vector<Counter> counters_;  // of registers, in the order of first use
  std::vector<std::string> parameters_, special_lines_;
  std::string body_;
  ListMap<std::vector<std::string_view>> registers_;  // of vectors and of buffers in registers
  ListMap<size_t> position_;
  Arena names_;
};

// ---- conditions and functions of rows

bool is_bool(UOp u) { return u.dtype() == dtypes::bool_; }
bool is_float(UOp u) { return dtypes::is_float(u.dtype()); }
bool is_int(UOp u) { return dtypes::is_int(u.dtype()); }

bool print_const(Ptx& p, UOp u) {
  std::string value = p.value(u, u.arg().to_const(), u.dtype());
  if (u.dtype().scalar() == dtypes::bool_) {
    p.out += "setp.ne.s16 ";
    p.name(u);
    p.out += ", " + value + ", 0;";
  } else {
    p.out.append("mov.b").append(p.type(u, u.dtype()).substr(1)).append(" ");
    p.name(u);
    p.out.append(", ").append(value) += ';';
  }
  return true;
}

bool print_special(Ptx& p, UOp u) {
  std::string_view name = u.arg().text();
  p.out.append("mov.u32 %").append(name).append(", %").append(name[0] == 'g' ? "ctaid" : "tid").append(".");
  p.out += char('x' + (name.back() - '0'));
  p.out += ';';
  return true;
}

bool print_cast(Ptx& p, UOp u) {
  DType to = u.dtype(), from = u.src(0).dtype();
  if (from.scalar() == dtypes::bool_) {
    p.out.append("selp.b").append(p.type(u, to).substr(1)).append(" ");
    p.name(u);
    p.out.append(", " + p.value(u, 1, to) + ", " + p.value(u, 0, to) + ", ").append(p.text(u, 0)) += ';';
  } else if (to.scalar() == dtypes::bool_) {
    p.out.append("setp.ne.b").append(p.type(u, from).substr(1)).append(" ");
    p.name(u);
    p.out.append(", ").append(p.text(u, 0)).append(", " + p.value(u, 0, from) + ";");
  } else {
    bool rounds = dtypes::is_float(to) && (to.itemsize() < from.itemsize() || dtypes::is_int(from) || from == dtypes::bool_);
    std::string_view to_name = cast_type(to.scalar_kind()), from_name = cast_type(from.scalar_kind());
    if (to_name.empty() || from_name.empty() || to.count() > 1 || from.count() > 1) p.cannot(u, "there is no conversion from " + std::string(from.repr()));
    p.out.append("cvt").append(dtypes::is_int(to) && dtypes::is_float(from) ? ".rzi" : rounds ? ".rn" : "").append(".");
    p.out.append(to_name).append(".").append(from_name).append(" ");
    p.name(u);
    p.out.append(", ").append(p.text(u, 0)) += ';';
  }
  return true;
}

// "ld.global.v4.f32 {a, b, c, d}, [address+0];"
void append_load(Ptx& p, UOp u, std::string_view guard) {
  UOp index = u.src(0);
  int count = u.dtype().count();
  p.out.append(guard).append("ld.").append(p.space_of(index.src(0), u)).append(count > 1 ? ".v" + std::to_string(count) : "").append(".");
  p.out.append(p.memory(u, u.dtype().scalar())).append(" ");
  if (count > 1) p.out.append("{").append(p.joined(u)) += '}';
  else p.name(u);
  p.out.append(", [").append(p.text(index, 1)).append("+0];");
}

bool print_load(Ptx& p, UOp u) {
  UOp index = u.src(0);
  if (!index.is(Op::INDEX)) return false;
  if (index.num_src() == 2) {
    append_load(p, u, "");
    return true;
  }
  if (index.num_src() != 3 || u.num_src() < 2) return false;
  std::string gate(p.text(index, 2));
  if (u.src(1).dtype().count() > 1) {
    for (std::string_view r : p.vector(u)) p.out.append("mov.").append(p.memory(u, u.dtype().scalar())).append(" ").append(r).append(", ").append(p.value(u, 0, u.dtype().scalar())).append(";\n");
    append_load(p, u, "@" + gate + " ");
  } else {
    append_load(p, u, "@" + gate + " ");
    p.out.append("\n@!").append(gate).append(" mov.b").append(p.type(u, u.dtype().scalar()).substr(1)).append(" ");
    p.name(u);
    p.out.append(", ").append(p.text(u, 1)) += ';';
  }
  return true;
}

bool print_store(Ptx& p, UOp u) {
  UOp index = u.src(0);
  if (u.num_src() != 2 || !index.is(Op::INDEX)) return false;
  UOp value = u.src(1);
  int count = value.dtype().count();
  p.out.append("st.").append(p.space_of(index.src(0), u)).append(count > 1 ? ".v" + std::to_string(count) : "").append(".");
  p.out.append(p.memory(u, value.dtype().scalar())).append(" [").append(p.text(index, 1)).append("+0], ");
  if (count > 1) p.out.append("{").append(p.joined(value)).append("};");
  else p.out.append(p.text(value)) += ';';
  return true;
}

bool print_local(Ptx& p, UOp u) {
  std::string name = "local" + u.arg().str();
  p.out += ".shared .align 16 .b8 " + name + "[" + std::to_string(u.dtype().size() * u.dtype().itemsize()) + "];\nmov.u64 ";
  p.name(u);
  p.out += ", " + name + "[0];";
  return true;
}

bool print_if(Ptx& p, UOp u) {
  std::string_view gate = p.text(u, 0);
  p.out.append("@!").append(gate).append(" bra IF_").append(gate.substr(1)).append("_").append(std::to_string(p.position(u))) += ';';
  return true;
}
bool print_endif(Ptx& p, UOp u) {
  UOp opened = u.src(0);
  p.out.append("IF_").append(p.text(opened, 0).substr(1)).append("_").append(std::to_string(p.position(opened))) += ':';
  return true;
}

// Packs the operands into registers of four bytes, multiplies, and unpacks the accumulator.
bool print_wmma(Ptx& p, UOp u) {
  DType in = u.arg()[2].dtype(), result = u.arg()[3].dtype();
  auto type = [&](DType d, bool is_in) -> std::string_view {
    if (d == dtypes::float16) return "f16";
    if (d != dtypes::float32) p.cannot(u, "there is no tensor core of " + std::string(d.repr()));
    return is_in ? "tf32" : "f32";
  };
  auto pack = [&](std::span<const std::string_view> elements, size_t per_register, size_t i) {
    return per_register == 1 ? std::string(elements[i]) : "{" + Ptx::joined(elements.subspan(i * per_register, per_register)) + "}";
  };
  for (size_t s = 0; s < 3; s++) {
    auto elements = p.vector(u.src(s));
    for (size_t i = 0; i < p.wmma_registers[s].size(); i++)
      p.out.append("mov.b32 ").append(p.wmma_registers[s][i]).append(", ").append(pack(elements, size_t(4 / u.src(s).dtype().scalar().itemsize()), i)).append(";\n");
  }
  const Arg& dims = u.arg()[1];
  std::string a = Ptx::joined(p.wmma_registers[0]), b = Ptx::joined(p.wmma_registers[1]), c = Ptx::joined(p.wmma_registers[2]);
  p.out.append("mma.sync.aligned.m").append(dims[1].str()).append("n").append(dims[0].str()).append("k").append(dims[2].str()).append(".row.col.");
  p.out.append(type(result, false)).append(".").append(type(in, true)).append(".").append(type(in, true)).append(".").append(type(result, false));
  p.out.append(12, ' ').append("{").append(c).append("}, {").append(a).append("}, {").append(b).append("}, {").append(c).append("};");
  auto elements = p.vector(u);
  for (size_t i = 0; i < p.wmma_registers[2].size(); i++)
    p.out.append("\nmov.b32 ").append(pack(elements, size_t(4 / result.itemsize()), i)).append(", ").append(p.wmma_registers[2][i]) += ';';
  return true;
}

bool ends_range(UOp u) { return u.num_src() == 2 && u.src(1).is(Op::RANGE); }
bool is_buffer(UOp u) { return u.num_src() == 0; }

std::span<const Row> ptx_rows() {
  // $t: the register type of the node or of a source; $w its width; $m a register without its %
  static const Row rows[] = {
      {Op::CONST, print_const},
      {Op::SPECIAL, print_special},
      {Op::DEFINE_GLOBAL, "ld.param.u64 $n, [$d+0];"},
      {Op::DEFINE_VAR, "ld.param.$v $n, [$d+0];"},
      {Op::DEFINE_LOCAL, print_local},
      {Op::DEFINE_REG, is_buffer, ""},
      // math
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
      {Op::WMMA, print_wmma},
      // memory
      {Op::STORE, print_store},
      {Op::LOAD, print_load},
      // control flow
      {Op::RANGE, "mov.u32 $n, -1;\nbra END_$m;\nLOOP_$m:"},
      {Op::END, ends_range, "END_$m1:\nadd.s32 $1, $1, 1;\nsetp.lt.s32 $n, $1, $l;\n@$n bra LOOP_$m1;"},
      {Op::IF, print_if},
      {Op::ENDIF, print_endif},
      {Op::BARRIER, "bar.sync\t0;"},
  };
  return rows;
}

// ---- the renderer

std::string_view Ptx::type(UOp u, DType d) const {
  std::string_view t = d.is_ptr() || d.count() > 1 ? std::string_view() : register_type(d.scalar_kind());
  if (t.empty()) cannot(u, "there are no registers of " + std::string(d.repr()));
  return t;
}
std::string_view Ptx::memory(UOp u, DType d) const {
  std::string_view t = memory_type(d.scalar_kind());
  if (t.empty()) cannot(u, "there is no memory of " + std::string(d.repr()));
  return t;
}

void Ptx::hole(char letter, int number, UOp u) {
  UOp of = number < 0 ? u : u.src(size_t(number));
  switch (letter) {
    case 't': out += type(u, of.dtype()); return;
    case 'w': out += type(u, of.dtype()).substr(1); return;
    case 'h': out += of.dtype() == dtypes::float16 ? "b16" : type(u, of.dtype()); return;
    case 'v': out += memory(u, u.dtype()); return;
    case 'm': out += (number < 0 ? name_ : text(of)).substr(1); return;
    case 'd': out += u.is(Op::DEFINE_GLOBAL) ? "data" + u.arg().str() : std::string(u.arg()[0].text()); return;
    case 'l': out += text(u.src(1), 0); return;
    default: cannot(u, "its row has the unknown hole $" + std::string(1, letter));
  }
}

std::string Ptx::joined(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view n : names) text.append(text.empty() ? "" : ", ").append(n);
  return text;
}

std::span<const std::string_view> Ptx::vector(UOp u) {
  auto* names = registers_.find(u);
  if (!names) cannot(u, "it is used as a vector and is none");
  return *names;
}

// A number as an immediate operand.
std::string Ptx::value(UOp u, Const v, DType d) {
  char text[32];
  if (dtypes::is_float(d)) {
    double x = v.to_double();
    if (d == dtypes::float64) std::snprintf(text, sizeof text, "0d%016llX", static_cast<unsigned long long>(std::bit_cast<uint64_t>(x)));
    else if (d == dtypes::float16) std::snprintf(text, sizeof text, "0x%04X", unsigned(float_to_half_bits(x)));
    else std::snprintf(text, sizeof text, "0f%08X", std::bit_cast<uint32_t>(float(x)));
    if (std::isfinite(x) && d.scalar() == dtypes::float32 && std::isinf(float(x))) cannot(u, "the constant is too large");
    return text;
  }
  return v.to_int().str() + (dtypes::is_unsigned(d) ? "U" : "");
}

std::string_view Ptx::space_of(UOp buffer, UOp user) {
  while (buffer.is(Op::AFTER)) buffer = buffer.src(0);
  if (buffer.is(Op::DEFINE_LOCAL)) return "shared";
  if (buffer.is(Op::DEFINE_GLOBAL)) return "global";
  cannot(user, "Ops." + std::string(name_of(buffer.op())) + " is no memory");
}

std::string_view Ptx::new_register(std::string_view prefix, std::string_view type) {
  auto it = std::find_if(counters_.begin(), counters_.end(), [&](const Counter& c) { return c.prefix == prefix && c.type == type; });
  if (it == counters_.end()) it = counters_.insert(it, {prefix, type, "%" + std::string(prefix) + "_" + std::string(type) + "_", 0});
  size_t begin = it->name.size();
  it->name += std::to_string(it->count++);
  std::string_view name = names_.copy(it->name);
  it->name.resize(begin);
  return name;
}

// Lines of PTX begin with a tab, and the first space becomes the tabs to the next column.
void Ptx::add_lines(std::string_view text) {
  if (text.empty()) return;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view l = text.substr(at, end - at);
    size_t space = l.find(' ');
    body_.append("\t").append(l.substr(0, space));
    if (space != l.npos) body_.append(space > 7 ? "\t" : "\t\t").append(l.substr(space + 1));
    body_ += '\n';
    at = end + 1;
  }
}

// What only names registers that are there already.
bool Ptx::needs_no_code(UOp u) {
  DType first = u.num_src() ? u.src(0).dtype() : dtypes::void_;
  bool in_registers = first.is_ptr() && first.addrspace() == AddrSpace::REG;
  auto share = [&](UOp from) {
    if (auto* names = registers_.find(from)) registers_[u] = *names;
    else share_text(u, from);
  };
  switch (u.op()) {
    case Op::VECTORIZE: {
      std::vector<std::string_view> names;
      for (UOp s : u.src()) names.push_back(text(s));
      set_vector(u, std::move(names));
      return true;
    }
    case Op::GEP: {
      auto elements = vector(u.src(0));
      if (u.arg().items().size() != 1) cannot(u, "it takes several elements");
      size_t i = size_t(u.arg()[0].small_int());
      if (i >= elements.size()) cannot(u, "there is no such element");
      set_text(u, elements[i]);
      return true;
    }
    case Op::CAST:
    case Op::BITCAST:
      if (first != u.dtype() && !first.is_ptr()) return false;
      share(u.src(0));
      return true;
    case Op::DEFINE_REG: {
      std::vector<std::string_view> names;
      std::string_view t = register_type(u.dtype().base().scalar_kind());
      if (t.empty()) cannot(u, "there are no such registers");
      for (int64_t i = 0; i < u.dtype().size(); i++) names.push_back(new_register("reg", t));
      set_vector(u, std::move(names));
      return true;
    }
    case Op::INDEX:
      if (in_registers) {
        auto elements = vector(u.src(0));
        if (!u.src(1).is_const()) cannot(u, "registers are indexed by constants alone");
        Int i = u.src(1).arg().as_int();
        if (i < Int(0) || i >= Int(int64_t(elements.size()))) cannot(u, "there is no such register");
        set_text(u, elements[size_t(i.small())]);
      }
      return true;
    case Op::LOAD:
    case Op::STORE:
      if (!in_registers) return false;
      share(u.src(0));
      if (u.is(Op::STORE)) {
        DType d = u.src(1).dtype();
        std::string t = d == dtypes::bool_ ? "pred" : "b" + std::string(type(u, d).substr(1));
        add_lines("mov." + t + " " + std::string(text(u, 0)) + ", " + std::string(text(u, 1)) + ";");
      }
      return true;
    default: return false;
  }
}

void Ptx::lay_out_wmma(UOp u) {
  auto registers = [&](size_t source, std::string_view prefix, DType d) {
    std::vector<std::string_view> names;
    size_t per_register = size_t(4 / d.scalar().itemsize());
    for (size_t i = 0; i < vector(u.src(source)).size(); i += per_register) names.push_back(new_register(prefix, "b32"));
    return names;
  };
  wmma_registers[0] = registers(0, "wmma_in", u.src(0).dtype());
  wmma_registers[1] = registers(1, "wmma_in", u.src(0).dtype());
  wmma_registers[2] = registers(2, "wmma_acc", u.dtype());
}

void Ptx::name_node(UOp u) {
  auto element_type = [&](DType d) {
    std::string_view t = register_type(d.scalar_kind());
    if (t.empty()) cannot(u, "there are no such registers");
    return t;
  };
  auto vector_of = [&](std::string_view prefix) {
    std::vector<std::string_view> names;
    for (int i = 0; i < u.dtype().count(); i++) names.push_back(new_register(prefix, element_type(u.dtype().scalar())));
    set_vector(u, std::move(names));
  };
  switch (u.op()) {
    case Op::SPECIAL: name_ = names_.copy("%" + std::string(u.arg().text())); break;
    case Op::LOAD:
      if (u.src(0).dtype() != dtypes::int64) cannot(u, "its address is no int64");
      if (u.dtype().count() > 1) return vector_of("val");
      name_ = new_register("val", type(u, u.dtype()));
      break;
    case Op::WMMA:
      lay_out_wmma(u);
      return vector_of("wmma");
    case Op::CAST:
    case Op::BITCAST: name_ = new_register("cast", type(u, u.dtype())); break;
    case Op::END: name_ = new_register("pred", "pred"); break;
    case Op::RANGE: name_ = new_register("ridx", type(u, u.dtype())); break;
    case Op::DEFINE_VAR: name_ = new_register("dat", type(u, u.dtype())); break;
    case Op::CONST: name_ = new_register("const", type(u, u.dtype())); break;
    case Op::DEFINE_LOCAL: name_ = new_register("local", "u64"); break;
    case Op::DEFINE_GLOBAL: name_ = new_register("dat", "u64"); break;
    default:
      if (!u.in(ops::ALU)) return;
      name_ = new_register("alu", type(u, u.dtype()));
  }
  name_ = set_text(u, name_);
}

void Ptx::print(UOp u) {
  if (u.is(Op::DEFINE_VAR)) parameters_.push_back(".param ." + std::string(type(u, u.dtype())) + " " + std::string(u.arg()[0].text()));
  if (u.is(Op::DEFINE_GLOBAL)) parameters_.push_back(".param .u64 data" + u.arg().str());
  name_node(u);
  static const TextTable<Ptx> table{ptx_rows()};
  if (!table.print(*this, u)) cannot(u);
  add_lines(out.view());
  out.drop();
  if (u.is(Op::SPECIAL)) special_lines_.push_back("\t.reg\t\t.u32 %" + std::string(u.arg().text()) + ";\n");
}

std::string Ptx::render() {
  std::string function_name = "test";
  body_.reserve(64 * list().size());
  for (UOp u : list()) {
    begin_node(u);
    switch (u.op()) {
      case Op::NOOP:
      case Op::GROUP: break;
      case Op::AFTER:
        if (auto* names = registers_.find(u.src(0))) registers_[u] = *names;
        else share_text(u, u.src(0));
        break;
      case Op::SINK:
        if (!u.arg().is_none()) function_name = function_name_of(u);
        break;
      default:
        if (!needs_no_code(u)) print(u);
    }
    end_node(body_);
  }
  std::string result = ".version VERSION\n.target TARGET\n.address_size 64\n.visible .entry " + function_name + " (\n\t";
  for (size_t i = 0; i < parameters_.size(); i++) result.append(i ? ",\n\t" : "").append(parameters_[i]);
  result += "\n)\n.maxntid " + launch_bounds_of(list()).str() + "\n{\n";
  for (const Counter& c : counters_) result.append("\t.reg\t\t.").append(c.type).append(" ").append(c.name).append("<" + std::to_string(c.count) + ">;\n");
  for (size_t i = special_lines_.size(); i-- > 0;) result += special_lines_[i];
  return result.append(body_) + "\tret;\n}";
}

}  // namespace

std::string render_ptx(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  Ptx renderer(target, list);
  renderer.note_added(added);
  return renderer.render();
}

}  // namespace tgc
