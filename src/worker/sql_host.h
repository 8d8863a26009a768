// The worker's DuckDB instances: one kept warm before a run arrives, one a run that uses SQL, none for a run of
// programs. Opening and closing take 10 to 30 ms, so helper threads do it.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "worker/duckdb/session.h"
#include "worker/helper_threads.h"

namespace eider::worker {

/// Called by the main thread, but for take().
class SqlHost {
 public:
  SqlHost() = default;
  /// Waits for what is being opened or closed.
  ~SqlHost() = default;
  SqlHost(const SqlHost&) = delete;
  SqlHost& operator=(const SqlHost&) = delete;

  /// `keep_warm`: begins to open an instance now, and again after each run that used one.
  void use(std::string library_path, bool keep_warm);

  using Opened = Result<std::unique_ptr<duck::Session>>;
  /// The warm instance, or a new one. Any thread, blocking, one caller at a time.
  Opened take();
  /// Closes what a run has used, in the background, and opens the next.
  void recycle(std::unique_ptr<duck::Session> used);
  /// For what uses an instance.
  HelperThreads& threads() { return threads_; }

 private:
  std::string library_path_;
  bool keep_warm_ = false;
  std::mutex mutex_;
  std::future<Opened> warm_;
  HelperThreads threads_;
};

/// One run's instance, opened when its first SQL step asks. Any thread.
class SqlSession {
 public:
  SqlSession(SqlHost& host, duck::SessionOptions options) : host_(host), options_(std::move(options)) {}

  /// Waits while another step opens it. The session lives until release().
  Result<duck::Session*> get();
  /// Gives the instance back; no step uses it any more. Main thread.
  void release();
  HelperThreads& threads() { return host_.threads(); }

 private:
  SqlHost& host_;
  duck::SessionOptions options_;
  std::mutex mutex_;
  std::unique_ptr<duck::Session> session_;
};

}  // namespace eider::worker
