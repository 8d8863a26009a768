// Workers that are values: tests, the bench and the simulator decide what happens to each attempt. One thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "supervise/workers.h"

namespace eider::supervise {

class FakeWorkers final : public Workers {
 public:
  /// Every attempt succeeds as soon as it is handed off.
  bool finish_at_once = false;

  /// Not empty: nothing can be started, for this reason.
  std::string lacks;
  bool lacks_for_all = true;

  void hand_off(HandOff job) override {
    const std::string id = job.run_id;
    const int attempt = job.attempt;
    handed_off.push_back(std::move(job));
    if (!lacks.empty()) {
      AttemptOver end;
      end.run_id = id;
      end.attempt = attempt;
      end.not_started = true;
      end.others_too = lacks_for_all;
      end.error = lacks;
      events.emplace_back(std::move(end));
    } else if (finish_at_once) {
      over(id, attempt, model::Outcome::succeeded);
    } else {
      busy[id] = attempt;
    }
  }
  void cancel(const std::string& run_id, int attempt, const std::string& reason) override {
    cancelled.emplace_back(run_id, reason);
    if (obeys_cancel && busy.contains(run_id)) over(run_id, attempt, model::Outcome::cancelled);
  }
  AttemptTraces inspect(const std::string& run_id, int) override { return traces[run_id]; }
  void finish_from_result(const std::string& run_id, int attempt) override {
    over(run_id, attempt, model::Outcome::succeeded);
  }
  void adopt(const std::string& run_id, int attempt) override {
    adopted.push_back(run_id);
    busy[run_id] = attempt;
  }
  void end_left_overs(const std::string& run_id, int attempt) override {
    AttemptOver lost;
    lost.run_id = run_id;
    lost.attempt = attempt;
    lost.with_server = true;
    events.emplace_back(std::move(lost));
  }
  void forget(const std::string& run_id, int) override { forgotten.push_back(run_id); }
  std::vector<WorkerEvent> take_events() override { return std::exchange(events, {}); }
  void close(bool) override {}

  /// The worker reports this outcome, and what it has published.
  void over(const std::string& run_id, int attempt, model::Outcome outcome,
            std::vector<wire::Publication> publications = {}) {
    AttemptOver end;
    end.run_id = run_id;
    end.attempt = attempt;
    end.result.emplace();
    end.result->run_id = run_id;
    end.result->attempt = attempt;
    end.result->outcome = outcome;
    end.result->publications = std::move(publications);
    if (outcome != model::Outcome::succeeded) end.result->error = "as the test says";
    busy.erase(run_id);
    events.emplace_back(std::move(end));
  }
  void over(const std::string& run_id, model::Outcome outcome) { over(run_id, busy.at(run_id), outcome); }
  /// It succeeds and has published whole assets, each with that content.
  void publish(const std::string& run_id, const std::vector<std::string>& assets, const std::string& content = "1",
               const std::string& partition = {}) {
    std::vector<wire::Publication> publications;
    for (const std::string& asset : assets) {
      wire::Publication one;
      one.asset = asset;
      one.partition = partition;
      one.fingerprint = content;
      publications.push_back(std::move(one));
    }
    over(run_id, busy.at(run_id), model::Outcome::succeeded, std::move(publications));
  }
  /// The worker dies by a signal.
  void die(const std::string& run_id, int signal) {
    AttemptOver end;
    end.run_id = run_id;
    end.attempt = busy.at(run_id);
    end.signal = signal;
    busy.erase(run_id);
    events.emplace_back(std::move(end));
  }

  bool obeys_cancel = true;
  std::vector<HandOff> handed_off;
  std::map<std::string, int> busy;  ///< run -> attempt
  std::vector<std::pair<std::string, std::string>> cancelled;
  std::vector<std::string> adopted;
  std::vector<std::string> forgotten;
  std::map<std::string, AttemptTraces> traces;
  std::vector<WorkerEvent> events;
};

}  // namespace eider::supervise
