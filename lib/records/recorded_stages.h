// Lists the texts of one golden record, in order: the AST, the graph after each stage, the kernels of a schedule, and
// the listing, source and launch facts of a kernel. A stage that is marked "same" has the text of the stage before
// it. A stage with neither "ir" nor "full" has no text, because tinygrad could not print its graph.
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
  std::string name;                               // "ast", "expander", "kernel 2", "linear", "source" or "program"
  std::optional<std::string_view> text;           // the text that loses the least: "full", else "ir"; may be absent
  bool is_unchanged = false;                      // true if the stage left the graph unchanged
  std::optional<std::string_view> pyrender = {};  // pyrender text, if it was recorded in addition to `text`

  bool is_graph() const { return kind != Kind::Output; }
};

// Returns the name of a stage as it is in file names and on the command line: "postopt-symbolic".
std::string slug_of_stage(std::string_view name);

class RecordedStages {
 public:
  // Lists the texts of `record`, or the one text `ast` of an input that is not a record. Both must outlive this object.
  explicit RecordedStages(const GoldenRecord& record);
  explicit RecordedStages(std::string_view ast) { stages_.push_back({RecordedStage::Kind::Ast, "ast", ast}); }
  RecordedStages(const RecordedStages&) = delete;

  auto begin() const { return stages_.begin(); }
  auto end() const { return stages_.end(); }
  size_t size() const { return stages_.size(); }
  const RecordedStage& operator[](size_t i) const { return stages_[i]; }
  // Returns true if entry `i` is a stage whose text differs from the text of the entry before it.
  bool is_changed(size_t i) const {
    const RecordedStage& s = stages_[i];
    return s.kind == RecordedStage::Kind::Stage && !s.is_unchanged && s.text != stages_[i - 1].text;
  }
  // Returns the first entry with the name or the slug `name`; null if there is none.
  const RecordedStage* find_stage(std::string_view name) const;

 private:
  std::string program_;
  std::vector<RecordedStage> stages_;
};

}  // namespace tgc
