// A graph that is opened when it is first needed.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "model/contract.h"
#include "runtime/engine.h"
#include "runtime/session.h"
#include "sam3/result.h"

namespace sam3::model {

class LazySession {
 public:
  LazySession(std::shared_ptr<const runtime::Engine> engine, GraphKind kind,
              runtime::GraphSource source)
      : LazySession(std::move(engine), std::string(graph_name(kind)), std::move(source)) {}
  LazySession(std::shared_ptr<const runtime::Engine> engine, std::string name,
              runtime::GraphSource source)
      : engine_(std::move(engine)), name_(std::move(name)), source_(std::move(source)) {}

  // Opens the graph, unless it is open. Callers that come at the same time wait for one opening.
  Result<std::shared_ptr<const runtime::Session>> get() {
    std::lock_guard lock(mutex_);
    if (session_) return session_;
    auto opened = runtime::Session::open(engine_, name_, source_);
    if (opened.ok()) session_ = *opened;
    return opened;
  }

  // Gives the memory back once no caller uses the session any more.
  void release() {
    std::lock_guard lock(mutex_);
    session_.reset();
  }

 private:
  std::shared_ptr<const runtime::Engine> engine_;
  std::string name_;
  runtime::GraphSource source_;
  std::mutex mutex_;
  std::shared_ptr<const runtime::Session> session_;
};

}  // namespace sam3::model
