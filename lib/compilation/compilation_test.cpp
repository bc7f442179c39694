#include "lib/compilation/compilation.h"

#include <doctest/doctest.h>

#include "lib/compilation/dump.h"
#include "lib/support/testing.h"
#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

constexpr const char* kKernel =
    "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 0)\nc2 = UOp.range(8, 0, AxisType.LOOP)\n"
    "c4 = UOp.const(dtypes.float, 1.0)\nc6 = c0.index(c2, ptr=True).store(c4).end(c2)\nast = c6.sink()\n";

InputGraph load(const std::string& text) {
  auto loaded = load_graph_text(Settings(), InputKind::Pyrender, text, "test");
  REQUIRE_MESSAGE(loaded.ok(), loaded.diag().text());
  loaded->info.name = "k";
  return std::move(*loaded);
}

Compilation begin(InputGraph in, CompilationSpec spec = {.target = "CPU:CLANG"}) {
  auto c = Compilation::begin(std::move(in), std::move(spec));
  REQUIRE_MESSAGE(c.ok(), c.diag().text());
  return std::move(*c);
}

InputGraph tensor_graph() {
  auto reader = GoldenReader::open(test_path("golden/tensor.jsonl.gz"));
  auto record = reader->next_record();
  REQUIRE(record.ok());
  return load((*record)->ast);
}

}  // namespace

TEST_CASE("stage rows: every name, alias and slug finds its row, and rows are in pipeline order") {
  for (const StageRow& row : stage_rows()) {
    CHECK(find_stage_row(row.name) == &row);
    CHECK(find_stage_row(row.slug)->name == row.name);
    if (!row.alias.empty() && row.kind != StageRow::Kind::Output) CHECK(find_stage_row(row.alias) == &row);
  }
  CHECK(find_stage_row("EXPANDER") == &get_stage_row("expander"));
  CHECK(find_stage_row("expandr") == nullptr);
  CHECK(unknown_stage_error("expandr").expected.find("expander") != std::string::npos);
  CHECK(&get_stage_row("split kernels") < &get_stage_row(StageRow::Kind::Schedule));
  CHECK(&get_stage_row("add control flow") < &get_stage_row(OutputKind::List));
  CHECK(get_stage_row("asm").is(OutputKind::Compiled));
}

TEST_CASE("step runs the stages that apply, in order, up to the launch facts") {
  Compilation c = begin(load(kKernel));
  CHECK(c.last_row() == nullptr);
  const StageRow* last = nullptr;
  size_t graphs = 0;
  while (const StageRow* row = c.next_row()) {
    CHECK(row > last);
    auto step = c.run_step();
    REQUIRE(step.ok());
    CHECK(step->row == row);
    CHECK(c.last_row() == row);
    graphs += row->is_graph_stage();
    last = row;
  }
  CHECK(last->name == "program");
  CHECK(graphs > 10);
  CHECK(c.list()->size() > 5);
  CHECK(c.row_output(get_stage_row(OutputKind::Source))->find("void ") != std::string::npos);
  CHECK(c.row_output(get_stage_row(OutputKind::LaunchFacts))->find("global_size") != std::string::npos);
  CHECK_FALSE(c.row_output(get_stage_row(StageRow::Kind::Schedule)).ok());
}

