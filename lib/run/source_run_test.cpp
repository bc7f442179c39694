#include "lib/run/source_run.h"

#include <doctest/doctest.h>

#include <cstdio>

#include "lib/contain/temporary_folder.h"
#include "lib/support/write_file.h"

using namespace tgc;

TEST_CASE("a kernel written by hand runs with the sizes of its arguments") {
  TemporaryFolder folder;
  const std::string file = folder.file("scale.c");
  write_file(file, "#define STEP 2\nvoid scale(int* restrict out, const int* restrict in, int n) {\n"
                   "  for (int i = 0; i < n; i++) out[i] = in[i] - in[i] + STEP * i;\n}\n").value_or_throw();
  Session session;
  SourceRunOptions source{.language = "c", .size_texts = {"out=8", "in=8", "n=5"}};
  auto run = run_source(session, file, source, {.compare = {}, .output = {}});
  REQUIRE_MESSAGE(run, run.diag().text());
  REQUIRE(run->result_arrays.size() == 1);
  CHECK(run->result_arrays[0].name == "out");
  CHECK(run->result_arrays[0].array.as<int32_t>()[4] == 8);
  source.size_texts = {"out=8", "n=5"};
  CHECK(run_source(session, file, source, {}).diag().message == "the size of 'in' is not known");
  source.size_texts = {"out=8", "in=8", "n=5", "m=1"};
  CHECK(run_source(session, file, source, {}).diag().message == "the kernel 'scale' has no parameter 'm'");
  source.size_texts = {"out=8", "in=8", "n=5"}, source.block = {2, 1, 1};
  CHECK(run_source(session, file, source, {}).diag().message == "a work group of 2,1,1 threads");
  source.block = {1, 1, 1}, source.grid = {1, 4000000000, 1};
  CHECK(run_source(session, file, source, {}).diag().message == "a grid of 4000000000 work groups in dimension 1");
  write_file(file, "void scale(int* restrict out, vec3 n) {}\n").value_or_throw();
  source.size_texts = {"out=8"}, source.grid = {1, 1, 1};
  CHECK(run_source(session, file, source, {}).diag().message ==
        "the parameter 'n' is a vec3; tgc passes pointers and 32-bit integers");
  CHECK(parse_launch_size("64,2").value_or_throw() == std::array<uint32_t, 3>{64, 2, 1});
  for (const char* wrong : {"", "0", "1,", "1,2,3,4", "x"}) CHECK_FALSE(parse_launch_size(wrong));
}
