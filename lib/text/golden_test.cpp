#include "lib/text/golden.h"

#include <doctest/doctest.h>

#include "lib/support/testing.h"

using namespace tgc;

namespace {

const std::string kGoldens = test_path("golden/");

std::string trouble_with(std::string text) {
  auto record = parse_golden_record({std::move(text), 7}, "g.jsonl");
  return record ? "none" : record.diag().text();
}

}  // namespace

TEST_CASE("golden: a gzip file of records") {
  auto reader = GoldenReader::open(kGoldens + "IMAGE-2.jsonl.gz");
  REQUIRE(reader.ok());
  CHECK(reader->header().level == "kernel");
  CHECK(reader->header().settings.at("IMAGE") == "2");
  size_t records = 0;
  for (;;) {
    auto record = reader->next();
    REQUIRE(record.ok());
    if (!*record) break;
    records++;
    const GoldenRecord& r = **record;
    CHECK(r.stages.size() == 19);
    CHECK(r.stages[0].name == "early movement ops");
    CHECK(r.line == records + 1);
    REQUIRE(r.program);
    CHECK(r.linear.has_value());
    CHECK(r.program->global_size.size() == 3);
  }
  CHECK(records == 4);
}

TEST_CASE("golden: every field of a record") {
  auto r = parse_golden_record({R"x({"id":"k","target":"CPU:CLANG","nodes":3,"ast":"ast = UOp.sink()","extra":{"x":[1]},
    "stages":[{"name":"a","ir":"x\ny"},{"name":"b","same":true},{"name":"c","ir":null}],
    "linear":"l\u001b[0m","source":null,"source_error":"KeyError",
    "program":{"name":"n","function_name":"f","global_size":[4,"i+1"],"local_size":null,"vars":[],"globals":[0,1],"outs":[0],"ins":[1],
      "applied_opts":"()","ops":"1","lds":"2","mem":"3"},
    "kernels":[{"ast":"z","bufs":[{"base":1,"offset":2,"size":3,"dtype":"dtypes.int"}],"fixedvars":{"i":4}}],"var_vals":{"j":5}})x", 1}, "");
  REQUIRE(r.ok());
  CHECK(r->stages[0].ir == "x\ny");
  CHECK(r->stages[1].same);
  CHECK(!r->stages[2].ir);
  CHECK(r->linear == "l\x1b[0m");
  CHECK(!r->source);
  CHECK(r->program->global_size == std::vector<std::string>{"4", "i+1"});
  CHECK(!r->program->has_local_size);
  CHECK(r->kernels[0].bufs[0].size == 3);
  CHECK(r->kernels[0].fixedvars.at("i") == 4);
  CHECK(r->var_vals.at("j") == 5);
  CHECK(program_text(*r->program).find("global_size: 4 i+1\nlocal_size: None\n") != std::string::npos);
}

TEST_CASE("golden: what is wrong with a record is named with file, line and column") {
  CHECK(trouble_with("{\"id\":\"x\",\"ast\":3}").starts_with("g.jsonl:7:17: found '3', expected a string"));
  CHECK(trouble_with("{\"id\":\"x\"}").starts_with("g.jsonl:7:1: a record without 'ast', expected a golden record"));
  CHECK(trouble_with("[1]").starts_with("g.jsonl:7:1: found '[', expected an object"));
}

TEST_CASE("golden: files that are none") {
  auto message = [](const std::string& path) {
    auto reader = GoldenReader::open(path);
    return reader ? std::string("none") : reader.diag().message;
  };
  CHECK(message("/nowhere/x.jsonl").starts_with("cannot open: No such file"));
  CHECK(message(kGoldens) == "is a directory");
  auto header = [](std::string text) {
    auto h = parse_golden_header({std::move(text), 1}, "");
    return h ? std::string("none") : h.diag().message;
  };
  CHECK(header(R"({"format":"other"})") == "the first line is no golden header");
  CHECK(header(R"({"format":"tgc-golden","version":2,"level":"kernel"})") == "golden version '2'");
  CHECK(header(R"({"format":"tgc-golden","version":1,"level":"x"})") == "unknown level 'x'");
}
