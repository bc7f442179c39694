#include "lib/run/recorded_images.h"

#include <algorithm>
#include <cstdio>

namespace tgc {
std::string with_image_sizes(std::string source, const std::vector<BufferSpec>& buffers) {
  constexpr std::string_view kType = "image2d_t ";
  std::string sizes;
  for (size_t at = source.find(kType); at != source.npos; at = source.find(kType, at + 1)) {
    const size_t begin = at + kType.size();
    const std::string name = source.substr(begin, source.find_first_of(",)", begin) - begin);  // data1_4_256_4
    long long number = 0, height = 0, width = 0;
    int end = 0;
    if (std::sscanf(name.c_str(), "data%9lld_%9lld_%9lld_4%n", &number, &height, &width, &end) != 3 ||
        size_t(end) != name.size())
      throw Failure("the name of the image '" + name + "' does not tell its size");
    auto buffer = std::ranges::find(buffers, number, &BufferSpec::number);
    if (buffer == buffers.end()) throw Failure("the kernel has no buffer for the image '" + name + "'");
    if (buffer->dtype != dtypes::float32 && buffer->dtype != dtypes::float16)
      throw Failure("the image '" + name + "' is of " + std::string(buffer->dtype.repr()));
    if (buffer->size < height * width * 4)
      throw Failure("the image '" + name + "' is larger than its buffer, " + buffer->describe());
    sizes += "enum { " + name + "_w = " + std::to_string(width) + ", " + name + "_h = " + std::to_string(height) +
             ", " + name + "_half = " + (buffer->dtype == dtypes::float16 ? "1" : "0") + " };\n";
  }
  return sizes + source;
}

}  // namespace tgc
