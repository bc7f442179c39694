// Runs a kernel, a model, a tensor graph, a recorded schedule or ONNX conformance cases, and compares what it stores
// with the expected arrays: from a file, from another device, or from REF.
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

// Runs one kernel as `tgc run` does, and compares its results. Stores errors in the report, also those of the input. If
// results are wrong, reports the command that repeats the run, and writes the arrays if OutputOptions names a folder.
// With OutputOptions::repro_path, writes a repro bundle of any failure instead.
RunReport run_kernel(const Session& session, InputGraph& in, const RunOptions& options);

// The report of a model, tensor graph or recorded schedule.
struct ModelReport {
  std::string model, device;       // `device` is, for example, "CPU:LLVM"
  bool is_schedule = false;        // true if `model` is the id of a recorded schedule
  std::string kernel_ids;          // the ids of a recorded schedule's kernels, "k.5, k.6"; empty: not recorded
  std::string device_option;       // value of --device that selects this device
  std::string recorded_on;         // device of the recorded graph's buffers; empty for the CPU
  std::optional<uint64_t> seed;    // seed of the random inputs; unset if no input is random
  std::string arrays_file = {};    // the file of --inputs; empty if it has no array of the graph
  // for a recorded schedule: the names of the buffers that have an array of --inputs, and of those that are random,
  // without buffers that the graph only stores to
  std::set<std::string> given_arrays = {}, drawn_arrays = {};
  std::string float_distribution;  // distribution of the random floats; empty: the default one
  // if the failed run had other inputs than usual: "of all sizes", "whole numbers"; if a second run passed: "also of
  // all sizes"; else empty
  std::string input_sizes = {};
  double load_seconds = 0;        // time of reading the file
  double build_seconds = 0;       // of building or scheduling the graph, or reading a recorded schedule
  double total_seconds = 0;       // time of scheduling, compiling and running
  ScheduleResult schedule_result;
  int timed_runs = 0;
  // names of `schedule_result.values`: those of the model, or names such as data0 and value0
  std::vector<std::string> result_names;
  // comparisons with the expected arrays: those of --expect or, for a recorded schedule, the results of its tensor
  // graph
  std::vector<Comparison> comparisons;
  // by name: the number of elements of each result that was not compared, because rounding decides many of them
  std::map<std::string, int64_t> not_decided_elements = {};
  std::string reference;            // what the results were compared with, such as a file or REF; empty: nothing
  size_t confirmed_kernels = 0;     // number of kernels whose results REF confirmed
  size_t num_without_findings = 0;  // number of kernels in which AddressSanitizer found nothing
  std::optional<StageDifference> stage_difference = {};  // the recorded stages of a graph of another release
  bool stores_nothing = false;       // the graph stores nothing, and its schedule has no kernels
  std::map<std::string, std::string> variables = {};  // values of a recorded graph's variables by name: "3, recorded"
                                                      // or "3, given"
  // numbers of the recorded kernels that store to a buffer with a wrong result, or that have the hazard
  std::set<size_t> wrong_kernels = {};
  // a hazard in a recorded kernel: two iterations access the same element; empty: none was found
  std::string hazard_text = {};
  OrderReport order_report = {};            // faults in the order of a recorded schedule's kernels
  std::vector<std::string> notes = {};  // remarks, for example on what was not compared
  bool is_computed_in_ref = false;  // true if REF computed the graph without a schedule: ModelOptions::is_unscheduled
  std::vector<std::string> also_tried = {};  // values of variables with which a second run of a schedule passed:
                                             // "pos=31"
  std::vector<std::string> written_files = {};     // files that --save-failures wrote
  std::string repeat_command = {};           // the command that repeats a failed run of a schedule with the files in
                                             // `written_files`
  std::string not_kept_reason;             // why the results of a failed run could not be saved; else empty
  // message on the first kernel that differs from REF, with the command to repeat it
  std::string first_different_kernel;
  std::string error;             // the error that ended the run; empty if there is none
  bool is_kernel_fault = false;  // true if `error` is the fault of a kernel: see Diag::kernel_fault

  // Returns the text of the first array that differs, of the compared outputs or of the wrong stage; "" if none
  // differs.
  std::string first_difference() const;
  RunReport::Result result() const;
  int exit_code() const;
  std::string text() const;  // the report of a run without an error
  std::string json() const;  // the report as one line of JSON
};

// Runs the ONNX model of the file `path`. With --reference=REF, compares the results of each kernel with REF's, up to
// the first that differs.
ModelReport run_model(const Session& session, const std::string& path, const RunOptions& options);

// Runs a copy of a tensor graph, because scheduling caches facts in a graph that change later rewrites. For a graph of
// another tinygrad release, calls run_recorded_schedule().
ModelReport run_tensor_graph(const Session& session, const InputGraph& in, const RunOptions& options);

// Runs the recorded schedule of a tensor graph of another tinygrad release, and compares what its kernels compute with
// the tensor graph. `finds_stage`: if the kernels compute something else, find the first wrong stage.
ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                                  bool finds_stage = false);

// The report of folders of ONNX conformance cases (lib/model/conformance.h).
struct ConformanceReport {
  struct SuiteCounts {
    int num_passed = 0, num_wrong = 0, num_errors = 0;
    int num_all() const { return num_passed + num_wrong + num_errors; }
  };
  std::map<std::string, SuiteCounts> suites;
  SuiteCounts all_suites;
  std::string failures;  // one line for each case that failed

  int exit_code() const { return all_suites.num_wrong + all_suites.num_errors ? 1 : 0; }
  std::string text() const;  // returns `failures`, then a table with one row for each suite
  std::string json() const;
};

// Runs the cases of the folders. Each case runs in its own worker process, because a kernel may crash. Fails if the
// folders contain no case, and with a live pipeline (--live).
Result<ConformanceReport> run_onnx_tests(const Session& session, const std::vector<std::string>& folders,
                                         const RunOptions& options);

}  // namespace tgc
