// Writes the data of a GraphRecorder as JSON.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/json_writer.h"
#include "lib/text/formats.h"
#include "lib/view/recording.h"
#include "lib/view/recording_events.h"

namespace tgc {

class RecordingWriter {
 public:
  RecordingWriter(GraphRecorder& from, Compilation* of, const TextOptions& texts)
      : recorder_(from), compilation_(of), text_options_(texts) {}
  std::string write_graph();
  std::string events_json() const;  // valid after write_graph()

 private:
  void choose_nodes();
  std::string hash_structure() const;
  void hash_stage_results();
  void select_node(UOp u);
  int64_t row_of_node(UOp u) const { return u ? node_rows_[u.id()] : -1; }

  void write_nodes();
  void write_deltas(std::string_view key, const std::vector<int64_t>& rows, size_t values);
  void write_node_facts();
  void write_stages();
  void write_model_nodes();
  void write_node_lines(const std::vector<std::pair<UOp, size_t>>& lines);
  void write_texts();
  bool is_printed_by_page(UOp graph) const;
  void write_pyrender(size_t stage, UOp graph);
  using NodeNames = std::map<uint32_t, std::string>;
  std::string text_template_of(std::string_view text, UOp owner, const NodeNames& names) const;
  std::optional<std::vector<std::string>> rows_of_list(const std::vector<UOp>& list, std::string_view text) const;
  void write_linear_list(const std::vector<UOp>& list);
  void write_source(const std::vector<UOp>& list);
  void write_compiled_text(std::string_view row, std::string_view kind);
  void write_text(std::string_view kind, std::string_view text);
  std::string text_of_arg(UOp u);

  GraphRecorder& recorder_;
  Compilation* compilation_;
  TextOptions text_options_;
  std::vector<UOp> linear_list_;  // the list of a kernel that tgc compiled, or empty
  std::vector<UOp> nodes_;        // the rows of the table, sources first
  std::vector<int32_t> node_rows_;  // by node id: the row, or -1
  std::vector<uint32_t> trace_numbers_;
  std::vector<UOp> result_nodes_;  // nodes of the AST and of stages' inputs and results
  std::vector<EventWriter::NodeTexts> row_texts_;
  std::optional<EventWriter> event_writer_;
  TextNumbering pyrender_lines_;
  std::string output_;
  JsonWriter json_writer_{output_};
};

}  // namespace tgc
