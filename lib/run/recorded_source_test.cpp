#include "lib/run/recorded_source.h"

#include <doctest/doctest.h>

using namespace tgc;

TEST_CASE("with_image_sizes: defines the size and the dtype of each image") {
  const std::string source = "__kernel void k(write_only image2d_t data0_2_3_4, read_only image2d_t data1_1_4_4) {}";
  const std::vector<BufferSpec> buffers{{.argument_number = 0, .dtype = dtypes::float16, .num_elements = 24},
                                        {.argument_number = 1, .dtype = dtypes::float32, .num_elements = 16}};
  const std::string made = source_with_image_sizes(source, buffers).value_or_throw();
  CHECK(made == "enum { data0_2_3_4_w = 3, data0_2_3_4_h = 2, data0_2_3_4_half = 1 };\n"
        "enum { data1_1_4_4_w = 4, data1_1_4_4_h = 1, data1_1_4_4_half = 0 };\n" +
        source);
  CHECK(source_with_image_sizes("__kernel void k(__global float* data0_16) {}", buffers).value_or_throw() ==
        "__kernel void k(__global float* data0_16) {}");
}

TEST_CASE("with_image_sizes: refuses images that are not in a buffer") {
  const std::vector<BufferSpec> buffers{{.argument_number = 0, .dtype = dtypes::float32, .num_elements = 20},
                                        {.argument_number = 2, .dtype = dtypes::int32, .num_elements = 24}};
  auto error = [&](const std::string& name) {
    auto made = source_with_image_sizes("(read_only image2d_t " + name + ") {}", buffers);
    return made ? "" : made.diag().message;
  };
  CHECK(error("data0_2_3_4") == "the image 'data0_2_3_4' is larger than its buffer, float32, 20 elements");
  CHECK(error("data1_2_3_4") == "the kernel has no buffer for the image 'data1_2_3_4'");
  CHECK(error("data2_2_3_4") == "the image 'data2_2_3_4' is of dtypes.int");
  CHECK(error("data0") == "the name of the image 'data0' does not tell its size");
}
