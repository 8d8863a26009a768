# DuckDB is never linked: `eider worker` opens libduckdb.so at run time. What a build needs is its C header, which
# ./run fetches (third_party/duckdb) into EIDER_DUCKDB_DIR beside the library.
set(EIDER_DUCKDB_DIR "${CMAKE_SOURCE_DIR}/build/duckdb" CACHE PATH "folder with duckdb.h and libduckdb.so")
foreach(file duckdb.h libduckdb.so)
  if(NOT EXISTS "${EIDER_DUCKDB_DIR}/${file}")
    message(FATAL_ERROR "${EIDER_DUCKDB_DIR}/${file} is missing: ./run build fetches it "
                        "(or set EIDER_DUCKDB_DIR to the folder that has it)")
  endif()
endforeach()

add_library(duckdb_header INTERFACE)
target_include_directories(duckdb_header SYSTEM INTERFACE "${EIDER_DUCKDB_DIR}")
target_compile_definitions(duckdb_header INTERFACE DUCKDB_API_NO_DEPRECATED)
