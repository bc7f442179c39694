#include "lib/records/golden.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/support/testing.h"

using namespace tgc;

namespace {

const std::string kGoldens = test_path("golden/");

std::string error_with(std::string text) {
  auto record = parse_golden_record({std::move(text), 7}, "g.jsonl");
  return record ? "none" : record.diag().text();
}

}  // namespace

TEST_CASE("golden: reads a gzip file of records") {
  auto reader = GoldenReader::open(kGoldens + "IMAGE-2.jsonl.gz");
  REQUIRE(reader.ok());
  CHECK(reader->header().level == "kernel");
  CHECK(reader->header().settings.at("IMAGE") == "2");
  size_t records = 0;
  for (;;) {
    auto record = reader->next_record();
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

TEST_CASE("golden: ID and ID@TARGET name records, and a record with the id and target of another gets a suffix") {
  CHECK(is_name_of_record("k.0", "k.0", "CUDA:CUDA:sm_80"));
  CHECK(is_name_of_record("k.0@CUDA:CUDA:sm_80", "k.0", "CUDA:CUDA:sm_80"));
  CHECK(is_name_of_record("k.0@CUDA", "k.0", "CUDA:CUDA:sm_80"));
  CHECK(is_name_of_record("a@b", "a@b", "CPU"));
  CHECK(record_label("k.0", "CL:CL:cl_a,cl_b,cl_c,cl_d") == "k.0 (CL:CL, 4 extensions)");
  CHECK(record_label("k.0", "CPU:CLANG:x86_64,native") == "k.0 (CPU:CLANG:x86_64,native)");
  CHECK(record_label("k.0", "") == "k.0");
  for (const char* other : {"k", "k.01", "k.0@", "k.0@CUDA:CUDA:sm_8", "k.0@CPU", "k.0~2"})
    CHECK_FALSE(is_name_of_record(other, "k.0", "CUDA:CUDA:sm_80"));

  const std::string path = (std::filesystem::temp_directory_path() / ("ids" + std::to_string(getpid()))).string();
  std::string text =
      R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.12.0","settings":{}})";
  for (const char* target : {"CPU:CLANG", "CL:CL", "CPU:CLANG"})
    text += std::string(R"({"id": "k.0", "target": ")").insert(0, "\n") + target + R"(", "ast": "x"})";
  std::ofstream(path) << text << "\n";
  auto reader = GoldenReader::open(path);
  REQUIRE(reader.ok());
  std::string ids;
  for (GoldenLine line; *reader->next_line(line);) {
    ids += parse_golden_record(line, path)->id + " ";
    CHECK(may_name_record("k.0~2", line));
    CHECK_FALSE(may_name_record("k.01", line));
  }
  CHECK(ids == "k.0 k.0 k.0~2 ");
  std::filesystem::remove(path);
}

TEST_CASE("golden: reads every field of a record") {
  auto r = parse_golden_record({R"x({"id":"k","target":"CPU:CLANG","nodes":3,"ast":"ast = UOp.sink()","extra":{"x":[1]},
    "stages":[{"name":"a","ir":"x\ny"},{"name":"b","same":true},{"name":"c","ir":null}],
    "linear":"l\u001b[0m","source":null,"source_error":"KeyError",
    "program":{"name":"n","function_name":"f","global_size":[4,"i+1"],"local_size":null,"vars":[],"globals":[0,1],"outs":[0],"ins":[1],
      "applied_opts":"()","ops":"1","lds":"2","mem":"3"},
    "kernels":[{"ast":"z","bufs":[{"base":1,"offset":2,"size":3,"dtype":"dtypes.int"}],"fixedvars":{"i":4}}],"var_vals":{"j":5}})x",
                                1},
                               "");
  REQUIRE(r.ok());
  CHECK(r->stages[0].ir == "x\ny");
  CHECK(r->stages[1].is_unchanged);
  CHECK(!r->stages[2].ir);
  CHECK(r->linear == "l\x1b[0m");
  CHECK(!r->source);
  CHECK(r->program->global_size == std::vector<std::string>{"4", "i+1"});
  CHECK(!r->program->has_local_size);
  CHECK(r->kernels[0].buffer_args[0].size == 3);
  CHECK(r->kernels[0].fixed_variables.at("i") == 4);
  CHECK(r->var_vals.at("j") == 5);
  CHECK(program_text(*r->program).find("global_size: 4 i+1\nlocal_size: None\n") != std::string::npos);
}

TEST_CASE("golden: a record may override settings and have metadata") {
  GoldenHeader header{.level = "kernel", .producer = "", .settings = {{"NOOPT", "1"}, {"IMAGE", "2"}, {"MV", "0"}}};
  auto r = parse_golden_record({R"({"id":"k","ast":"z","settings":{"NOOPT":"0","MV":null,"TC":2},
    "metadata":["relu",{"name":"conv2d","caller":"model:12::forward","backward":true,"node":"/l1/Conv","more":[1]},{"name":"add","node":"n","nodes":[3,5]}],
    "kernels":[{"ast":"z","metadata":[{"name":"sum"}]},{"ast":"z"}]})",
                                2},
                               "");
  REQUIRE(r.ok());
  CHECK(settings_of(header, *r) == GoldenSettings{{"NOOPT", "0"}, {"IMAGE", "2"}, {"TC", "2"}});
  REQUIRE(r->metadata.size() == 3);
  CHECK(methods_text(r->metadata) == "relu; gradient of conv2d at model:12 (node /l1/Conv); add (node n)");
  CHECK(r->metadata[2].node_numbers == std::vector<int64_t>{3, 5});
  CHECK(methods_text(r->kernels[0].metadata) == "sum");
  CHECK(r->kernels[1].metadata.empty());
}

