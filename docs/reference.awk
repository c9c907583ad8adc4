# Makes documentation for doxygen of the plain comments of a header, line by line, so that line
# numbers stay: the first comment of a file is about the file, one that begins a line is about
# what follows, up to the next empty line, one behind a member is about that member, and
# "---- name ----" begins a section. Lines that are indented by more than one blank are kept as
# they stand, since they are laid out in columns; @, \, <, # and so on mean nothing special.
# Other names of the library become links.

function plain(text) {
    gsub(/[@\\<>#%&$]/, "\\\\&", text)
    return text
}

function linked(text) {
    text = plain(text)
    while (match(text, /`[^`]+`/))
        text = substr(text, 1, RSTART - 1) "<code>" substr(text, RSTART + 1, RLENGTH - 2) \
            "</code>" substr(text, RSTART + RLENGTH)
    gsub(/rt_[a-z0-9_]+/, "@&", text)
    gsub(/@rt_/, "#rt_", text)
    gsub(/ al\. /, " al.\\ ", text) # where the first sentence goes on
    gsub(/ eq\. /, " eq.\\ ", text)
    return text
}

# A line of a comment without the stars around it; follows whether columns are open.
function body(text,    before) {
    if (text ~ /^ *$/) {
        before = columns ? "</pre>" : ""
        columns = 0
        return before
    }
    if (text ~ /^   / && !columns) {
        before = "<pre>"
        columns = 1
    } else if (text !~ /^   / && columns) {
        before = "</pre>"
        columns = 0
    }
    return before linked(text)
}

# Ends the comment that was being read.
function finish(end) {
    if (columns)
        end = "</pre>" end
    columns = 0
    inside = 0
    return end
}

function comment(text, start,    ends) {
    ends = sub(/ *\*\/$/, "", text)
    inside = !ends
    return start body(text) (ends ? finish(last " */") : "")
}

# A second declaration under one comment refers to the first one.
function declaration(line,    name) {
    if (line !~ /^([a-z]|#define)/ || !documented)
        return line
    name = ""
    if (match(line, /^#define [A-Za-z_0-9]+/))
        name = substr(line, 9, RLENGTH - 8)
    else if (line !~ /^(typedef|enum|struct)/ && match(line, /[a-z_0-9]+\(/))
        name = substr(line, RSTART, RLENGTH - 1)
    if (!first_name) {
        first_name = name ? name : "none"
        return line
    }
    if (!name || name == first_name || first_name == "none")
        return line
    return "/** See #" first_name ". */ " line
}

FNR == 1 { seen = section = columns = inside = in_type = documented = 0 }

/^$/ { if (!inside) documented = 0 }

inside {
    ends = sub(/ *\*\/$/, "")
    sub(/^ *\*?/, "")
    print body($0) (ends ? finish(last " */") : "")
    next
}

/^\/\* ---- .* ---- \*\/$/ {
    gsub(/^\/\* ---- | ---- \*\/$/, "")
    print (section ? "/** @} */ " : "") "/** @name " plain($0) " */ /** @{ */"
    section = 1
    next
}

/^\/\*/ {
    last = seen ? "" : " @file"
    seen = documented = 1
    first_name = ""
    print comment(substr($0, 3), "/**")
    next
}

/^(typedef |)(struct|enum|union).*\{$/ { in_type = 1 }
/^\}/ { in_type = 0 }

in_type && /\/\*/ && !/\\$/ {
    at = index($0, "/*")
    code = substr($0, 1, at - 1)
    last = ""
    sub(/^ */, "", code) # alone on its line, a comment is about the next one
    print substr($0, 1, at - 1) comment(substr($0, at + 2), code == "" ? "/**" : "/**<")
    next
}

{ print declaration($0) }

END { if (section) print "/** @} */" }
