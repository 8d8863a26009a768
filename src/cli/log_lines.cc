#include "cli/log_lines.h"

#include <algorithm>

#include <boost/json.hpp>

#include "cli/fields.h"
#include "cli/text.h"

namespace eider::cli {

bool LogLines::take(std::string_view bytes) {
  any_ = any_ || !bytes.empty();
  if (form_ == Form::raw && !out_.terminal()) {
    out_.print(bytes);
    return !out_.closed();
  }
  partial_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', begin)) {
    line(std::string_view(partial_).substr(begin, end - begin));
    begin = end + 1;
  }
  partial_.erase(0, begin);
  return !out_.closed();
}

void LogLines::finish() {
  if (!partial_.empty()) line(partial_);
  partial_.clear();
}

void LogLines::line(std::string_view line) {
  if (form_ == Form::raw) return out_.line(safe_lines(line));
  if (form_ == Form::json) return out_.line(out_.terminal() ? safe_json(line) : std::string(line));
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse({line.data(), line.size()}, failed);
  if (failed || !value.is_object()) return out_.line(safe(line));
  const std::string stream = text_of(value, "stream");
  std::string step = safe(text_of(value, "step"));
  if (step.empty() && stream == "eider") step = stream;  // about the run itself
  const std::string at = text_of(value, "at");
  step_width_ = std::max(step_width_, columns_of(step));
  const Colour colour = stream == "stderr" ? Colour::yellow : stream == "eider" ? Colour::grey : Colour::none;
  // Tabs align what programs print; everything else that steers a terminal is shown instead.
  const std::string text = safe_lines(text_of(value, "text"));
  const std::string padding(step_width_ - columns_of(step), ' ');
  const std::string clock = at.size() >= 19 ? safe(at.substr(11, 8)) + "Z " : std::string();
  out_.line(out_.paint(Colour::grey, clock + step + padding + " |") + (text.empty() ? "" : " ") +
            out_.paint(colour, text));
}

}  // namespace eider::cli
