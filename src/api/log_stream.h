// The log of a run as a body that grows: whole lines of `.eider/runs/<id>/<attempt>.log`, followed across attempts.
#pragma once

#include <optional>
#include <string>

#include "api/http.h"
#include "base/fd.h"
#include "store/store.h"
#include "wire/layout.h"

namespace eider::api {

struct LogRequest {
  std::string run_id;            ///< checked: it becomes part of a path
  std::optional<int> attempt;    ///< none: the newest, and with `follow` those after it
  std::string step;              ///< empty: all
  bool follow = false;           ///< until the attempt (without `attempt`: the run) is over
  bool raw = false;              ///< the steps' bytes as they were, without the frame of JSON
  std::int64_t after_bytes = 0;  ///< where to begin in the first attempt's file; within a line: at the next
};

/// Reads when asked, never waits. A line that is not whole yet (the writer is within it, or died there) is not sent.
/// Thread and lifetime: the reader's.
class LogStream final : public BodyStream {
 public:
  LogStream(store::Reader& reader, wire::Layout layout, LogRequest request);
  Result<Chunk> read() override;

 private:
  /// What the reading of the current attempt's file gave.
  enum class Progress { lines, end_for_now, end };

  Result<bool> choose_attempt();
  Result<Progress> read_lines(std::string& out);
  Result<bool> attempt_is_over();
  Result<bool> run_is_over();
  void open_file();
  void take_lines(std::string& out);

  store::Reader& reader_;
  wire::Layout layout_;
  LogRequest request_;
  int attempt_ = 0;  // 0: not chosen yet
  int told_ = 0;     // the attempt whose log has been sent whole
  UniqueFd file_;
  std::int64_t offset_ = 0;  // of the next byte to read
  std::string torn_;         // the beginning of a line whose end is not written yet
  bool skip_line_ = false;   // `after_bytes` may lie within a line: up to the next line end nothing is sent
  bool over_ = false;        // nothing more will be written: the next end of file is the end
};

}  // namespace eider::api
