#pragma once
#include <functional>
#include <string>

namespace tgc {

// A Z3 context, to which SMT-LIB text is sent. Throws Failure if libz3 cannot be loaded. Only one thread at a time may
// use a session.
class Z3Session {
 public:
  Z3Session();
  ~Z3Session();
  Z3Session(const Z3Session&) = delete;
  Z3Session& operator=(const Z3Session&) = delete;
  // Runs the commands in `text` and returns what Z3 prints, such as "sat", values, or "(error ...)". Interrupts Z3 if
  // the calling thread uses more than `most_seconds` of processor time (0: no limit), or if `should_stop` returns true.
  // Then is_over() is true, and the session must not be used further. Another thread calls `should_stop`, but only if
  // there is a limit.
  std::string ask_z3(const std::string& text, double most_seconds = 0, const std::function<bool()>& should_stop = {});
  bool is_over() const { return is_over_; }

 private:
  void* z3_context_;
  bool is_over_ = false;
};

// Returns a text such as "Z3 4.13.3.0". Throws Failure if libz3 is missing.
std::string z3_version();

}  // namespace tgc
