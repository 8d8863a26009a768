#include "worker/sql_host.h"

namespace eider::worker {

void SqlHost::use(std::string library_path, bool keep_warm) {
  library_path_ = std::move(library_path);
  keep_warm_ = keep_warm;
  if (keep_warm_) recycle(nullptr);
}

SqlHost::Opened SqlHost::take() {
  std::future<Opened> warm;
  {
    const std::lock_guard lock(mutex_);
    warm = std::move(warm_);
  }
  if (warm.valid()) {
    Opened opened = warm.get();
    if (opened) return opened;  // else the reason may be gone by now
  }
  return duck::Session::open(library_path_);
}

void SqlHost::recycle(std::unique_ptr<duck::Session> used) {
  auto next = threads_.start([used = std::move(used), library = library_path_, open = keep_warm_]() mutable -> Opened {
    const duck::Facts usual = used ? used->usual_facts() : duck::Facts();
    used.reset();
    if (!open) return Error{ErrorCode::unavailable, "no instance is kept warm"};
    return duck::Session::open(library, usual);
  });
  if (!next) return;  // whoever needs an instance opens it
  const std::lock_guard lock(mutex_);
  warm_ = *std::move(next);
}

Result<duck::Session*> SqlSession::get() {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr) {
    auto opened = host_.take();
    if (!opened) return opened.error();
    if (auto configured = (*opened)->configure(options_); !configured) return configured.error();
    session_ = std::move(*opened);
  }
  return session_.get();
}

void SqlSession::release() {
  if (session_ != nullptr) host_.recycle(std::move(session_));
}

}  // namespace eider::worker
