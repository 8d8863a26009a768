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

# run_tests FOLDER [E2E…]: both runners, each to its own closing line, whatever the other says; all of tests/e2e unless
# some of it is named.
run_tests() {
  local folder=$1 failed=() e2e=("${@:2}")
  [[ ${#e2e[@]} -gt 0 ]] || e2e=(tests/e2e)
  step "Testing modules ($folder)"
  "${test_prefix[@]}" ctest --test-dir "$folder" --output-on-failure -j "$jobs" </dev/null || failed+=("ctest")
  if compgen -G 'tests/e2e/test_*.py' >/dev/null; then
    step "Testing the program end to end ($folder/eider)"
    EIDER_PROGRAM=$PWD/$folder/eider "${test_prefix[@]}" \
      /usr/bin/python3 -B -m pytest -p no:cacheprovider -q "${e2e[@]}" </dev/null || failed+=("pytest")
  fi
  [[ ${#failed[@]} -eq 0 ]] || fail "tests failed (${failed[*]}): their messages are above."
}
