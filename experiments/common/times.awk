# How long each part took, from times.csv.

NR == 1 { print "| part | minutes |"; print "|---|---|"; next }
{ print "| `" program " " $1 "` | " $2 " |" }
