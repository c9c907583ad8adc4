# A CSV as a table in Markdown, as it is.

{
    line = "|"; rule = "|"
    for (i = 1; i <= NF; i++) { line = line " " $i " |"; rule = rule "---|" }
    print line
    if (NR == 1) print rule
}
