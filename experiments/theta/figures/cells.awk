# The mean drift of every cell, a pair in a layer, over the turns that it makes in a sequence, from
# law-pairs.csv: TURNS DRIFT
#
#     awk -F, -v tokens=T -f cells.awk law-pairs.csv

FNR == 1 || $1 !~ "^length=" tokens "_" { next }
{ key = $1 SUBSEP $3 SUBSEP $4; start[key] = $5 * exp(-$6); drift[key] += $6; runs[key]++ }
END { for (key in runs) print start[key] * (tokens - 1) / 6.283185307179586, drift[key] / runs[key] }
