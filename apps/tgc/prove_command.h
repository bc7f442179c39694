#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/driver/failure_collector.h"
#include "lib/driver/session.h"
#include "lib/live/tinygrad_process.h"
#include "lib/prove/live_rules.h"
#include "lib/prove/merge_proofs.h"
#include "lib/prove/prove_kernel.h"

namespace tgc {

struct ProveOptions {
  std::string input = "-", kernel;
  std::string rule, stage;
  bool should_print_json = false, is_strict = false, should_prove_rules = false, should_list_instances = false;
  std::string float_sense = "reals", shard, table_path, program_path;
  std::vector<std::string> reports_to_merge;  // the reports that `tgc prove merge` joins
  std::string merged_report_path;
  bool should_skip_ref_check = false;
  std::optional<double> timeout_seconds = {};
  unsigned num_jobs = 1;
  CompileOverrides overrides{.records_live_rewrites = true};

  // Returns the value of --shard, or 1/1 without --shard. Throws Failure if the value is invalid.
  Shard parsed_shard() const { return Shard::parse(shard.empty() ? "1/1" : shard).value_or_throw(); }
  // Returns the last line of a report with --json and --shard; "" without --shard.
  std::string report_end_line() const { return shard.empty() ? "" : shard_end_line(parsed_shard()); }
  const std::string& live_tinygrad() const { return overrides.live_command; }  // the Python of --live; empty: none
};

// Writes Python programs that show the wrong values of rewrites and rules (--program): FILE.py, FILE-2.py, ...
class ProgramWriter {
 public:
  // Throws Failure if --program is given and --live names no tinygrad.
  explicit ProgramWriter(const ProveOptions& options);
  // Asks the tinygrad of --live for a program that shows the wrong value, and writes the program to the next file.
  // Stores in the proof the name of that file, or why there is no program. Does nothing without --program, or if the
  // proof has no wrong value.
  void write_proof(LiveRuleProof& rule);
  void write_proof(KernelProof& proof);

 private:
  void write_proof(const ProgramQuestion& question, ShownProgram& out);
  std::string program_path_, rule_file_;  // the values of --program and, with --rules, of --rule
  size_t num_written_ = 0;
  std::unique_ptr<TinygradProcess> tinygrad_process_;  // null: no program is wanted
};

// Reads the value of --floats: the weakest sense of floats with which --strict accepts a proof. Throws Failure for an
// unknown name.
FloatSense parse_float_sense(const std::string& name);

// Merges the files `reports_to_merge` into the file `merged_report_path` (empty: standard output). Returns the exit
// code.
int merge_reports(const ProveOptions& options);

// Proves the rules of tgc or, with --live, those of that tinygrad (--rules); returns the exit code.
int prove_selected_rules(const ProveOptions& options);

}  // namespace tgc
