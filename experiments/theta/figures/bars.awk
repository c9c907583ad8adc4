# The drift of every pair of one layer in each run, and what the model bears around it, from
# theta-pairs.csv: PLACE DRIFT LOWEST HIGHEST; the place is the pair and, within it, the seed.
#
#     awk -F, -v task=TASK -v layer=L -f bars.awk theta-pairs.csv

NR > 1 && $1 == task && $3 == layer { print $4 + ($2 - 5.5) * 0.08, $6, $6 - $9, $6 + $10 }
