#include "lib/execute/schedule_run.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "lib/runtime/contained_device.h"
#include "lib/runtime/host_device.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

// Two kernels: the squares of 0 1 2 3 4 5 (kept in a buffer), and their sum.
struct SumOfSquares {
  Graph graph;
  BufferValues known;
  std::array<float, 6> data{0, 1, 2, 3, 4, 5};
  UOp buffer = graph.node(
      Op::BUFFER, dtypes::float32,
      {graph.node(Op::UNIQUE, dtypes::void_, {}, 0), graph.node(Op::DEVICE, dtypes::void_, {}, graph.str("CPU"))}, 6);
  UOp sink;

  explicit SumOfSquares(const Settings& settings = {}) : graph(settings) {
    UOp squares = graph.node(Op::CONTIGUOUS, dtypes::float32, graph.node(Op::MUL, dtypes::float32, {buffer, buffer}));
    UOp sum = graph.node(Op::REDUCE_AXIS, dtypes::float32, squares, graph.tuple({Op::ADD, graph.tuple({0})}));
    sink = graph.sink({graph.node(Op::CONTIGUOUS, dtypes::float32, sum)});
    known[buffer] = {reinterpret_cast<const uint8_t*>(data.data()), sizeof data};
  }
  Result<ScheduleResult> run(ScheduleRunner& runner, const ScheduleOptions& options = {}) {
    Schedule schedule = std::move(runner.schedule(sink).value_or_throw());
    OutputRequest wanted{schedule.output_buffers[0][0], dtypes::float32, {1}};
    return runner.run_schedule(schedule, known, {&wanted, 1}, options);
  }
};

Placement place_on(const std::string& device, const std::string& target = "") {
  return std::move(choose_placement(device, target, {}).value_or_throw());
}

struct Told : ExecuteObserver {
  std::vector<std::string> words;
  bool refuses = false;
  void on_schedule_made(const TensorJob&, const Schedule& s, double) override {
    words.push_back("scheduled " + std::to_string(s.items.size()));
  }
  bool observes_kernels() const override { return true; }
  bool should_time_kernels() const override { return true; }
  void on_kernel_begin(UOp) override { words.push_back("begins"); }
  Status on_kernel_lowered(UOp, KernelOutputs& outputs) override {
    words.push_back(outputs.source() ? "lowered" : "no source");
    return refuses ? Status(Diag{"refused"}) : Status(Unit{});
  }
  void on_kernel_run(const ProgramInfo&, const Target& target, double bytes, std::span<const double> seconds) override {
    words.push_back("ran on " + target.device + " with " + std::to_string(int(bytes)) + " bytes, timed " +
                    std::to_string(seconds.size()));
  }
};

struct DyingKernel : Kernel {
  using Kernel::Kernel;
  Status launch(const LaunchArguments&) override {
    raise(SIGSEGV);
    return Unit{};
  }
};
struct SlowKernel : Kernel {
  SlowKernel(Device& device, double seconds) : Kernel(device), seconds_(seconds) {}
  Status launch(const LaunchArguments&) override {
    usleep(useconds_t(1e6 * seconds_));
    return Unit{};
  }

 private:
  double seconds_;
};

struct BoastingDevice : HostDevice {
  Status open() override { return Unit{}; }
  std::string target() const override { return "CPU:CLANG"; }
  std::string description() const override { return "boasts"; }
  Result<DeviceBuffer> allocate(uint64_t bytes) override { return HostDevice::allocate(16 * bytes); }
  Result<std::unique_ptr<Kernel>> load(const KernelSource&, const std::string&) override { return Diag{"no kernels"}; }
};

}  // namespace

TEST_CASE("ScheduleRunner: no more memory is read from a worker than was asked for") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  BoastingDevice boasting;
  ContainedDevice worker(boasting, "boasting", 20);
  REQUIRE(worker.open());
  DeviceBuffer buffer = worker.allocate(4).value_or_throw();
  CHECK(buffer.bytes == 4);
  std::array<uint8_t, 8> here{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(worker.copy_in(buffer, here.data()));
  here.fill(9);
  CHECK(worker.copy_out(here.data(), buffer));
  CHECK(here == std::array<uint8_t, 8>{1, 2, 3, 4, 9, 9, 9, 9});
}

