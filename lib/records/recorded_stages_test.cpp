#include "lib/records/recorded_stages.h"

#include <doctest/doctest.h>

namespace tgc {

TEST_CASE("RecordedStages: a record's graphs and outputs come in order, each with its text") {
  auto record = parse_golden_record(
      {R"({"id":"k","target":"CPU:CLANG","ast":"A","stages":[{"name":"first","same":true},{"name":"second","ir":"B"},)"
       R"({"name":"third","same":true},{"name":"unprintable","ir":null},{"name":"after it","same":true},)"
       R"({"name":"nodes","ir":"{}","letters":"C"}],"kernels":[{"ast":"K0"},{},{"ast":"K2"}],)"
       R"("source":"S","linear":"L"})",
       1},
      "test");
  REQUIRE(record);
  std::string all;
  const RecordedStageTexts stages(*record);
  for (const RecordedStage& s : stages) {
    all += s.name + "=" + std::string(s.text.value_or("?")) + (s.is_unchanged ? " same" : "") +
           (s.is_graph() ? "" : " output");
    all += "; ";
  }
  CHECK(all == "ast=A; first=A same; second=B; third=B same; unprintable=?; after it=? same; nodes={}; kernel 0=K0; "
        "kernel 2=K2; linear=L output; source=S output; ");
  CHECK(stages.find_stage("nodes")->pyrender == "C");
  CHECK_FALSE(stages.find_stage("second")->pyrender);
  CHECK(stages.find_stage("none") == nullptr);
  record->program = GoldenProgram{.name = "E_3"};
  CHECK(RecordedStageTexts(*record).find_stage("program")->text->starts_with("name: E_3\n"));
}

TEST_CASE("RecordedStages: the text that loses the least is the text of a stage, and pyrender's text are its letters") {
  auto record = parse_golden_record(
      {R"({"id":"k","ast":"A","ast_full":"AF","stages":[{"name":"a","ir":"B","full":"BF"},)"
       R"({"name":"b","same":true},{"name":"c","ir":null,"full":"CF"}]})",
       1},
      "test");
  REQUIRE(record);
  const RecordedStageTexts stages(*record);
  CHECK(stages.find_stage("ast")->text == "AF");
  CHECK(stages.find_stage("ast")->pyrender == "A");
  CHECK(stages.find_stage("a")->text == "BF");
  CHECK(stages.find_stage("a")->pyrender == "B");
  CHECK(stages.find_stage("b")->text == "BF");
  CHECK(stages.find_stage("c")->text == "CF");
  CHECK_FALSE(stages.find_stage("c")->pyrender);
}

TEST_CASE("RecordedStages: an input that is no record has an AST alone") {
  const RecordedStageTexts stages(std::string_view("A"));
  REQUIRE(std::distance(stages.begin(), stages.end()) == 1);
  CHECK(stages.find_stage("ast")->text == "A");
}

}  // namespace tgc