TEST_CASE("a view that each iteration of an OUTER range makes is one buffer") {
  auto c = begin(load(R"(c2 = UOp.new_buffer('CPU', 4, dtypes.float, 1)
c4 = c2.forced_reshape((4,))
c5 = UOp.range(4, 104, AxisType.OUTER)
c6 = UOp(Ops.VECTORIZE, dtypes.index, (c5,))
c9 = UOp(Ops.VECTORIZE, dtypes.index, ((c5+UOp.const(dtypes.index, 1)),))
c10 = c4.shrink(((c5, (c5+UOp.const(dtypes.index, 1))),))
c14 = c10.reduce(c5, arg=Ops.ADD).pad(((2, 1),))+c4
c16 = c14.r(Ops.MAX, (0,)).copy_to_device('CPU')
c19 = UOp.new_buffer('DISK:weights', 128, dtypes.uchar, 2)
c25 = c19.bitcast(dtypes.half).reshape((4,16)).permute((1, 0)).flip((0, 1)).copy_to_device('CPU')
ast = c16.sink(c25)
)"));
  auto& schedule = c.schedule();
  REQUIRE_MESSAGE(schedule.ok(), schedule.diag().text());
  size_t made = 0, views = 0;
  for (const ScheduleItem& item : schedule->items) made += item.ast.is(Op::BUFFER_VIEW);
  for (const ScheduleBuffer& b : schedule->buffers) views += b.view_of.has_value();
  CHECK(made == 4);
  CHECK(views == 1);
}

TEST_CASE("launch facts print variables as JSON, including bool variables") {
  std::string text = kKernel;
  const std::string stored = "UOp.const(dtypes.float, 1.0)";
  text.replace(text.find(stored), stored.size(),
               "UOp.variable('b', False, True, dtype=dtypes.bool).where(UOp.variable('n', 1, 9, dtype=dtypes.int)"
               ".cast(dtypes.float), UOp.const(dtypes.float, 1.0))");
  Compilation c = begin(load(text));
  auto facts = c.row_output(get_stage_row(OutputKind::LaunchFacts));
  REQUIRE_MESSAGE(facts.ok(), facts.diag().text());
  CHECK(facts->find("vars: [\"b\", false, true] [\"n\", 1, 9]\n") != std::string::npos);
}

TEST_CASE("launch facts print a size without an infix form as its repr, as tinygrad does") {
  const char* text =  // 8 * i work groups; WEBGPU computes 8 * i with a shift of a uint
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(128), (), 0)\n"
      "r = UOp(Ops.RANGE, dtypes.index, (UOp.variable('i', 1, 16),), (0, AxisType.LOOP))\n"
      "s = UOp.range(8, 1, AxisType.LOOP)\n"
      "ast = a.index(r*8+s, ptr=True).store(UOp.const(dtypes.float, 1.0)).end(r, s).sink()\n";
  Compilation c = begin(load(text), {.target = "WEBGPU"});
  std::string facts = c.row_output(get_stage_row(OutputKind::LaunchFacts)).value_or_throw();
  const std::string size = "UOp(Ops.BITCAST, dtypes.int, arg=None, src=(\n"
                           "  UOp(Ops.SHL, dtypes.uint, arg=None, src=(\n"
                           "    UOp(Ops.BITCAST, dtypes.uint, arg=None, src=(\n"
                           "      UOp(Ops.DEFINE_VAR, dtypes.int, arg=('i', 1, 16), src=()),)),\n"
                           "    UOp(Ops.CONST, dtypes.uint, arg=3, src=()),)),))";
  CHECK(facts.find("global_size: " + size + " 1 1\n") != std::string::npos);
  CHECK(facts.find("ops: 0\n") != std::string::npos);
  CHECK(facts.find("lds: (4*" + size + ")\n") != std::string::npos);
}

TEST_CASE("a compilation resumes after the stage that its input names, and a fork is independent") {
  Compilation whole = begin(load(kKernel)), half = begin(load(kKernel));
  std::string source = *whole.source();
  REQUIRE(half.run_through_stage(get_stage_row("expander")).ok());
  CHECK(half.last_row() == &get_stage_row("expander"));
  auto fork = half.fork();
  REQUIRE(fork.ok());
  CHECK(&fork->graph() != &half.graph());
  CHECK(fork->last_row() == half.last_row());
  CHECK(*fork->source() == source);
  CHECK(half.last_row() == &get_stage_row("expander"));
  InputGraph resumed = load(*pyrender(half.current_graph()));
  resumed.info.stage = "expander";
  CHECK(*begin(std::move(resumed)).source() == source);
  CHECK(*whole.fork()->source() == source);

  Compilation tensor = begin(tensor_graph(), {});
  REQUIRE(tensor.run_through_stage(get_stage_row("earliest rewrites")).ok());
  auto again = tensor.fork();
  REQUIRE(again.ok());
  CHECK(again->last_row() == tensor.last_row());
  CHECK(*pyrender(again->current_graph()) == *pyrender(tensor.current_graph()));
  CHECK(again->kernel_numbers() == tensor.kernel_numbers());
}

