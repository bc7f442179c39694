#include "lib/support/json_levels.h"

#include <nlohmann/json.hpp>

namespace tgc {
namespace {

class Levels : public nlohmann::json_sax<nlohmann::json> {
 public:
  Levels(int most, const JsonNameSeen& seen) : most_(most), seen_(seen) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return ++depth_ <= most_; }
  bool end_object() override { return --depth_, true; }
  bool start_array(size_t) override { return ++depth_ <= most_; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (seen_) seen_(depth_, name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  int depth_ = 0, most_;
  const JsonNameSeen& seen_;
};

}  // namespace

bool json_fits(std::string_view text, int most, const JsonNameSeen& seen) {
  Levels levels(most, seen);
  return nlohmann::json::sax_parse(text, &levels);
}

}  // namespace tgc
