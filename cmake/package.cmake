# What `cpack` in the build folder makes: a package for the release of Debian (12 or 13) that it is made
# on, with the programs, the libraries, their headers, the manual, the pages of docs/ and of the
# studies, the experiments, and the copyright.

install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DOCDIR}
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN common EXCLUDE PATTERN tables EXCLUDE
    PATTERN results EXCLUDE)
install(DIRECTORY experiments/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
    FILES_MATCHING PATTERN "*.ini" PATTERN common EXCLUDE PATTERN tables EXCLUDE
    PATTERN results EXCLUDE PATTERN figures EXCLUDE)

# Debian's form: an indented text, with points for its empty lines.
file(STRINGS LICENSE lines)
set(ROTOR_LICENSE "")
foreach(line IN LISTS lines)
    if(line STREQUAL "")
        set(line ".")
    endif()
    string(APPEND ROTOR_LICENSE " ${line}\n")
endforeach()
file(CONFIGURE OUTPUT copyright @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rotor

Files: *
Copyright: 2026 The rotor authors
License: Expat

License: Expat
@ROTOR_LICENSE@
Comment: The programs and librotor-io are linked with HDF5 (BSD), OpenBLAS (BSD), xxHash (BSD), utf8proc (Expat)
 and Jansson (Expat), the programs also with Open MPI (BSD) and oneDNN (Apache-2.0) where they were there;
 random123 (BSD) is compiled in.
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rotor)
set(CPACK_PACKAGE_CONTACT "The rotor authors <rotor@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "trains small transformers with rotary position embeddings")
set(CPACK_PACKAGE_DESCRIPTION
"A program that trains RoFormers from an INI file, on toy tasks, text or token ids, and can learn
the rotation frequencies with the weights; a C library with its tensors, ops and models; and another
that opens and saves trained models, for programs that embed them; in float and in double
precision.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS 
    "libopenblas-dev, libhdf5-dev, libjansson-dev, libutf8proc-dev, libxxhash-dev, zlib1g-dev, pkg-config, python3-h5py")
include(CPack)
