#include "lib/support/json_levels.h"

#include <nlohmann/json.hpp>

namespace tgc {
namespace {

class NestingChecker : public nlohmann::json_sax<nlohmann::json> {
 public:
  NestingChecker(int max_levels, const JsonNameCallback& on_name) : max_levels_(max_levels), on_name_(on_name) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return ++nesting_depth_ <= max_levels_; }
  bool end_object() override { return --nesting_depth_, true; }
  bool start_array(size_t) override { return ++nesting_depth_ <= max_levels_; }
  bool end_array() override { return --nesting_depth_, true; }
  bool key(string_t& name) override {
    if (on_name_) on_name_(nesting_depth_, name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  int nesting_depth_ = 0, max_levels_;
  const JsonNameCallback& on_name_;
};

}  // namespace

bool is_json_within_levels(std::string_view text, int max_levels, const JsonNameCallback& on_name) {
  NestingChecker levels(max_levels, on_name);
  return nlohmann::json::sax_parse(text, &levels);
}

}  // namespace tgc
