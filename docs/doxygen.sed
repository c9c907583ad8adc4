# Makes documentation of the comments that begin a line: /* ... */ becomes /** ... */. What they
# hold is shown as it stands, since it is laid out in columns; @, \, <, # mean nothing special.
/^\/\* [^-].*\*\/$/ {
    s/[@\\<>#%&]/\\&/g
    s/^\/\* \(.*\) *\*\/$/\/** <pre>\1<\/pre> *\//
    b
}
/^\/\* [^-]/,/\*\/$/ {
    s/[@\\<>#%&]/\\&/g
    s/^\/\* /\/** <pre>/
    s/ *\*\/$/<\/pre> *\//
}
