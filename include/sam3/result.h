// Errors as values: Status for calls that return nothing, Result<T> for calls that return a T.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace sam3 {

enum class ErrorCode {
  kInvalidArgument,  // the caller's values are wrong (the program exits with 2)
  kNotFound,         // a file, folder or graph does not exist
  kBadData,          // a file exists but its content is damaged or not what its place asks for
  kUnsupported,      // understood, but cannot be done by this build or model
  kUnavailable,      // a device or a library that was asked for cannot be had
  kLimit,            // a stated limit would be exceeded
  kRuntime,          // the engine failed while running
  kCancelled,        // stopped on request
};

// One sentence with the offending value, and where it happened. `file` and `graph` may be empty.
struct Error {
  ErrorCode code = ErrorCode::kRuntime;
  std::string message;
  std::string file;
  std::string graph;

  // "file: graph: message", leaving out what is empty.
  std::string to_string() const {
    std::string text;
    if (!file.empty()) text += file + ": ";
    if (!graph.empty()) text += graph + ": ";
    return text + message;
  }
};

// Thrown by value() only, for callers who prefer exceptions.
class BadResult : public std::runtime_error {
 public:
  explicit BadResult(Error error)
      : std::runtime_error(error.to_string()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: an Error is a Status

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  // Only when !ok().
  const Error& error() const { return *error_; }
  // Throws BadResult when !ok().
  void value() const {
    if (error_) throw BadResult(*error_);
  }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Only when !ok().
  const Error& error() const { return std::get<1>(state_); }
  // Only when ok().
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  // By value, so that a loop over the value of a call does not read what is gone.
  T operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  // Throws BadResult when !ok().
  T& value() & {
    if (!ok()) throw BadResult(error());
    return **this;
  }
  const T& value() const& {
    if (!ok()) throw BadResult(error());
    return **this;
  }
  T value() && {
    if (!ok()) throw BadResult(error());
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace sam3
