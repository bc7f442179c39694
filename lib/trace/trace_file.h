// Writes and reads trace files: the events of a trace (lib/compilation/trace_events.h) as JSON lines, compressed if the
// file name ends with ".gz".
//
//   {"format":"tgc-trace","version":2}
//   {"id":17,"op":"MUL",...}                                node #17, before its first use (graph_json.h)
//   ["graph","tinygrad 0.14"]                               a new graph of this release (0.12 if none is given);
//                                                           events name a node by the number of its line among the
//                                                           lines of nodes after this one, from 0
//   ["kernel","NAME","TARGET",node]     ["made_for","add (model.py:12::forward)"]
//   ["stage","postopt symbolic",node] ... ["stage_end",node]
//   ["begin",depth,"NAME",node,number of rules (0 if unknown),is_bottom_up,"SET"] ... ["end",depth,node or null]
//   ["rule","add-zero","passes/symbolic/simple.cpp",131,"","uop/symbolic.py:42"]
//                                    before the rule's first use: name, file, line, branch, and line in tinygrad;
//                                    rules are numbered from 0
//   ["rewrite",depth,rule,before,after,first_made,end_made,ns]    see TraceCost; ns: nanoseconds, -1 if unknown
//   ["rebuilt",depth,before,after]   ["gated",depth,node]
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/compilation/replay_rewrites.h"
#include "lib/compilation/trace_events.h"
#include "lib/support/result.h"
#include "lib/support/write_file.h"
#include "lib/text/graph_json.h"

namespace tgc {

// Checks a trace: the traced rewrites, applied to the input of a graph rewrite, must give the traced result.
class TraceReplay : public TraceConsumer {
 public:
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end_rewrite(int depth, UOp result) override;
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void on_node_gated(int depth, UOp node) override;

  size_t num_same() const { return num_same_; }
  size_t num_different() const { return num_different_; }
  std::string text() const;  // the counts as one line of text

 private:
  struct PendingRewrite {
    UOp input;
    bool is_bottom_up;
    std::vector<std::pair<UOp, UOp>> rewrites;
    std::vector<UOp> gates;
  };
  std::vector<PendingRewrite> pending_rewrites_;  // rewrites in progress, by depth
  size_t num_same_ = 0, num_different_ = 0;
};

class TraceWriter : public TraceConsumer {
 public:
  static Result<std::unique_ptr<TraceWriter>> create(const std::string& path);
  ~TraceWriter() override;
  // Completes the file. Without this call, no file is written. Returns an error if writing fails.
  Status close();

  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override;
  void user_operation(std::string_view what) override;
  void end_kernel() override { node_writer_.reset(); }  // node_writer_ must not outlive the graph
  void abandon_kernel() override { node_writer_.reset(); }
  void begin_stage(std::string_view name, UOp input) override;
  void end_stage(UOp result) override;
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end_rewrite(int depth, UOp result) override;
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void on_node_rebuilt(int depth, UOp before, UOp after) override;
  void on_node_gated(int depth, UOp node) override;

 private:
  TraceWriter(std::string path, FileWriter whole, void* file)
      : file_path_(std::move(path)), file_writer_(std::move(whole)), file_(file) {}
  std::string node_json(UOp u);
  void write_line(const std::string& text);
  void flush_buffer();

  std::string file_path_;
  FileWriter file_writer_;
  void* file_;  // zlib's gzFile, which writes to file_writer_
  bool has_failed_ = false;
  std::string output_buffer_;
  std::unique_ptr<JsonNodeWriter> node_writer_;
  Graph* current_graph_ = nullptr;
  // by the file, line and branch of the rule
  std::map<std::tuple<std::string_view, uint32_t, std::string_view>, size_t> rule_numbers_;
};

// Returns true if the file is a trace file; false for standard input ("-").
bool is_trace_file(const std::string& path);
// Sends the events of a file to `to`. Returns an error if the file cannot be read, has another version, or is
// damaged.
Status read_trace(const std::string& path, TraceConsumer& to);

}  // namespace tgc
