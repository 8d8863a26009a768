// Shows one run in the foreground until it is over: its log lines on standard output; its changes, or on a terminal a
// progress line, on standard error. One thread.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "cli/log_lines.h"
#include "cli/session.h"

namespace eider::cli {

class Follower {
 public:
  /// `logs` is asked for the log. With --json nothing is printed but the progress line.
  Follower(Session& session, Backend& logs);
  ~Follower() { clear(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// The run as the API shows it now. True: it is over, and everything was said.
  bool update(const boost::json::value& run);
  /// Before anything else is written.
  void clear();

 private:
  void show_log(const std::string& id, std::int64_t newest_attempt);
  void read_log(const std::string& id);
  void show_change(const boost::json::value& run);
  void show_progress(const boost::json::value& run);
  void show_end(const boost::json::value& run);

  Session& session_;
  Backend& logs_;
  LogLines lines_;
  std::int64_t attempt_ = 1;  // whose log is being shown
  std::int64_t offset_ = 0;   // of what was shown of it
  std::string said_;          // the newest change that was told, as change_key
  bool progress_ = false;     // a progress line is on the screen
};

/// How a run ended, on standard error: its state, how long it took, what was wrong.
void say_end(Session& session, const boost::json::value& run);

}  // namespace eider::cli
