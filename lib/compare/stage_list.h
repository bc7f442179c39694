// `tgc stages RECORDING`: lists the stages that the records of a recording have.
#pragma once
#include <list>
#include <string>

#include "lib/driver/session.h"

namespace tgc {

struct ListedStage {
  std::string name;   // "expander", "source", or "kernels" for the kernels of a schedule
  std::string level;  // "tensor", "kernel" or "program"
  size_t records = 0;                  // number of records that have the stage
  std::optional<size_t> changed = {};  // number of records whose graph the stage changed; unset for an output
};

struct RecordedStageList {
  std::string producer;
  size_t records = 0;
  std::list<ListedStage> stages;  // in the order of the records; a recording may name many, which are inserted anywhere

  std::string text() const;
  std::string json() const;
};

// Lists the stages of the pipelines of an INPUT: those that a recording has, or those that tgc or the live pipeline
// makes of another graph.
Result<RecordedStageList> list_recorded_stages(const Session& session, const std::string& spec);

// `tgc stages`: lists the stages of tgc's own pipeline in order, with alias, level and number of rules.
std::string stage_list_text();
std::string stage_list_json();

}  // namespace tgc
