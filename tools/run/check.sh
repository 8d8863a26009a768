# shellcheck shell=bash
# ./run check: what a change must pass beyond its tests.

cpp_files() { find src bench tests -name '*.cc' -print0 -o -name '*.h' -print0; }

check_tidy() {
  step "Checking the house rules"
  /usr/bin/python3 -B tools/tidy || fail "the house rules are broken: each line above says what to do."
}

check_format() {
  step "Checking the format"
  cpp_files | xargs -0 clang-format --dry-run -Werror || fail "the format differs: ./run fmt mends it."
}

# clang-tidy cannot read g++'s precompiled headers, so it gets compile commands without them.
check_lint() {
  configure build-lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DEIDER_TOGETHER=24
  # Nothing is built there that would notice a changed CMake file or a new source.
  ninja -C build-lint --quiet build.ninja
  step "Linting (clang-tidy)"
  /usr/bin/python3 -B tools/lint --jobs "$jobs" build-lint || fail "clang-tidy found something: its messages are above."
}

check_asan() {
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
  export LSAN_OPTIONS=suppressions=$PWD/tools/run/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1
  check_sanitized build-asan address,undefined
}

check_tsan() {
  # g++ 12's thread sanitizer fails where a kernel spreads addresses widely.
  ! setarch -R true 2>/dev/null || test_prefix=(setarch -R)
  export TSAN_OPTIONS=suppressions=$PWD/tools/run/races.supp:second_deadlock_stack=1
  check_sanitized build-tsan thread
}

# check_sanitized FOLDER SANITIZERS: a build of its own, which shares the ordinary build's DuckDB.
check_sanitized() {
  local folder=$1
  mkdir -p "$folder"
  ln -sfn ../build/duckdb "$folder/duckdb"
  build_program "$folder" "-DEIDER_SANITIZE=$2" -DEIDER_TOGETHER=8
  fetch_flights
  # The whole of tests/e2e takes five times as long here: EIDER_TEST_LONG=1 runs it.
  local e2e=(tests/e2e/test_life.py)
  [[ -z ${EIDER_TEST_LONG:-} ]] || e2e=(tests/e2e tests/crash)
  run_tests "$folder" "${e2e[@]}"
}

# check [PART…]: every part runs, whatever the others say; the last line names those that failed.
check() {
  local part parts=("$@") failed=()
  [[ $# -gt 0 ]] || parts=(tidy format lint asan tsan)
  for part in "${parts[@]}"; do
    declare -F "check_$part" >/dev/null && [[ $part != sanitized ]] || misuse "check has no part '$part'"
  done
  for part in "${parts[@]}"; do
    ("check_$part") || failed+=("$part")
  done
  [[ ${#failed[@]} -eq 0 ]] || fail "check failed: ${failed[*]}."
  step "check passed: ${parts[*]}"
}
