# shellcheck shell=bash
# Configure, build, test: for the ordinary build and for the sanitizer builds alike.

jobs=${EIDER_JOBS:-$(nproc)}
# A command that the test runners start through.
test_prefix=()
# Precompiled headers are cached too.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# configure FOLDER [-DNAME=VALUE…]: once; after that ninja starts CMake whenever a CMake file has changed.
configure() {
  local folder=$1
  shift
  [[ ! -f $folder/build.ninja ]] || return 0
  step "Configuring $folder"
  logged "configure-$folder" "CMake could not configure $folder" \
    cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
}

# build_program FOLDER [-DNAME=VALUE…]: the program, its tests and its benchmark.
build_program() {
  local folder=$1 quiet=()
  configure "$@"
  [[ -t 1 ]] || quiet=(--quiet)
  step "Building $folder"
  ninja -C "$folder" -j "$jobs" "${quiet[@]}" || fail "the build failed: the compiler's message is above."
}

# run_tests FOLDER [TESTS…]: each runner to its own closing line, whatever the others say; all of tests/e2e and tests/crash
# unless some of it is named.
run_tests() {
  local folder=$1 failed=() named=("${@:2}")
  step "Testing modules ($folder)"
  "${test_prefix[@]}" ctest --test-dir "$folder" --output-on-failure -j "$jobs" </dev/null || failed+=("ctest")
  step "Testing the program end to end ($folder/eider)"
  black_box "$folder" "${named[@]:-tests/e2e}" || failed+=("end to end")
  if [[ ${#named[@]} -eq 0 ]]; then
    step "Killing the program ($folder/eider)"
    black_box "$folder" tests/crash || failed+=("crash")
  fi
  [[ ${#failed[@]} -eq 0 ]] || fail "tests failed (${failed[*]}): their messages are above."
}

# black_box FOLDER TESTS…: the tests that know nothing but the built program. One that hangs is interrupted after an hour,
# and pytest then says where it was.
black_box() {
  EIDER_PROGRAM=$PWD/$1/eider timeout --signal=INT --kill-after=60 1h "${test_prefix[@]}" /usr/bin/python3 -B -m pytest -p no:cacheprovider -q "${@:2}" </dev/null
}