TEST_CASE("a tensor graph has a schedule and a compilation for each kernel") {
  Compilation c = begin(tensor_graph(), {});
  CHECK(c.is_tensor_graph());
  auto kernels = c.kernels();
  REQUIRE(kernels.ok());
  REQUIRE(!kernels->empty());
  CHECK(c.last_row() == &get_stage_row(StageRow::Kind::Schedule));
  for (Compilation& k : *kernels) {
    CHECK(k.name().starts_with("k."));
    CHECK(k.source().ok());
  }
  CHECK(c.kernel(1000).diag().message == "the schedule of 'k' has no kernel '1000'");
  CHECK(c.row_output(get_stage_row(StageRow::Kind::Schedule))->find("kernel") != std::string::npos);
  CHECK(c.row_output(get_stage_row(OutputKind::Source)).diag().message.find("is a tensor graph") != std::string::npos);
  InputGraph later = load(*pyrender(begin(tensor_graph(), {}).current_graph()));
  later.info.stage = "earliest rewrites";
  Compilation resumed = begin(std::move(later), {}), stepped = begin(tensor_graph(), {});
  CHECK(resumed.schedule().diag().message.find("needs data of all stages") != std::string::npos);
  double before = 0;
  while (stepped.next_row()) {
    REQUIRE(stepped.run_step().ok());
    CHECK(stepped.schedule_seconds() > before);
    before = stepped.schedule_seconds();
  }
  REQUIRE(stepped.schedule().ok());
  CHECK(stepped.schedule_seconds() == before);
}

TEST_CASE("stepping a tensor graph that is the result of a stage fails at the schedule") {
  InputGraph later = load(*pyrender(begin(tensor_graph(), {}).current_graph()));
  later.info.stage = (&get_stage_row(StageRow::Kind::Schedule) - 1)->name;
  Compilation c = begin(std::move(later), {});
  REQUIRE(c.next_row() == &get_stage_row(StageRow::Kind::Schedule));
  CHECK(c.run_step().diag().message.find("needs data of all stages") != std::string::npos);
  CHECK(c.next_row() == nullptr);
}

TEST_CASE("a tensor graph resumes after any stage, and runs the following stages without crashing") {
  Compilation whole = begin(tensor_graph(), {});
  while (whole.next_row()->tensor) {
    REQUIRE(whole.run_step().ok());
    InputGraph later = load(*pyrender(whole.current_graph()));
    later.is_tensor_graph = true;
    later.info.stage = whole.last_row()->name;
    Compilation resumed = begin(std::move(later), {});
    while (resumed.next_row() && resumed.next_row()->tensor)
      if (!resumed.run_step()) break;  // a stage may need data of earlier stages
    CHECK_FALSE(resumed.schedule().ok());
  }
}

TEST_CASE("begin refuses unknown stages, targets and opts, and stages of the wrong level") {
  auto refused = [](InputGraph in, CompilationSpec spec) {
    auto c = Compilation::begin(std::move(in), std::move(spec));
    return c ? std::string() : c.diag().text();
  };
  InputGraph unknown = load(kKernel), of_tensors = load(kKernel), text = load(kKernel);
  unknown.info.stage = "expandr", of_tensors.info.stage = "multi_pm", text.info.stage = "source";
  CHECK(refused(std::move(unknown), {}).find("unknown stage 'expandr', expected expander") != std::string::npos);
  CHECK(refused(std::move(of_tensors), {})
        .find("a kernel cannot be the result of 'multi_pm', expected a stage of kernels") != std::string::npos);
  CHECK(refused(std::move(text), {}).find("a kernel cannot be the result of 'source'") != std::string::npos);
  CHECK(refused(load(kKernel), {.target = "NOWHERE"}).find("NOWHERE") != std::string::npos);
  CHECK(refused(load(kKernel), {.opts = "[Opt("}).find("--opts") != std::string::npos);
}

