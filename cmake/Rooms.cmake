# Helpers that declare a room (a library), its tests, and the headers they share.

# version.h for other programs; build_info.h for `ringside doctor`.
set(RINGSIDE_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in"
               "${RINGSIDE_GENERATED_DIR}/ringside/version.h" @ONLY)
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(RINGSIDE_FLAGS_TEXT "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} -ffp-contract=off")
if(RINGSIDE_NATIVE)
  string(APPEND RINGSIDE_FLAGS_TEXT " -march=native")
endif()
string(STRIP "${RINGSIDE_FLAGS_TEXT}" RINGSIDE_FLAGS_TEXT)
configure_file("${PROJECT_SOURCE_DIR}/cmake/build_info.h.in"
               "${RINGSIDE_GENERATED_DIR}/core/build_info.h" @ONLY)

# What another program sees: include/ringside/*.h as "ringside/x.h".
add_library(ringside_public INTERFACE)
target_include_directories(ringside_public INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${RINGSIDE_GENERATED_DIR}")
target_link_libraries(ringside_public INTERFACE fmt::fmt)

# What a room sees beside: other rooms' private headers, as "schedule/ring.h" (src/schedule) and
# "sim/device/pool.h" (sim/device). Who may include whom is checked by tests/architecture.
add_library(ringside_private INTERFACE)
target_include_directories(ringside_private INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
target_link_libraries(ringside_private INTERFACE ringside_public ringside_flags)

# ringside_room(<name> [SOURCES <file>...] [DEPENDS <room>...] [LIBRARIES <target>...])
#
# The library ringside_<name> (alias ringside::<name>). DEPENDS names other rooms, LIBRARIES what
# is not ours and is used in sources only. A room without sources (headers only) is an interface.
function(ringside_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;DEPENDS;LIBRARIES")
  if(room_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ringside_room(${name}): unknown arguments ${room_UNPARSED_ARGUMENTS}")
  endif()
  set(rooms ${room_DEPENDS})
  list(TRANSFORM rooms PREPEND "ringside::")
  if(room_SOURCES)
    add_library(ringside_${name} STATIC ${room_SOURCES})
    target_link_libraries(ringside_${name}
      PUBLIC ringside_public ${rooms}
      PRIVATE ringside_private ${room_LIBRARIES})
  else()
    add_library(ringside_${name} INTERFACE)
    target_link_libraries(ringside_${name} INTERFACE ringside_public ${rooms} ${room_LIBRARIES})
  endif()
  add_library(ringside::${name} ALIAS ringside_${name})
endfunction()

# The program of a test, without its registration. Includes are relative to tests/, too.
function(ringside_test_program name sources rooms libraries)
  list(TRANSFORM rooms PREPEND "ringside::")
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${rooms} ringside_private ${libraries} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    RINGSIDE_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests")
  if(RINGSIDE_SANITIZE)  # the tests themselves: half the time to compile, and nothing slow runs there
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# ringside_test(<name> SOURCES <file>... [DEPENDS <room>...] [LIBRARIES <target>...]
#               [TIMEOUT <seconds>] [LABEL <label>] [PREFIX <text>] [ONE_PROCESS] [GRAPHVIZ])
#
# A GoogleTest program; each of its test cases is one ctest test, and may take TIMEOUT seconds (60
# unless told); under a sanitizer see ringside_sharded_test(). ONE_PROCESS makes the whole program one ctest
# test: for thousands of small parameterised cases, whose processes would cost more than they do.
# PREFIX stands before the names of its cases in ctest: 'oracle.' for what is compared with a real
# PyTorch's numbers.
# GRAPHVIZ: it, or a program that it starts, lays out pictures.
function(ringside_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "ONE_PROCESS;GRAPHVIZ" "TIMEOUT;LABEL;PREFIX" "SOURCES;DEPENDS;LIBRARIES")
  if(test_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ringside_test(${name}): unknown arguments ${test_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 60)
  endif()
  ringside_test_program(${name} "${test_SOURCES}" "${test_DEPENDS}" "${test_LIBRARIES}")

  # One value each: gtest_discover_tests() cannot pass lists on.
  set(properties TIMEOUT ${test_TIMEOUT})
  if(test_LABEL)
    list(APPEND properties LABELS ${test_LABEL})
  endif()
  set(environment "")
  if(RINGSIDE_SANITIZE STREQUAL "address")
    set(options "suppressions=${PROJECT_SOURCE_DIR}/tests/support/leaks.supp:print_suppressions=0")
    if(test_GRAPHVIZ)
      # GLib keeps no frame pointers: only the slow unwinder, which makes allocations fifteen times
      # as slow, sees that Pango called it.
      string(APPEND options ":fast_unwind_on_malloc=0")
    endif()
    set(environment "LSAN_OPTIONS=${options}")
  endif()
  if(RINGSIDE_SANITIZE)
    ringside_sharded_test(${name} "${environment}")
  elseif(test_ONE_PROCESS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ${properties})
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         TEST_PREFIX "${test_PREFIX}" PROPERTIES ${properties})
  endif()
endfunction()

# ringside_sharded_test(<name> <environment>): a GoogleTest program as four ctest tests, each a
# process with every fourth of its cases. A sanitizer's start and its look for leaks at the end take
# longer than most cases. Of parameterised tests it sees a selection (tests/support/selection.h).
function(ringside_sharded_test name environment)
  foreach(shard RANGE 3)
    add_test(NAME ${name}.${shard} COMMAND ${name})
    set_tests_properties(${name}.${shard} PROPERTIES
      TIMEOUT 1500
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${shard}"
      ENVIRONMENT_MODIFICATION "RINGSIDE_TEST_SELECTION=set:pairwise")
  endforeach()
endfunction()

# ringside_mpi_test(<name> RANKS <n>... SOURCES <file>... [DEPENDS <room>...] [LIBRARIES <target>...]
#                   [TIMEOUT <seconds>])
#
# A GoogleTest program that is run by mpirun, once for each number of processes in RANKS; every
# process runs every case. Labelled 'mpi'. Nothing where MPI is missing.
function(ringside_mpi_test name)
  if(NOT RINGSIDE_HAVE_MPI)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 test "" "TIMEOUT" "RANKS;SOURCES;DEPENDS;LIBRARIES")
  if(test_UNPARSED_ARGUMENTS OR NOT test_RANKS)
    message(FATAL_ERROR "ringside_mpi_test(${name}): RANKS missing or unknown arguments ${test_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 60)
  endif()
  ringside_test_program(${name} "${test_SOURCES}" "${test_DEPENDS}" "${test_LIBRARIES}")
  foreach(ranks IN LISTS test_RANKS)
    add_test(NAME ${name}.${ranks}_processes
      COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${name}>)
    ringside_mpi_properties(${name}.${ranks}_processes ${ranks} ${test_TIMEOUT})
  endforeach()
endfunction()

# ringside_mpi_properties(<ctest test> <processes> <seconds>): what a test under mpirun needs: Open
# MPI may run as root, and with more processes than cores, which then give way while they wait.
function(ringside_mpi_properties test ranks timeout)
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${timeout}
    LABELS mpi
    PROCESSORS ${ranks}
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_mpi_yield_when_idle=1")
endfunction()

if(RINGSIDE_BUILD_TESTS)
  include(GoogleTest)
endif()
