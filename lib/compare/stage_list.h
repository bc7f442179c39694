// `tgc stages`: lists the stages of the pipelines of an INPUT or, without one, those of tgc's own pipeline.
#pragma once
#include <list>
#include <string>

#include "lib/driver/session.h"

namespace tgc {

struct ListedStage {
  std::string name;   // such as "expander"; "kernels" for the kernels of a schedule
  std::string level;  // "tensor", "kernel" or "program"
  size_t num_records = 0;                  // that have the stage
  std::optional<size_t> num_changed = {};  // records whose graph the stage changes; unset for an output
};

struct RecordedStageList {
  std::string producer;
  size_t num_records = 0;
  std::list<ListedStage> stages;

  std::string text() const;
  std::string json() const;
};

// Lists the recorded stages of a recording; for another input, the stages by which tgc or the live pipeline compiles
// it. Fails if the input cannot be read or compiled.
Result<RecordedStageList> list_recorded_stages(const Session& session, const std::string& spec);

std::string stage_list_text();
std::string stage_list_json();

}  // namespace tgc
