// WGSL, WebGPU's language, as a dialect of cstyle (tinygrad renderer/wgsl.py, WGSLRenderer).
#include "renderers/cstyle/cstyle.h"

#include <algorithm>

#include "lib/uop/sint.h"

namespace tgc {
namespace {

constexpr ScalarTypeName kTypes[] = {{Scalar::Float32, "f32"}, {Scalar::UInt8, "u32"}, {Scalar::UInt16, "u32"},
                               {Scalar::Int16, "i32"},   {Scalar::Int8, "i32"},  {Scalar::Int32, "i32"},
                               {Scalar::UInt32, "u32"},  {Scalar::Bool, "bool"}, {Scalar::Float16, "f16"}};

// Returns true if several values of the dtype share an atomic<u32>.
bool is_packed(DType d) {
  return d.itemsize() < 4 && d.base() != dtypes::float16 && (!d.is_ptr() || d.addrspace() != AddrSpace::REG);
}
int64_t num_stored_elements(DType d) {
  if (!is_packed(d)) return d.size();
  if (d.itemsize() < 1) throw Failure("a buffer of " + std::string(d.base().repr()) + " has no elements");
  return d.size() / (4 / d.itemsize());
}

std::string_view storage_type(CStyleRenderer& c, DType d) {
  return is_packed(d) ? "atomic<u32>" : c.dialect_type_name(d.base());
}

void append_load(CStyleRenderer& c, std::string_view place, DType d) {
  if (is_packed(d)) c.output.append("atomicLoad(&").append(place) += ')';
  else c.output += place;
}

void append_buffer(CStyleRenderer& c, UOp u, std::string_view var, DType stored) {
  c.output.append(var).append(" ");
  c.append_name(u);
  c.output.append(": array<")
      .append(storage_type(c, stored))
      .append(",")
      .append(std::to_string(num_stored_elements(u.dtype())))
      .append(">;");
}

bool print_register(CStyleRenderer& c, UOp u) { return append_buffer(c, u, "var", u.dtype()), true; }
bool print_local(CStyleRenderer& c, UOp u) { return append_buffer(c, u, "var<workgroup>", u.dtype().base()), true; }

bool print_bool_const(CStyleRenderer& c, UOp u) {
  if (u.dtype().scalar() != dtypes::bool_) return false;
  c.output += u.arg().to_const().truthy() ? "true" : "false";
  return true;
}

bool print_unsigned_const(CStyleRenderer& c, UOp u) {
  constexpr DTypeSet kUnsigned{Scalar::UInt8, Scalar::UInt16, Scalar::UInt32};
  if (!kUnsigned.contains(u.dtype())) return false;
  Int v = u.arg().to_const().to_int();
  if (v.sign() < 0) c.output += "bitcast<u32>(" + v.str() + ")";
  else c.output += (v & Int(0xFFFFFFFFu)).str() + "u";
  return true;
}

bool print_bitcast(CStyleRenderer& c, UOp u) {
  auto is = [](DType d, DTypeSet set) { return d.count() == 1 && set.contains(d); };
  DType to = u.dtype(), from = u.src(0).dtype();
  std::string_view x = c.text(u, 0);
  if (to == dtypes::float16 && is(from, {Scalar::Int16, Scalar::UInt16, Scalar::UInt32})) {
    c.output.append("bitcast<vec2<f16>>(").append(x).append(")[0]");
    return true;
  }
  c.output.append("bitcast<").append(c.dialect_type_name(to)).append(">(");
  if (is(to, {Scalar::Int8, Scalar::UInt8})) c.output.append(x).append("&0xFF");
  else if (!is(to, {Scalar::Int16, Scalar::UInt16})) c.output.append(x);
  else if (from == dtypes::float16) c.output.append("vec2<f16>(").append(x).append(",0)");
  else c.output.append(x).append("&0xFFFF");
  c.output += ')';
  return true;
}

bool print_load(CStyleRenderer& c, UOp u) {
  UOp place = u.src(0);
  if (u.num_src() > 1 && u.src(1).in({Op::CONST, Op::VCONST})) {
    c.output.append("select(").append(c.text(u, 1)).append(", ");
    append_load(c, c.text(place), place.src(0).dtype());
    c.output.append(", ").append(c.text(place, 2)) += ')';
  } else {
    append_load(c, c.text(place), place.dtype());
  }
  return true;
}

// Prints a store. A packed store of (load & mask) | bits becomes an atomicAnd with mask and an atomicAdd of bits.
bool print_store(CStyleRenderer& c, UOp u) {
  UOp place = u.src(0), value = u.src(1);
  std::string_view at = c.text(place);
  if (!is_packed(place.src(0).dtype())) {
    c.output.append(at).append(" = ").append(c.text(value)) += ';';
    return true;
  }
  if (value.num_src() < 2 || value.src(0).num_src() < 2)
    c.throw_cannot_render(u, "the value of a packed store is not (load & mask) | value");
  c.output.append("atomicAnd(&").append(at).append(",").append(c.text(value.src(0), 1)).append(");\n  atomicAdd(&");
  c.output.append(at).append(",").append(c.text(value, 1)).append(");");
  return true;
}

bool is_nan_check(UOp u) { return u.src(0) == u.src(1); }

std::span<const CTextRow> wgsl_rows() {
  static const CTextRow rows[] = {
      {Op::CONST, print_bool_const},
      {Op::CONST, print_unsigned_const},
      {Op::DEFINE_LOCAL, print_local},
      {Op::DEFINE_REG, print_register},
      {Op::BITCAST, print_bitcast},
      {Op::LOAD, print_load},
      {Op::STORE, print_store},
      {Op::INDEX, "$0[$1]"},
      {Op::WHERE, "select($2,$1,$0)"},
      // compilers of WGSL may fold x != x to false, so the test for NaN is written with min and max
      {Op::CMPNE, is_nan_check, "(min($0, 1.0) == 1.0 && max($0, -1.0) == -1.0)"},
  };
  return rows;
}

// Removes the "var<workgroup>" lines from `body_text` and returns them, because WGSL allows them only outside
// functions.
std::string take_local_buffers(std::string& body_text) {
  std::string local_buffers, rest;
  bool is_first = true;
  for (size_t at = 0; at <= body_text.size();) {
    size_t end = std::min(body_text.find('\n', at), body_text.size());
    std::string_view line = std::string_view(body_text).substr(at, end - at);
    if (line.find("var<workgroup>") != line.npos) {
      local_buffers.append(line.substr(line.find_first_not_of(' '))) += '\n';
    } else {
      if (!std::exchange(is_first, false)) rest += '\n';
      rest += line;
    }
    at = end + 1;
  }
  body_text = std::move(rest);
  return local_buffers;
}

std::string workgroup_size(std::span<const UOp> list) {
  std::vector<UOp> locals;
  for (UOp u : list)
    if (u.is(Op::SPECIAL) && u.arg().text().starts_with('l')) locals.push_back(u);
  std::stable_sort(locals.begin(), locals.end(), [](UOp a, UOp b) { return a.arg().text() < b.arg().text(); });
  std::string out;
  for (UOp u : locals) out += (out.empty() ? "" : ",") + Sint(u.src(0).ssimplify()).str();
  return out.empty() ? "1" : out;
}

std::string assemble_source(CStyleRenderer& c, std::string_view function_name) {
  std::string out;
  if (is_dtype_used(c.list(), dtypes::float16)) out += "enable f16;\n";
  out += R"(fn nan() -> f32 { let bits = 0xffffffffu; return bitcast<f32>(bits); }
@group(0) @binding(0)
var<uniform> INFINITY : f32;
)";
  std::string local_buffers = take_local_buffers(c.body_text);
  // as in tinygrad, no newline follows the last local buffer if the kernel has no parameters
  if (c.kernel_parameters().empty() && !local_buffers.empty()) local_buffers.pop_back();
  out += local_buffers;
  int binding = 1;
  for (const KernelParameter& p : c.kernel_parameters()) {
    if (binding > 1) out += '\n';
    out += "@group(0) @binding(" + std::to_string(binding++) + ")";
    bool pointer = p.dtype.is_ptr();
    std::string type(storage_type(c, pointer ? p.dtype.base() : p.dtype));
    out.append(pointer ? "var<storage,read_write>" : "var<uniform>").append(p.name).append(":")
        .append(pointer ? "array<" + type + ">" : type) += ';';
  }
  return out + "\n@compute @workgroup_size(" + workgroup_size(c.list()) + ") fn " + std::string(function_name) +
         "(@builtin(workgroup_id) gindex: vec3<u32>,@builtin(local_invocation_id) lindex: vec3<u32>) {\n" +
         c.body_text + "\n}";
}

}  // namespace

std::string render_wgsl(const Target& target, std::span<const UOp> list, std::vector<std::string>* added) {
  static const NodeTextTable<CStyleRenderer> table{wgsl_rows(), c_rows()};
  static const CDialect dialect{
      .barrier = "workgroupBarrier();",
      .global_id = "i32(gindex.$l)",
      .local_id = "i32(lindex.$l)",
      .nan = "nan()",
      .type_names = kTypes,
      .text_table = &table,
      .print_type = [](CStyleRenderer& c, DType) { c.output += "var"; },
      .print_cast =
          [](CStyleRenderer& c, DType d, std::string_view value) {
            c.output.append(c.dialect_type_name(d)).append("(").append(value) += ')';
          },
      .assemble_source = assemble_source,
  };
  return render_c(target, dialect, list, added);
}

}  // namespace tgc
