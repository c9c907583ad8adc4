# The files that each revision made, from revisions.csv.

NR == 1 { print "| revision | files |"; print "|---|---|"; next }
{
    if (!($2 in files)) order[++count] = $2
    files[$2] = files[$2] (files[$2] == "" ? "" : ", ") $1
}
END { for (k = 1; k <= count; k++) print "| " order[k] " | " files[order[k]] " |" }
