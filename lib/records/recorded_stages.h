// Lists the texts of a golden record in order: the AST, the graph after each stage, kernels, and outputs. An unchanged
// stage has the text of the stage before it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/golden.h"

namespace tgc {

struct RecordedStage {
  enum class Kind : uint8_t { Ast, Stage, Kernel, Output };

  Kind kind;
  std::string name;                               // such as "ast", "expander", "kernel 2" or "source"
  std::optional<std::string_view> text;           // the text that loses least; absent if none was recorded
  bool is_unchanged = false;
  std::optional<std::string_view> pyrender = {};  // pyrender text, if it was recorded in addition to `text`

  bool is_graph() const { return kind != Kind::Output; }
};

// Returns a stage's name for file names and the command line: "postopt-symbolic".
std::string slug_of_stage(std::string_view name);

class RecordedStageTexts {
 public:
  // Lists the texts of `record`, or only `ast` for an input that is no record. Either must outlive this object.
  explicit RecordedStageTexts(const GoldenRecord& record);
  explicit RecordedStageTexts(std::string_view ast) { stages_.push_back({RecordedStage::Kind::Ast, "ast", ast}); }
  RecordedStageTexts(const RecordedStageTexts&) = delete;

  auto begin() const { return stages_.begin(); }
  auto end() const { return stages_.end(); }
  size_t size() const { return stages_.size(); }
  const RecordedStage& operator[](size_t i) const { return stages_[i]; }
  // True if entry `i` is a stage whose text differs from that of the entry before it.
  bool is_changed(size_t i) const {
    const RecordedStage& s = stages_[i];
    return s.kind == RecordedStage::Kind::Stage && !s.is_unchanged && s.text != stages_[i - 1].text;
  }
  // Returns the first entry with the name `name`, or else with this slug; null without one.
  const RecordedStage* find_stage(std::string_view name) const;

 private:
  std::string program_text_;
  std::vector<RecordedStage> stages_;
};

}  // namespace tgc
