// Errors as values. A Diag is an error message for the user. A Result<T> is a T or a Diag. Functions inside a library
// may throw a Failure, which `catch_failures` converts to a Result.
#pragma once
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

namespace tgc {

struct Diag {
  std::string message;      // one sentence without a full stop
  std::string file;
  uint32_t line = 0;        // 1-based; 0 if unknown
  uint32_t column = 0;      // 1-based, in bytes; 0 if unknown
  std::string expected;
  std::string context;      // the offending source line or subgraph, printed below the message
  bool is_kernel_fault = false;  // the kernel itself is at fault (crash, out-of-bounds access), not the environment

  // Returns "file:line:column: message, expected X" and the context, without unset parts.
  std::string text() const;
};

class Failure : public std::exception {
 public:
  explicit Failure(Diag diag) : diag_(std::move(diag)), what_text_(diag_.text()) {}
  explicit Failure(std::string message) : Failure(Diag{std::move(message)}) {}
  const Diag& diag() const { return diag_; }
  Diag& diag() { return diag_; }
  const char* what() const noexcept override { return what_text_.c_str(); }

 private:
  Diag diag_;
  std::string what_text_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : outcome_(std::in_place_index<0>, std::move(value)) {}
  Result(Diag diag) : outcome_(std::in_place_index<1>, std::move(diag)) {}

  bool ok() const { return outcome_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return std::get<0>(outcome_); }
  T operator*() && { return std::get<0>(std::move(outcome_)); }
  const T& operator*() const& { return std::get<0>(outcome_); }
  T* operator->() { return &std::get<0>(outcome_); }
  const T* operator->() const { return &std::get<0>(outcome_); }
  const Diag& diag() const { return std::get<1>(outcome_); }
  Diag& diag() { return std::get<1>(outcome_); }

  // Returns the value, or throws the Diag as a Failure. A temporary Result returns the value itself instead of a
  // reference, so that `for (x : f().value_or_throw())` is safe.
  T& value_or_throw() & {
    if (!ok()) throw Failure(diag());
    return std::get<0>(outcome_);
  }
  T value_or_throw() && {
    if (!ok()) throw Failure(diag());
    return std::get<0>(std::move(outcome_));
  }

 private:
  std::variant<T, Diag> outcome_;
};

struct Unit {};
using Status = Result<Unit>;

// Returns the value of body() as a Result. If body() throws a Failure, std::bad_alloc, std::length_error or
// std::system_error, returns a Diag. Other exceptions are not caught.
template <class Body>
auto catch_failures(Body&& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const Failure& failure) {
    return failure.diag();
  } catch (const std::bad_alloc&) {
    return Diag{"out of memory"};
  } catch (const std::length_error&) {
    return Diag{"out of memory: the requested size is too large"};
  } catch (const std::system_error& error) {
    return Diag{error.what()};
  }
}

[[noreturn]] void throw_check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace tgc

// Asserts an invariant of tgc itself, in release builds too. If it does not hold, throws a Failure with the source file
// and line.
#define TGC_CHECK(condition, message)                                                \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::tgc::throw_check_failed(__FILE__, __LINE__, #condition, message);                  \
  } while (0)
