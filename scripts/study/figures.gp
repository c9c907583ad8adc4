# The figures of docs/theta.md, from docs/theta/*.csv: gnuplot -e "kept='docs/theta'" FILE
set datafile separator ','
set terminal svg size 720,400 dynamic rounded font 'sans-serif,14' background '#ffffff'
set border 3 lc rgb '#444444'
set tics nomirror out
set grid ytics lc rgb '#dddddd'
set key at graph 0.98, 0.62 right opaque noenhanced
blue = '#0072b2'; orange = '#d55e00'; green = '#009e73'; grey = '#777777'

column_of(kind) = sprintf("< awk -F, 'NR == 1 || $1 == \"%s\"' %s", kind, file)

set xlabel 'steps'
set ylabel 'evaluation loss (nats per byte)'
file = kept . '/convergence-curves.csv'
set output kept . '/convergence.svg'
plot column_of('rope') using 2:3:4 skip 1 with yerrorlines lw 2 pt 7 ps 0.4 lc rgb blue title 'rope', \
     column_of('sinusoidal') using 2:3:4 skip 1 with yerrorlines lw 2 pt 5 ps 0.4 lc rgb orange title 'sinusoidal', \
     column_of('learned') using 2:3:4 skip 1 with yerrorlines lw 2 pt 9 ps 0.5 lc rgb green title 'learned'

file = kept . '/linear-curves.csv'
set output kept . '/linear.svg'
plot column_of('rope') using 2:3:4 skip 1 with yerrorlines lw 2 pt 7 ps 0.4 lc rgb blue title 'linear attention with rope', \
     column_of('none') using 2:3:4 skip 1 with yerrorlines lw 2 pt 5 ps 0.4 lc rgb orange title 'without positions'

set xlabel 'distance r'
set ylabel 'C(r)'
set output kept . '/decay.svg'
plot kept . '/decay.csv' using 1:2 skip 1 with lines lw 2 lc rgb blue notitle

set xlabel 'pair i'
set ylabel 'theta (radians per position)'
set logscale y
set format y '10^{%L}'
file = kept . '/theta-final.csv'
set output kept . '/theta-final.svg'
set key top right
plot column_of('copy') using 4:7 skip 1 with points pt 2 ps 1.2 lc rgb grey title 'base^{-2i/d}' enhanced, \
     column_of('copy') using ($4 - 0.15):5 skip 1 with points pt 7 ps 0.6 lc rgb blue title 'copy', \
     column_of('reverse') using ($4 - 0.05):5 skip 1 with points pt 5 ps 0.6 lc rgb orange title 'reverse', \
     column_of('shift') using ($4 + 0.05):5 skip 1 with points pt 9 ps 0.7 lc rgb green title 'shift', \
     column_of('sort') using ($4 + 0.15):5 skip 1 with points pt 13 ps 0.7 lc rgb '#cc79a7' title 'sort'
