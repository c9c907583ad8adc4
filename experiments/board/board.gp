# The figure of the board, from what judge.awk wrote into the folder `work`: a box and a label for each
# cell, and the names of rows (column 0) and columns (row 0).
stats work . '/boxes' using 1 nooutput
columns = int(STATS_max)
stats work . '/boxes' using 2 nooutput
rows = int(STATS_max)
width = 150 + 66 * columns
height = 124 + 26 * rows
set terminal svg size width, height dynamic rounded font 'sans-serif,12' background '#ffffff'
set output figure
set datafile separator "\t"
unset border
unset tics
unset key
set lmargin at screen 0
set rmargin at screen 1 - 8. / width
set tmargin at screen 1
set bmargin at screen 54. / height
set xrange [0.5 - 142. / 66:columns + 0.5]
set yrange [rows + 0.5:0.5 - 70. / 26]
set label 1 'Difference from rope, with rope its mean. ▲ dark is better, ▼ light is worse, full at two standard deviations of the column;' at screen 10. / width, screen 36. / height left
set label 2 'white cannot be told from rope; – has not been run. ↑: higher is better, ↓: lower is better. *: untrained or random places.' at screen 10. / width, screen 16. / height left
set style fill solid 1 border lc rgb '#bbbbbb'
plot work . '/boxes' using 1:2:($1 - 0.5):($1 + 0.5):($2 - 0.5):($2 + 0.5):3 with boxxyerror lc rgb variable, \
     work . '/boxes' using 1:2:5:4 with labels tc rgb variable font ',11', \
     work . '/heads' using ($1 == 0 ? 0.4 : NaN):2:3 with labels right, \
     work . '/heads' using ($1 > 0 ? $1 : NaN):(-1.05):3 with labels center, \
     work . '/heads' using ($1 > 0 ? $1 : NaN):(0.15):4 with labels center tc rgb '#444444' font ',11'
