# What `cmake --install` gives: the programs with their manual, and the libraries in both precisions,
# static and shared, with their headers, for CMake and for pkg-config. rotor is core, ops, optim and
# models, which need OpenBLAS alone, or with oneDNN; rotor-io is util, data and io.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The files for pkg-config get their prefix when they are installed, since `cmake --install` can
# be given another one than was configured. They name OpenBLAS and the others by their flags, not as
# required packages, since that would bring in what only a static OpenBLAS needs, a Fortran library.
set(ROTOR_PREFIX @CMAKE_INSTALL_PREFIX@)
list(JOIN OPENBLAS_LDFLAGS " " openblas)

# Of what CMake finds for HDF5, the library itself: the rest are the libraries that it needs.
set(hdf5 ${HDF5_C_LIBRARIES})
list(FILTER hdf5 INCLUDE REGEX "libhdf5[^/]*$")
set(files_need ${hdf5} ${JANSSON_LINK_LIBRARIES} ${UTF8PROC_LINK_LIBRARIES}
    ${XXHASH_LINK_LIBRARIES} ${ZLIB_LINK_LIBRARIES})

# A library under two names, NAME for float and NAME-f64 for double, of the objects of layers, whose
# own names have _f64 behind them.
#
#     OBJECTS      the objects
#     LAYERS       the targets that compile them
#     BELOW        the library that it needs, by its name for float; or empty
#     LINK         what else it needs, and PRIVATE the same as flags of the linker
#     DESCRIPTION
function(rotor_library base suffix)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "BELOW;PRIVATE;DESCRIPTION" "OBJECTS;LAYERS;LINK")
    string(REPLACE _ - dashed "${suffix}")
    set(name ${base}${dashed})
    # Until 1.0 a minor version may change what programs are compiled against.
    set(soversion ${PROJECT_VERSION_MAJOR})
    if(soversion EQUAL 0)
        string(APPEND soversion .${PROJECT_VERSION_MINOR})
    endif()
    foreach(kind SHARED STATIC)
        set(ending "")
        if(kind STREQUAL STATIC)
            set(ending -static)
        endif()
        set(target ${name}${ending})
        add_library(${target} ${kind} ${arg_OBJECTS})
        add_dependencies(${target} ${arg_LAYERS})
        set_target_properties(${target} PROPERTIES
            OUTPUT_NAME ${name} LINKER_LANGUAGE C
            VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
        target_link_libraries(${target} PRIVATE ${arg_LINK} Threads::Threads m)
        if(arg_BELOW)
            target_link_libraries(${target} PUBLIC ${arg_BELOW}${dashed}${ending})
        endif()
        if(ROTOR_SANITIZE)
            target_link_options(${target} PUBLIC -fsanitize=${ROTOR_SANITIZE})
        endif()
        add_library(rotor::${target} ALIAS ${target})
        target_include_directories(${target} INTERFACE
            $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/rotor>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
        if(suffix)
            target_compile_definitions(${target} INTERFACE RT_DOUBLE)
        endif()
        install(TARGETS ${target} EXPORT rotor-targets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endforeach()
    # Only rt_* is exported, which leaves out clang's resolvers; and under a name of its own, so
    # that plugins of one process can use one precision each.
    string(REPLACE - _ ROTOR_NODE "${name}_${soversion}")
    configure_file(cmake/exports.map.in ${name}.map @ONLY)
    target_link_options(${name} PRIVATE -Wl,--as-needed
        -Wl,--version-script=${CMAKE_BINARY_DIR}/${name}.map)
    if(NOT ROTOR_SANITIZE) # whose own symbols are the program's
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_BINARY_DIR}/${name}.map)

    set(ROTOR_LIBRARY ${name})
    set(ROTOR_DESCRIPTION ${arg_DESCRIPTION})
    set(ROTOR_PRIVATE ${arg_PRIVATE})
    set(ROTOR_REQUIRES "")
    if(arg_BELOW)
        set(ROTOR_REQUIRES "\nRequires: ${arg_BELOW}${dashed} = ${PROJECT_VERSION}")
    endif()
    set(ROTOR_DEFINITION "")
    if(suffix)
        set(ROTOR_DEFINITION " -DRT_DOUBLE")
    endif()
    configure_file(cmake/rotor.pc.in ${name}.pc @ONLY)
    install(CODE "
        get_filename_component(CMAKE_INSTALL_PREFIX \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
        set(file \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/${name}.pc\")
        message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
        configure_file(\"${CMAKE_BINARY_DIR}/${name}.pc\" \"\$ENV{DESTDIR}\${file}\" @ONLY)
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
endfunction()

# rotor-io is linked with rotor rather than made of its objects: a program that uses both has one of
# each function.
list(JOIN files_need " " files_flags)
foreach(suffix "" _f64)
    set(layers rotor_core${suffix} rotor_ops${suffix} rotor_optim${suffix} rotor_models${suffix})
    set(onednn_here "")
    set(onednn_flags "")
    if(onednn AND NOT suffix)
        set(onednn_here ${onednn})
        set(onednn_flags " -ldnnl -lgomp")
    endif()
    set(objects ${layers})
    list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
    rotor_library(rotor "${suffix}" OBJECTS ${objects} LAYERS ${layers}
        LINK PkgConfig::OPENBLAS ${onednn_here} PRIVATE "${openblas}${onednn_flags} -lm -lpthread"
        DESCRIPTION "Tensors with automatic differentiation and rotary position embeddings")
    rotor_library(rotor-io "${suffix}"
        OBJECTS $<TARGET_OBJECTS:rotor_util${suffix}> $<TARGET_OBJECTS:rotor_data${suffix}>
            $<TARGET_OBJECTS:rotor_io${suffix}>
        LAYERS rotor_util${suffix} rotor_data${suffix} rotor_io${suffix}
        BELOW rotor LINK ${files_need} PRIVATE "${files_flags} -lm -lpthread"
        DESCRIPTION "Trained models of rotor from files and folders")
endforeach()

# The headers that callers may include, below include/rotor/ as they lie here; and one for all.
set(private_headers
    core/graph_private.h core/key.h core/path.h
    ops/attention_private.h ops/gemm.h ops/private.h ops/vector_math.h
    optim/options.h optim/rules.h
    models/keys.h models/kv_cache.h)
set(includes "")
set(ROTOR_HEADERS "")
foreach(layer core ops optim models)
    file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
        ${CMAKE_SOURCE_DIR}/${layer}/*.h)
    list(REMOVE_ITEM headers ${private_headers})
    install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rotor/${layer})
    foreach(header ${headers})
        string(APPEND includes "#include \"${header}\"\n")
        string(APPEND ROTOR_HEADERS " \"${CMAKE_SOURCE_DIR}/${header}\"")
    endforeach()
endforeach()
file(CONFIGURE OUTPUT rotor.h @ONLY
    CONTENT "/* The whole library. The single headers say what is in them. */\n\n${includes}")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rotor.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rotor)
# For the examples, which are built in the tree as they are against what is installed.
configure_file(${CMAKE_CURRENT_BINARY_DIR}/rotor.h include/rotor/rotor.h COPYONLY)
configure_file(io/rotor-io.h include/rotor/rotor-io.h COPYONLY)

# The header of rotor-io, and those of data/ that it includes.
install(FILES io/rotor-io.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rotor)
foreach(header data/labels.h data/tokenizers/vocabulary.h io/rotor-io.h)
    string(APPEND ROTOR_HEADERS " \"${CMAKE_SOURCE_DIR}/${header}\"")
endforeach()
install(FILES data/labels.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rotor/data)
install(FILES data/tokenizers/vocabulary.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rotor/data/tokenizers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rotor)
install(EXPORT rotor-targets NAMESPACE rotor:: DESTINATION ${package_folder})
configure_package_config_file(cmake/rotor-config.cmake.in rotor-config.cmake
    INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(rotor-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/rotor-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/rotor-config-version.cmake
    DESTINATION ${package_folder})

install(TARGETS rotor-program rotor-f64-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
file(CONFIGURE OUTPUT rotor-f64.1 CONTENT ".so man1/rotor.1\n")
install(FILES train/rotor.1 ${CMAKE_CURRENT_BINARY_DIR}/rotor-f64.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(program rotor rotor-f64)
    install(FILES train/rotor.bash RENAME ${program}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
install(FILES train/rotor.zsh RENAME _rotor
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(SCRIPT cmake/install_python.cmake)
install(FILES LICENSE docs/configuration.md docs/run-folder.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.c" PATTERN CMakeLists.txt)

# The API reference, for those who have doxygen: cmake --build build --target reference
find_program(DOXYGEN doxygen)
configure_file(docs/Doxyfile.in Doxyfile @ONLY)
if(DOXYGEN)
    add_custom_target(reference COMMAND ${DOXYGEN} ${CMAKE_BINARY_DIR}/Doxyfile VERBATIM)
endif()
