// The recorded pipeline of one kernel: the graphs, rewrites and linear list that tinygrad itself made, as nodes of one
// graph of tinygrad's release (lib/import turns them into tgc's IR).
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/text/recorded_rewrites.h"

namespace tgc {

class RecordedPipeline {
 public:
  struct Row {
    const GoldenStage* stage = nullptr;  // null for the row "linear"
    std::string name;
    UOp input;                    // the graph before the stage
    UOp result;                   // the graph after it; `input` if the stage changed nothing; empty: not recorded
    std::vector<UOp> list = {};   // the linear list, of the row "linear" only
    std::span<const RecordedMatch> matches = {};  // the rewrites of the stage in order, nested ones included

    bool changes_graph() const { return !(result == input); }
    // Returns the rewrites of the stage itself, without those that were made while a rule ran: those of the smallest
    // depth. It is not 0 if the stage runs in a group of stages, as those of a schedule do.
    std::vector<const RecordedMatch*> own_matches() const;
    // Returns the graph after the first `count` of own_matches(), which this function repeats on `input`. With
    // `bottom_up`, rewrites a node before its sources. Returns an empty UOp if the rewrites nest too deep.
    UOp replay(size_t count, bool bottom_up) const;
  };

  // Reads the texts of `record`, of the tinygrad release `producer`. `file` is the file's name in messages.
  static Result<RecordedPipeline> read(std::shared_ptr<const GoldenRecord> record, const std::string& producer,
                                       const std::string& file);

  Graph& graph() const { return *graph_; }
  UOp ast() const { return ast_; }
  std::span<const Row> rows() const { return rows_; }
  bool has_matches() const { return !matches_.empty(); }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  UOp ast_;
  std::shared_ptr<const GoldenRecord> record_;
  std::vector<RecordedMatch> matches_;
  std::vector<Row> rows_;
};

}  // namespace tgc