TEST_CASE("after a stage fails, every later call returns its error") {
  CompilationSpec spec{.target = "CPU:CLANG", .opts = "[Opt(OptOps.TC, 0, (0, 0, 1))]"};  // no tensor core fits
  Compilation c = begin(load(kKernel), spec);
  auto status = c.run_through_stage(get_stage_row(OutputKind::List));
  REQUIRE_FALSE(status.ok());
  CHECK(status.diag().message.find("stage 'apply opts'") != std::string::npos);
  CHECK(c.next_row() == nullptr);
  CHECK(c.run_step().diag().message == status.diag().message);
  CHECK(c.list().diag().message == status.diag().message);
  CHECK(c.source().diag().message == status.diag().message);
  CHECK_FALSE(c.fork().ok());
}

TEST_CASE("a watcher gets every row, and `end` before the graph is freed, also when a stage fails") {
  struct Log : StageObserver {
    std::string text;
    void begin_compilation(Compilation& c) override { text += "begin " + c.name() + "\n"; }
    void begin_stage(const StageRow& row, UOp) override { text += std::string(row.name); }
    void end_stage(const StageRow&, UOp result) override { text += result ? ".\n" : " failed.\n"; }
    void end_compilation(Compilation& c) override {
      text += "end " + c.name() + " of " + std::to_string(c.graph().size() > 0) + "\n";
    }
  };
  Log all, failed, tensor;
  REQUIRE(run_with_observer(begin(load(kKernel)), all).ok());
  CHECK(all.text.starts_with("begin k\nearly movement ops.\n"));
  CHECK(all.text.ends_with("add control flow.\nlinear.\nend k of 1\n"));
  CHECK_FALSE(run_with_observer(begin(load(kKernel), {.opts = "[Opt(OptOps.TC, 0, (0, 0, 1))]"}), failed).ok());
  CHECK(failed.text.ends_with("apply opts failed.\nend k of 1\n"));
  REQUIRE(run_with_observer(begin(tensor_graph(), {}), tensor).ok());
  CHECK(tensor.text.find("schedule.\nend k of 1\nbegin k.") != std::string::npos);
  Log first, second;
  Compilation c = begin(load(kKernel));
  c.set_stage_observer(&first);
  c.set_stage_observer(&second);
  Compilation moved = std::move(c);
  CHECK(first.text == "begin k\nend k of 1\n");
  InputGraph back = std::move(moved).take_input();
  CHECK(second.text == "begin k\nend k of 1\n");
  CHECK(back.graph->size() > 0);
}

TEST_CASE("a dump contains the requested stages and outputs, also of the kernels of a tensor graph") {
  auto dumped = [](InputGraph in, const char* stages, const char* format = "") {
    auto plan = make_dump_plan(stages, format);
    REQUIRE(plan.ok());
    plan->num_threads = 2;
    Compilation c = begin(std::move(in), {});
    auto texts = make_dump_texts(c, *plan);
    REQUIRE_MESSAGE(texts.ok(), texts.diag().text());
    return std::move(*texts);
  };
  auto asked = dumped(load(kKernel), "expander,source");
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].file_name("k") == "k.11.expander.uop");
  CHECK(asked[1].row->is(OutputKind::Source));
  auto changed = dumped(load(kKernel), "changed"), everything = dumped(load(kKernel), "all");
  CHECK(changed.size() < everything.size());
  CHECK(everything.front().row->name == "ast");
  CHECK(everything.back().row->name == "program");
  CHECK(dumped(load(kKernel), "", "json")[0].extension == "json");
  CHECK(dumped(load(kKernel), "schedule").empty());
  auto tensor = dumped(tensor_graph(), "rangeify,source");
  REQUIRE(tensor.size() >= 2);
  CHECK(tensor[0].graph_name == "k");
  CHECK(tensor.back().graph_name.starts_with("k."));
  CHECK(make_dump_plan("expandr", "").diag().message == "unknown stage 'expandr'");
  CHECK(make_dump_plan("", "jsn").diag().expected == "json");
}
