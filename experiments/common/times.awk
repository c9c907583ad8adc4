# How long each part took, from times.csv; those of which it was not noted are passed over.

NR == 1 { print "| part | minutes |"; print "|---|---|"; next }
{ print "| `" program " " $1 "` | " $2 " |" }