TEST_CASE("golden: the methods of a kernel are listed by the line of the program") {
  const std::vector<GoldenMetadata> methods = {
      {.name = "relu", .call_place = "net.py:6::forward"},
      {.name = "linear", .call_place = "net.py:7::forward", .is_backward = true},
      {.name = "add", .call_place = "net.py:6::forward"},
      {.name = "relu", .call_place = "net.py:6::forward", .is_backward = true}};
  CHECK(methods_text(methods) == "relu with gradient, add at net.py:6; gradient of linear at net.py:7");
}

TEST_CASE("golden: reads the whole records of a truncated file") {
  const std::string header = "{\"format\":\"tgc-golden\",\"version\":1,\"level\":\"kernel\"}\n";
  const std::string first = "{\"id\":\"a\",\"ast\":\"x\"}\n";
  auto ids = [&](const std::string& text) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("tgc_golden_cut." + std::to_string(::getpid()))).string();
    std::ofstream(path, std::ios::binary) << text;
    auto reader = GoldenReader::open(path);
    REQUIRE(reader.ok());
    std::string out;
    for (auto record = reader->next_record();; record = reader->next_record()) {
      if (!record) return out + "error: " + record.diag().message;
      if (!*record) break;
      out += (*record)->id + " ";
    }
    std::filesystem::remove(path);
    return out + (reader->truncation_error() ? reader->truncation_error()->message : "end");
  };
  CHECK(ids(header + first + first) == "a a~2 end");
  CHECK(ids(header + first + R"({"id":"b","ast":"x"})") == "a b end");
  CHECK(ids(header + first + R"({"id":"b","as)") ==
        "a the file is cut short: the record of line 3 is lost, those before it are whole");
  CHECK(ids(header + first + R"({"id":"b","as)" "\n").starts_with("a error: "));
  CHECK(ids(header + R"({"id":3})").starts_with("error: found '3'"));
}

TEST_CASE("golden: an error in a record has file, line and column") {
  CHECK(error_with("{\"id\":\"x\",\"ast\":3}").starts_with("g.jsonl:7:17: found '3', expected a string"));
  CHECK(error_with("{\"id\":\"x\"}").starts_with("g.jsonl:7:1: a record without 'ast', expected a golden record"));
  CHECK(error_with("[1]").starts_with("g.jsonl:7:1: found '[', expected an object"));
}

TEST_CASE("golden: rejects files without a golden header") {
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
  CHECK(header(R"({"format":"other"})") == "the first line is not a golden header");
  CHECK(header(R"({"format":"tgc-golden","version":2,"level":"kernel"})") == "golden version '2'");
  CHECK(header(R"({"format":"tgc-golden","version":1,"level":"x"})") == "unknown level 'x'");
  CHECK(header(R"({"format":"tgc-golden","version":1,"level":"jit"})") ==
        "these records are TinyJit calls, which have no graph");
}
