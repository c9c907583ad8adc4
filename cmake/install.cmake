# What `cmake --install` gives: the programs with their manual, and the library (core, ops and
# models) in both precisions, static and shared, with its headers, for CMake and for pkg-config.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The files for pkg-config get their prefix when they are installed, since `cmake --install` can
# be given another one than was configured. They name OpenBLAS by its flags, not as a required
# package, since that would bring in what only a static OpenBLAS needs, a Fortran library.
set(ROTOR_PREFIX @CMAKE_INSTALL_PREFIX@)
list(JOIN OPENBLAS_LDFLAGS " " ROTOR_OPENBLAS)

# rotor is float, rotor-f64 is double; both are made of the objects of the layers.
function(rotor_library name suffix)
    set(objects "")
    foreach(layer core ops models)
        list(APPEND objects $<TARGET_OBJECTS:rotor_${layer}${suffix}>)
    endforeach()
    # Until 1.0 a minor version may change what programs are compiled against.
    set(soversion ${PROJECT_VERSION_MAJOR})
    if(soversion EQUAL 0)
        string(APPEND soversion .${PROJECT_VERSION_MINOR})
    endif()
    foreach(kind SHARED STATIC)
        set(target ${name})
        if(kind STREQUAL STATIC)
            set(target ${name}-static)
        endif()
        add_library(${target} ${kind} ${objects})
        set_target_properties(${target} PROPERTIES
            OUTPUT_NAME ${name} LINKER_LANGUAGE C
            VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
        target_link_libraries(${target} PRIVATE PkgConfig::OPENBLAS Threads::Threads m)
        if(ROTOR_SANITIZE)
            target_link_options(${target} PUBLIC -fsanitize=${ROTOR_SANITIZE})
        endif()
        target_include_directories(${target} INTERFACE
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
    set(ROTOR_NODE rotor${suffix}_${soversion})
    configure_file(cmake/exports.map.in ${name}.map @ONLY)
    target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/${name}.map)
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_BINARY_DIR}/${name}.map)

    set(ROTOR_LIBRARY ${name})
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

rotor_library(rotor "")
rotor_library(rotor-f64 _f64)

# The headers that callers may include, below include/rotor/ as they lie here; and one for all.
set(private_headers
    core/path.h ops/distance.h ops/dropout.h ops/gemm.h ops/rows.h ops/vector_math.h models/parts.h)
set(includes "")
set(ROTOR_HEADERS "")
foreach(layer core ops models)
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
install(FILES LICENSE docs/configuration.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The API reference, for those who have doxygen: cmake --build build --target reference
find_program(DOXYGEN doxygen)
configure_file(docs/Doxyfile.in Doxyfile @ONLY)
if(DOXYGEN)
    add_custom_target(reference COMMAND ${DOXYGEN} ${CMAKE_BINARY_DIR}/Doxyfile VERBATIM)
endif()