TEST_CASE("ScheduleRunner: REF's kernels run in a worker, each with the whole time limit") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  auto ref = make_ref_device();
  // the time limit is for each kernel: four kernels that take half of it pass; a busy machine may need longer limits
  auto run = [&](double each) -> std::string {
    ContainedDevice worker(*ref, "REF", each);
    auto dying = worker.adopt_kernel(std::make_unique<DyingKernel>(*ref), "bad"),
         slow = worker.adopt_kernel(std::make_unique<SlowKernel>(*ref, each / 2), "slow");
    REQUIRE(worker.open());
    for (int i = 0; i < 4; i++) REQUIRE(slow->launch({}));
    if (auto done = worker.synchronize(); !done) return done.diag().message;
    CHECK(dying->launch({}));
    auto done = worker.synchronize();
    REQUIRE(!done);
    return done.diag().message;
  };
  std::string said = run(0.5);
  for (double longer : {2.0, 8.0})
    if (said.find("did not end within") != said.npos) said = run(longer);
  CHECK(said.starts_with("kernel 'bad' on REF: killed by SIGSEGV"));
}

TEST_CASE("ScheduleRunner: a schedule computes the same on REF, on REF lowered for a GPU, and on the CPU") {
  for (auto [device, target] :
       {std::pair("REF", ""), {"REF", "CUDA:CUDA:sm_80"}, {"CPU:LLVM", ""}, {"CPU:CLANG", ""}}) {
    CAPTURE(device);
    Placement place = place_on(device, target);
    SumOfSquares graph;
    ScheduleRunner runner(place, 2);
    for (int i = 0; i < 2; i++) {
      auto result = graph.run(runner, {.timed_runs = 2});
      REQUIRE_MESSAGE(result.ok(), result.diag().text());
      CHECK(result->num_kernels == 2);
      CHECK(result->values[0].as<float>()[0] == 55);
      CHECK(result->timed_kernels.size() == 2);
    }
  }
}

TEST_CASE("ScheduleRunner: on_kernel receives every kernel with its arrays before and after") {
  Placement place = place_on("CPU");
  SumOfSquares graph;
  ScheduleRunner runner(place);
  std::vector<float> sums;
  auto result = graph.run(runner, {.on_kernel = [&](const ScheduledKernelRun& step) {
    CHECK(step.kernel_number == sums.size());
    CHECK(find_array(step.before, "data1")->as<float>()[3] == (step.kernel_number ? 9 : 3));
    sums.push_back(find_array(step.after, "data0")->as<float>()[0]);
  }});
  REQUIRE(result.ok());
  CHECK(sums == std::vector<float>{0, 55});
}

TEST_CASE("ScheduleRunner: an observer that watches sees kernels one after another, and may refuse one") {
  Placement place = place_on("CPU");
  SumOfSquares graph;
  Told told;
  ScheduleRunner runner(place, 2, &told);
  REQUIRE(graph.run(runner).ok());
  CHECK(told.words == std::vector<std::string>{"scheduled 2", "begins", "lowered", "ran on CPU with 48 bytes, timed 1",
                                               "begins", "lowered", "ran on CPU with 52 bytes, timed 1"});
  Told refusing;
  refusing.refuses = true;
  ScheduleRunner another(place, 2, &refusing);
  auto result = graph.run(another);
  REQUIRE(!result.ok());
  CHECK(result.diag().message == "refused");
}

TEST_CASE("ScheduleRunner: a missing input value and a failed schedule are errors") {
  Placement place = place_on("REF");
  SumOfSquares graph;
  graph.known.clear();
  ScheduleRunner runner(place);
  auto result = graph.run(runner);
  REQUIRE(!result.ok());
  CHECK(result.diag().message == "a buffer has no values");
  CHECK(!runner.schedule(graph.graph.sink({graph.graph.node(Op::BARRIER, dtypes::void_, {})})).ok());
}

}  // namespace tgc
