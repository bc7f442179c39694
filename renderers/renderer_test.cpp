#include "renderers/renderer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/uop/graph.h"
#include "renderers/text_renderer.h"

using namespace tgc;

namespace {

Target target(std::string_view name) { return *parse_target(name, Settings()); }

struct ListBuilder {
  Graph g;
  std::vector<UOp> list;

  explicit ListBuilder(Settings settings = {}) : g(settings) {}
  UOp add(UOp u) {
    list.push_back(u);
    return u;
  }
  UOp node(Op op, DType d, UOpSpan src = {}, Arg arg = {}) { return add(g.node(op, d, src, arg)); }
  UOp buffer(DType d, int number, AddrSpace space = AddrSpace::GLOBAL) {
    return node(space == AddrSpace::GLOBAL  ? Op::DEFINE_GLOBAL
                : space == AddrSpace::LOCAL ? Op::DEFINE_LOCAL
                                            : Op::DEFINE_REG,
                d.ptr(4, space), {}, number);
  }
  UOp constant(DType d, Const v) { return node(Op::CONST, d, {}, Arg(v)); }
  UOp load(UOp buffer, UOp i) {
    UOp index = node(Op::INDEX, buffer.dtype(), {buffer, i});
    return node(Op::LOAD, buffer.dtype().base(), index);
  }
  void store(UOp buffer, UOp i, UOp value) {
    UOp index = node(Op::INDEX, buffer.dtype(), {buffer, i});
    node(Op::STORE, dtypes::void_, {index, value});
  }
  std::string render(std::string_view name) {
    Target t = target(name);
    auto text = render_source(t, list);
    return text ? *text : "ERROR " + text.diag().message;
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// Renders data0[1] = OP(data1[1], ...) and returns the source; OP has `operands` equal operands.
std::string line_of_op(std::string_view target_name, DType d, Op op, int operands, bool expand_ssa = true) {
  Settings settings;
  settings.EXPAND_SSA = expand_ssa;
  ListBuilder b(settings);
  UOp out = b.buffer(d, 0), in = b.buffer(d, 1), one = b.constant(dtypes::int32, 1);
  std::vector<UOp> src(size_t(operands), b.load(in, one));
  DType result = ops::Comparison.contains(op) ? dtypes::bool_ : d;
  UOp x = b.node(op, result, src);
  b.store(out, one, x);
  return b.render(target_name);
}

}  // namespace

TEST_CASE("C: a small kernel is printed exactly") {
  ListBuilder b;
  UOp out = b.buffer(dtypes::float32, 0), in = b.buffer(dtypes::float32, 1), n = b.constant(dtypes::int32, 4);
  UOp i = b.node(Op::RANGE, dtypes::int32, n, b.g.tuple({0, AxisType::LOOP}));
  UOp x = b.load(in, i);
  UOp y = b.node(Op::MUL, dtypes::float32, {x, x});
  b.store(out, i, y);
  b.node(Op::END, dtypes::void_, {b.list.back(), i});
  CHECK(b.render("CPU") ==
        "\nvoid test(float* restrict data0_4, float* restrict data1_4, int core_id) {\n"
        "  for (int Lidx0 = 0; Lidx0 < 4; Lidx0++) {\n"
        "    float val0 = (*(data1_4+Lidx0));\n"
        "    *(data0_4+Lidx0) = (val0*val0);\n"
        "  }\n"
        "}\n");
}

TEST_CASE("each language prints its own math functions and operators") {
  CHECK(contains(line_of_op("CPU", dtypes::float32, Op::SQRT, 1), "__builtin_sqrtf(val0)"));
  CHECK(contains(line_of_op("CPU", dtypes::float64, Op::SQRT, 1), "__builtin_sqrt(val0)"));
  CHECK(contains(line_of_op("CUDA", dtypes::float32, Op::SQRT, 1), " sqrt(val0)"));
  CHECK(contains(line_of_op("CUDA", dtypes::float16, Op::SQRT, 1), " hsqrt(val0)"));
  CHECK(contains(line_of_op("METAL", dtypes::float32, Op::SIN, 1), "precise::sin(val0)"));
  CHECK(contains(line_of_op("AMD", dtypes::float64, Op::EXP2, 1), "__ocml_exp2_f64(val0)"));
  CHECK(contains(line_of_op("AMD", dtypes::float64, Op::EXP2, 1),
                 "extern \"C\" __attribute__((device, pure)) double __ocml_exp2_f64(double);"));
  CHECK(contains(line_of_op("WEBGPU", dtypes::int32, Op::ADD, 2), "var alu0 = (val0+val0);"));
  CHECK(contains(line_of_op("CPU:LLVM", dtypes::int32, Op::SHR, 2), "ashr i32"));
  CHECK(contains(line_of_op("CPU:LLVM", dtypes::uint32, Op::SHR, 2), "lshr i32"));
  CHECK(contains(line_of_op("CPU:LLVM", dtypes::float32, Op::CMPLT, 2), "fcmp nsz arcp contract afn ult float"));
}

TEST_CASE("C-style languages print vectors and their elements") {
  for (auto [name, text] :
       {std::pair("CPU", "(float4){val0,val0,val0,val0}"), std::pair("CL", "(float4)(val0,val0,val0,val0)"),
        std::pair("METAL", " float4(val0,val0,val0,val0)"), std::pair("CUDA", "make_float4(val0,val0,val0,val0)")}) {
    Settings settings;
    settings.EXPAND_SSA = 1;
    ListBuilder b(settings);
    UOp in = b.buffer(dtypes::float32, 0), x = b.load(in, b.constant(dtypes::int32, 1));
    UOp v = b.node(Op::VECTORIZE, dtypes::float32.vec(4), {x, x, x, x});
    UOp e = b.node(Op::GEP, dtypes::float32, v, b.g.tuple({2}));
    b.store(in, b.list[1], e);
    std::string source = b.render(name);
    CHECK_MESSAGE(contains(source, text), source);
    CHECK(contains(source, std::string_view(name) == "CPU" ? "cast0[2]" : "cast0.z"));
  }
}

TEST_CASE("constants are printed in the syntax of each language") {
  struct Case {
    DType dtype;
    Const value;
    std::string_view target, text;
  };
  for (const Case& c : std::initializer_list<Case>{
           {dtypes::float32, 1.0, "CPU", "1.0f"},
           {dtypes::float32, -INFINITY, "CPU", "((float)(-__builtin_inff()))"},
           {dtypes::float32, std::nan(""), "CUDA", "((float)(NAN))"},
           {dtypes::float16, 0.5, "CPU", "((__fp16)(0.5f))"},
           {dtypes::bfloat16, 1.0, "CL", "16256u"},
           {dtypes::int64, 7, "CUDA", "7ll"},
           {dtypes::uint32, -1, "CUDA", "4294967295u"},
           {dtypes::uint64, -1, "CUDA", "18446744073709551615ull"},
           {dtypes::uint8, 3, "CUDA", "((unsigned char)(3u))"},
           {dtypes::bool_, true, "CPU", "= 1;"},
           {dtypes::bool_, true, "WEBGPU", "= true;"},
           {dtypes::uint32, -1, "WEBGPU", "bitcast<u32>(-1)"},
           {dtypes::float32, 0.1, "CPU:LLVM", "float 0.10000000149011612"},
           {dtypes::float32, INFINITY, "CPU:LLVM", "float 0x7FF0000000000000"},
           {dtypes::float32, 1.0, "CUDA:PTX", "0f3F800000"},
           {dtypes::float64, 1.0, "CUDA:PTX", "0d3FF0000000000000"},
           {dtypes::float16, 1.0, "CUDA:PTX", "0x3C00"},
       }) {
    ListBuilder b;
    // store the result in a register, because in global memory WebGPU packs small values into words
    bool packed = c.target == "WEBGPU" && c.dtype.itemsize() < 4;
    UOp buffer = b.buffer(c.dtype, 0, packed ? AddrSpace::REG : AddrSpace::GLOBAL), i = b.constant(dtypes::int32, 0),
        value = b.constant(c.dtype, c.value);
    b.store(buffer, i, value);
    std::string source = b.render(c.target);
    CHECK_MESSAGE(contains(source, c.text), source);
  }
}

TEST_CASE("an error about a node that a renderer cannot express names the renderer, the op and the dtype") {
  CHECK(contains(line_of_op("CPU", dtypes::float32, Op::POW, 2),
                 "ERROR the CPU:CLANG renderer cannot express Ops.POW of dtypes.float"));
  for (Op op : {Op::EXP2, Op::LOG2, Op::SIN, Op::RECIPROCAL})
    CHECK(contains(line_of_op("CPU", dtypes::int32, op, 1), "ERROR the CPU:CLANG renderer cannot express Ops."));
  CHECK(contains(line_of_op("WEBGPU", dtypes::float64, Op::ADD, 2), "no type for"));
  CHECK(contains(line_of_op("CPU:LLVM", dtypes::float32, Op::SHL, 2),
                 "ERROR the CPU:LLVM renderer cannot express Ops.SHL"));
  CHECK(contains(line_of_op("CUDA:PTX", dtypes::bfloat16, Op::ADD, 2),
                 "ERROR the CUDA:PTX:sm_80 renderer cannot express"));
  CHECK(contains(line_of_op("CPU", dtypes::index, Op::ADD, 2),
                 "ERROR the CPU:CLANG renderer has no type for dtypes.index"));
  ListBuilder b;
  UOp x = b.g.constant(dtypes::float32, 1.0);
  b.node(Op::SQRT, dtypes::float32, x);
  CHECK(contains(b.render("CPU"), "ERROR a node of the linear list has a source that is missing"));
  CHECK_FALSE(render_source(target("CPU"), {}));
}

// Lists made by passes are not verified again before rendering, so a renderer must survive malformed nodes.
TEST_CASE("LLVM IR: a node with too few sources is refused") {
  CHECK(contains(line_of_op("CPU:LLVM", dtypes::float32, Op::WHERE, 1), "it lacks source 1"));
}

TEST_CASE("PTX: the operands of a tensor core are packed into registers of 4 bytes") {
  auto render = [](DType in, int count) {
    ListBuilder b;
    auto vector = [&](DType d, int n) {
      return b.node(Op::VECTORIZE, d.vec(n), std::vector<UOp>(size_t(n), b.constant(d, 1)));
    };
    UOp a = vector(in, count), c = vector(dtypes::float32, 4);
    Graph& g = b.g;
    b.node(Op::WMMA, c.dtype(), {a, a, c}, g.tuple({g.str("wmma"), g.tuple({8, 16, 16}), in, dtypes::float32}));
    return b.render("CUDA:PTX");
  };
  std::string halves = render(dtypes::float16, 4);
  CHECK(contains(halves, "mov.b32\t\t%wmma_in_b32_3, {%const_f16_0, %const_f16_0};"));
  CHECK(contains(halves, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
  CHECK(contains(halves, "mov.b32\t\t%wmma_f32_3, %wmma_acc_b32_3;"));
  CHECK(contains(render(dtypes::float32, 4), "row.col.f32.tf32.tf32.f32"));
  CHECK(contains(render(dtypes::float16, 3),
                 "ERROR the CUDA:PTX:sm_80 renderer cannot express Ops.WMMA of dtypes.float.vec(4): its "
                 "elements do not fill"));
  CHECK(contains(render(dtypes::float64, 2), "there is no tensor core of dtypes.double"));
}

TEST_CASE("python_format replaces fields as Python does, and refuses other formats") {
  std::string_view args[] = {"a", "b"};
  CHECK(format_like_python("{}+{}", args) == "a+b");
  CHECK(format_like_python("f({1}, {0}) {{}}", args) == "f(b, a) {}");
  for (std::string_view bad : {"{2}", "{", "}", "{x}", "{}{}{}", "{}{0}", "{1}{}"})
    CHECK_THROWS_AS(format_like_python(bad, args), Failure);
}

TEST_CASE("each language prints local memory, barriers and launch bounds") {
  ListBuilder b;
  UOp local = b.buffer(dtypes::float32, 0, AddrSpace::LOCAL), size = b.constant(dtypes::int32, 32);
  UOp id = b.node(Op::SPECIAL, dtypes::int32, size, b.g.str("lidx0"));
  b.store(local, id, b.constant(dtypes::float32, 1.0));
  b.node(Op::BARRIER, dtypes::void_, b.list.back());
  std::string cuda = b.render("CUDA");
  CHECK(contains(cuda, "__launch_bounds__(32) test()"));
  CHECK(contains(cuda, "__shared__ __align__(16) float temp0[4];"));
  CHECK(contains(cuda, "int lidx0 = threadIdx.x; /* 32 */"));
  CHECK(contains(cuda, "__syncthreads();"));
  CHECK(contains(b.render("CL"), "__attribute__ ((aligned (16))) __local float temp0[4];"));
  CHECK(contains(b.render("METAL"), "threadgroup_barrier(mem_flags::mem_threadgroup);"));
  std::string wgsl = b.render("WEBGPU");
  CHECK(contains(wgsl, "var<uniform> INFINITY : f32;\nvar<workgroup> temp0: array<f32,4>;\n"));
  CHECK(contains(wgsl, "@workgroup_size(32)"));
  ListBuilder alone;
  alone.constant(dtypes::int32, 1);
  CHECK(contains(alone.render("WEBGPU"), "var<uniform> INFINITY : f32;\n\n@compute"));
  std::string amd = b.render("AMD:LLVM");
  CHECK(contains(amd, "@local_0 = internal unnamed_addr addrspace(3) global [4 x float*] undef, align 16\n"));
  CHECK(contains(amd, "\"amdgpu-flat-work-group-size\"=\"1,32\""));
  CHECK(contains(b.render("CPU"), "ERROR"));  // CPUs have no local indices, so rendering fails
}

TEST_CASE("source_map gives each node its lines, and none to parameters and inlined nodes") {
  for (std::string_view name : {"CPU:CLANG", "CPU:LLVM", "CUDA:PTX:sm_80", "WEBGPU:WGSL"}) {
    ListBuilder b;
    UOp out = b.buffer(dtypes::float32, 0), in = b.buffer(dtypes::float32, 1);
    bool ptx = name == "CUDA:PTX:sm_80";  // PTX's loads need int64 addresses, so its list has no loads
    if (ptx) {
      b.constant(dtypes::float32, 2.5), b.constant(dtypes::float32, 3.5);
    } else {
      UOp one = b.constant(dtypes::int32, 1), value = b.load(in, one);
      b.store(out, one, value);
    }
    Target t = target(name);
    auto map = make_source_map(t, b.list);
    auto source = render_source(t, b.list);
    REQUIRE(map.ok());
    REQUIRE(source.ok());
    REQUIRE(map->lines_of_node.size() == b.list.size());
    CHECK(map->lines_of_node[0].num_lines == size_t(ptx));  // a parameter prints no lines, but PTX loads its parameters
    std::string last = map->source_lines.at(map->lines_of_node.back().first_line - 1), text;
    CHECK(contains(last, ptx ? "0f40600000" : name == "CPU:LLVM" ? "store float" : "="));
    for (const std::string& line : map->source_lines) text += line + "\n";
    CHECK(text.substr(0, source->size()) == *source);
  }
}

TEST_CASE("AMD: a vector of fp8 is converted by the instruction for scalars, as in tinygrad") {
  ListBuilder b;
  DType narrow = dtypes::fp8e4m3.vec(4), wide = dtypes::float32.vec(4);
  UOp out = b.buffer(dtypes::fp8e4m3, 0), in = b.buffer(dtypes::fp8e4m3, 1), zero = b.constant(dtypes::int32, 0);
  auto place = [&](UOp buffer) {
    UOp index = b.node(Op::INDEX, buffer.dtype(), {buffer, zero});
    return b.node(Op::CAST, narrow.ptr(4), index);
  };
  UOp x = b.node(Op::CAST, wide, b.node(Op::LOAD, narrow, place(in)));
  UOp y = b.node(Op::CAST, narrow, b.node(Op::ADD, wide, {x, x}));
  b.node(Op::STORE, dtypes::void_, {place(out), y});
  std::string text = b.render("AMD:HIP:gfx942");
  CAPTURE(text);
  CHECK(contains(text, "__builtin_amdgcn_cvt_f32_fp8((unsigned int)val0, 0)"));
  CHECK(contains(text, "f32_to_fp8((cast0+cast0), 0)"));
  CHECK(!contains(text, "convertvector"));
  std::string ir = b.render("AMD:LLVM:gfx942");
  CAPTURE(ir);
  CHECK(contains(ir, "_i32 = zext i8 %v"));
  CHECK(contains(ir, " = call float @llvm.amdgcn.cvt.f32.fp8(i32 %v"));
  CHECK(contains(ir, " = call i8 @f32_to_fp8(<4 x float>  %v"));
}

TEST_CASE("C: a launch size without an infix form is printed as its repr, as in tinygrad") {
  ListBuilder b;
  UOp n = b.node(Op::DEFINE_VAR, dtypes::int32, {}, b.g.tuple({b.g.str("n"), 1, 7}));
  UOp size = b.node(Op::BITCAST, dtypes::int32, b.node(Op::BITCAST, dtypes::uint32, n));
  UOp data = b.buffer(dtypes::float32, 0), at = b.node(Op::SPECIAL, dtypes::int32, size, b.g.str("gidx0"));
  b.store(data, at, b.constant(dtypes::float32, 1.0));
  CHECK(contains(b.render("CUDA:CUDA:sm_80"),
                 "int gidx0 = blockIdx.x; /* UOp(Ops.BITCAST, dtypes.int, arg=None, src=(\n"
                 "  UOp(Ops.BITCAST, dtypes.uint, arg=None, src=(\n"
                 "    UOp(Ops.DEFINE_VAR, dtypes.int, arg=('n', 1, 7), src=()),)),)) */"));
}
