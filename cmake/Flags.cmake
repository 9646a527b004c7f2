# The compiler flags of every target, carried by one interface library: ringside_flags.
#
# Numbers must not depend on the compiler's mood: no fast-math, no contraction of a*b+c.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_program(RINGSIDE_CCACHE ccache)
mark_as_advanced(RINGSIDE_CCACHE)
if(RINGSIDE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${RINGSIDE_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${RINGSIDE_CCACHE}")
endif()

add_library(ringside_flags INTERFACE)
target_link_libraries(ringside_flags INTERFACE Threads::Threads)

# nvcc passes -W... on badly, so the warnings are for the C++ sources alone.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
             -Woverloaded-virtual)
# GCC 12 sees overlapping copies in inlined std::string code where there are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND warnings -Wno-restrict)
endif()
# GCC takes an anonymous namespace for a header's where one source is made of many.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND warnings -Wno-subobject-linkage)
endif()
if(RINGSIDE_WERROR)
  list(APPEND warnings -Werror)
endif()
target_compile_options(ringside_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings};-ffp-contract=off>")
target_compile_options(ringside_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Xcompiler=-Wall>")
if(RINGSIDE_WERROR)
  target_compile_options(ringside_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
if(RINGSIDE_NATIVE)
  target_compile_options(ringside_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-march=native>")
endif()

if(RINGSIDE_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(RINGSIDE_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
endif()
# GCC's own manual: with sanitizers its flow analysis warns of what is not there.
if(RINGSIDE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND sanitize -Wno-maybe-uninitialized)
endif()
if(RINGSIDE_SANITIZE)
  target_compile_options(ringside_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  target_link_options(ringside_flags INTERFACE ${sanitize})
endif()

# A program then loads only the libraries it calls (MPI's C++ bindings are linked but unused).
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(ringside_flags INTERFACE -Wl,--as-needed)
endif()
