// Runs kernels, models, tensor graphs, recorded schedules and ONNX conformance cases, and compares what they store with
// expected arrays, such as those of a file, of another device, or of REF.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/execute/schedule_run.h"
#include "lib/run/run_options.h"
#include "lib/run/run_report.h"
#include "lib/run/schedule_order.h"

namespace tgc {

// Runs one kernel as `tgc run` does, and writes the files that OutputOptions demand. Errors, also those of the input,
// are in the report, as is a command that repeats a failure, if there is one.
RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& options);

// The report of a model, tensor graph or recorded schedule.
struct ModelReport {
  std::string model, device;       // `device`: such as "CPU:LLVM"
  bool is_schedule = false;        // true if `model` is the id of a recorded schedule
  std::string kernel_ids;          // ids of a recorded schedule's first kernels: "k.5, k.6"
  std::string device_option;
  std::string graph_device;        // recorded device of a tensor graph of 0.12.0, as recorded_device() returns it
  std::optional<uint64_t> seed;    // unset if no input is random
  std::string arrays_file = {};    // file of --inputs; empty if a recorded schedule uses no array of it
  // buffers of a recorded schedule that have an array of --inputs; random buffers that it reads
  std::set<std::string> given_arrays = {}, drawn_arrays = {};
  std::string float_distribution;  // empty for the default distribution
  // other inputs with which a run failed, such as "whole numbers", or also passed: "also of all sizes"
  std::string input_set_note = {};
  double load_seconds = 0;
  double build_seconds = 0;       // time of building or scheduling the graph, or of reading a recorded schedule
  double total_seconds = 0;       // time of scheduling, compiling and running
  ScheduleResult schedule_result;
  int timed_runs = 0;
  // names of `schedule_result.values`: those of the model, or names such as data0 and value0
  std::vector<std::string> result_names;
  // comparisons with the arrays of --expect or, for a recorded schedule, with the results of its tensor graph
  std::vector<Comparison> comparisons;
  // number of elements of each result that was not compared, because rounding decides many of them
  std::map<std::string, int64_t> not_decided_elements = {};
  std::string reference;            // what the results were compared with, such as a file or REF
  size_t num_confirmed_kernels = 0;  // kernels whose results REF confirmed
  size_t num_clean_sanitized_kernels = 0;
  std::optional<StageDifference> stage_difference = {};
  bool has_no_stores = false;
  // values of a recorded graph's variables, by name: "3, recorded" or "3, given"
  std::map<std::string, std::string> variables = {};
  // numbers of the recorded kernels that store to a buffer with a wrong result, or that have the hazard
  std::set<size_t> wrong_kernels = {};
  // the hazard that fails the run: two iterations of a recorded kernel that access the same element; else empty
  std::string hazard_text = {};
  OrderReport order_report = {};
  std::vector<std::string> notes = {};
  bool is_computed_in_ref = false;  // true if REF computed the graph without a schedule (ModelOptions::is_unscheduled)
  std::vector<std::string> other_tried_values = {};  // values of variables with which more runs passed: "pos=31"
  std::vector<std::string> written_files = {};
  std::string repeat_command = {};
  std::string not_saved_reason;             // why the results of a failed run could not be saved
  // message on the first kernel that differs from REF
  std::string first_different_kernel;
  std::string error;
  bool is_kernel_fault = false;

  // Returns the text of the first array that differs, of the compared outputs or of the wrong stage.
  std::string first_difference() const;
  RunReport::Result result() const;
  int exit_code() const;
  std::string text() const;  // does not contain `error`
  std::string json() const;
};

// With --reference=REF, compares the results of each kernel with REF's, up to the first that differs. Without
// --timeout, leaves out kernels that are too large for REF.
ModelReport run_model(const Session& session, const std::string& path, const RunOptions& options);

// Runs a copy of a tensor graph, because scheduling caches facts that change later rewrites. For a graph of another
// tinygrad release, calls run_recorded_schedule().
ModelReport run_tensor_graph(const Session& session, const InputGraph& in, const RunOptions& options);

// Runs the recorded schedule of another tinygrad release, and compares what its kernels compute with the tensor graph.
// With `finds_stage`, also finds the first wrong stage if they differ or a kernel fails.
ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                                  bool finds_stage = false);

struct ConformanceReport {
  struct SuiteCounts {
    int num_passed = 0, num_wrong = 0, num_errors = 0;
    int num_total() const { return num_passed + num_wrong + num_errors; }
  };
  std::map<std::string, SuiteCounts> suite_counts;
  SuiteCounts all_suites;
  std::string failure_lines;

  int exit_code() const { return all_suites.num_wrong + all_suites.num_errors ? 1 : 0; }
  std::string text() const;
  std::string json() const;
};

// Runs each case in its own worker process, because a kernel may crash. Fails, for example, if the folders contain no
// case, or with a live pipeline.
Result<ConformanceReport> run_onnx_tests(const Session& session, const std::vector<std::string>& folders,
                                         const RunOptions& options);

}  // namespace tgc
