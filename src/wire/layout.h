// Where things lie under `.eider/` (design section 8); server, worker and commands share it.
#pragma once

#include <string>

namespace eider::wire {

struct Layout {
  std::string workspace;  ///< absolute

  std::string state_folder() const { return workspace + "/.eider"; }
  std::string state_db() const { return state_folder() + "/state.db"; }
  std::string server_lock() const { return state_folder() + "/server.lock"; }
  std::string api_socket() const { return state_folder() + "/eider.sock"; }
  std::string locks_folder() const { return state_folder() + "/locks"; }
  std::string runs_folder() const { return state_folder() + "/runs"; }
  std::string staged_folder() const { return state_folder() + "/staged"; }
  /// What an attempt has staged (wire/staged.h).
  std::string staged_list(const std::string& run_id, int attempt) const {
    return staged_folder() + "/" + run_id + "." + std::to_string(attempt);
  }
  /// What a worker keeps between runs; gone with it.
  std::string worker_folder(int pid) const { return state_folder() + "/workers/" + std::to_string(pid); }
  std::string lock_file(const std::string& run_id) const { return locks_folder() + "/" + run_id + ".lock"; }
  std::string run_folder(const std::string& run_id) const { return runs_folder() + "/" + run_id; }

  /// Below: within a run's folder.
  static std::string attempt_socket(const std::string& folder, int attempt) {
    return folder + "/" + std::to_string(attempt) + ".sock";
  }
  static std::string attempt_result(const std::string& folder, int attempt) {
    return folder + "/" + std::to_string(attempt) + ".result.json";
  }
  static std::string attempt_published(const std::string& folder, int attempt) {
    return folder + "/" + std::to_string(attempt) + ".published.json";
  }
  static std::string attempt_log(const std::string& folder, int attempt) {
    return folder + "/" + std::to_string(attempt) + ".log";
  }
  static std::string attempt_temp(const std::string& folder, int attempt) {
    return folder + "/" + std::to_string(attempt) + ".tmp";
  }
};

}  // namespace eider::wire
