# The figures of the page, from results/*.csv, of the parts of the study that were made:
#
#     gnuplot -e "here='experiments/theta'; made='tasks known ...'" FILE
set terminal svg size 720,400 dynamic rounded font 'sans-serif,14' background '#ffffff'
set border 3 lc rgb '#444444'
set tics nomirror out
set grid ytics lc rgb '#dddddd'
blue = '#0072b2'; orange = '#d55e00'; green = '#009e73'; purple = '#cc79a7'; grey = '#777777'
kept = here . '/results'
figures = here . '/figures/'

there(part) = strstrt(' '.made.' ', ' '.part.' ') > 0

# ---- theta ----

bars(task, layer) = sprintf("< awk -F, -v task=%s -v layer=%d -f %sbars.awk %s/theta-pairs.csv", task, layer, figures, kept)

low(x) = x < -0.7 ? -0.7 : x
high(x) = x > 0.7 ? 0.7 : x

if (there('tasks')) {
    set output figures . 'drift.svg'
    set terminal svg size 720,520
    set multiplot layout 2,1 margins 0.1,0.98,0.12,0.92 spacing 0.03
    set xrange [-0.6:7.6]
    set yrange [-0.7:0.7]
    set xtics 0,1,7 format ''
    set arrow 1 from -0.6,0 to 7.6,0 nohead lc rgb '#000000' dt 2
    set ylabel 'reverse: ln(θ / base)'
    set title 'point: the learned θ of one seed; bar: where the model works as well' font ',13'
    plot bars('reverse', 0) using 1:(low(column(3))):(0):(high(column(4)) - low(column(3))) with vectors heads size graph 0.004,90 lw 1 lc rgb orange notitle, \
         bars('reverse', 0) using 1:2 with points pt 7 ps 0.4 lc rgb '#000000' notitle
    unset title
    set xtics 0,1,7 format '%g'
    set xlabel 'pair i of layer 0, ten seeds'
    set ylabel 'copy: ln(θ / base)'
    plot bars('copy', 0) using 1:(low(column(3))):(0):(high(column(4)) - low(column(3))) with vectors heads size graph 0.004,90 lw 1 lc rgb blue notitle, \
         bars('copy', 0) using 1:2 with points pt 7 ps 0.4 lc rgb '#000000' notitle
    unset multiplot
    unset arrow 1
    unset xrange
    unset yrange
    set xtics autofreq format '%g'
    set terminal svg size 720,400
}

if (there('known')) {
    set datafile separator ','
    set output figures . 'range.svg'
    set logscale y
    set yrange [0.008:60]
    set xrange [0:20]
    set format y '%g %%'
    set xlabel '|θ* - θ⁰| T (radians)'
    set ylabel 'error of the learned θ'
    set key top left
    set arrow 1 from pi, graph 0 to pi, graph 1 nohead lc rgb '#000000' dt 2
    set label 1 'π' at pi + 0.2, 40
    set arrow 2 from graph 0, first 1 to graph 1, first 1 nohead lc rgb grey dt 3
    plot kept . '/theta-range-found.csv' using (abs($2 - $4) * $3):(100 * abs($5 / $2 - 1)) skip 1 with points pt 7 ps 0.5 lc rgb blue notitle
    unset arrow
    unset label
    unset logscale
    unset xrange
    unset yrange
    set format y '%g'
    set datafile separator whitespace
}

valley(T) = sprintf("< awk -F, '$1 == %d { print $2, $3 }' %s/valley.csv", T, kept)

if (there('known')) {
    set output figures . 'valley.svg'
    set xlabel 'θ that replaces the learned one (radians per position)'
    set xrange [0.6:1.2]
    set yrange [1.6:2.62]
    set ylabel 'evaluation loss'
    set key bottom left
    set arrow 1 from 0.9, graph 0 to 0.9, graph 1 nohead lc rgb '#000000' dt 2
    plot valley(24) with linespoints lw 2 pt 7 ps 0.4 lc rgb blue title 'T = 24', \
         valley(64) with linespoints lw 2 pt 5 ps 0.4 lc rgb orange title 'T = 64'
    unset arrow
    unset xrange
    unset yrange
}

# turns, drift and usage over the mean of the 16 pairs; LENGTH and BASE of rows that do not name them
points(file, task, length, base) = sprintf("< awk -F, -v task=%s -v tokens=%d -v base=%d -f %sturns.awk %s/%s", task, length, base, figures, kept, file)

if (there('decoder') && there('decoder_base') && there('text') && there('law')) {
    set output figures . 'turns.svg'
    set terminal svg size 720,600
    set multiplot layout 2,1 margins 0.1,0.98,0.1,0.93 spacing 0.05
    set logscale x
    set xrange [0.008:60]
    set format x ''
    set arrow 2 from 1 / 2.205, graph 0 to 1 / 2.205, graph 1 nohead lc rgb '#000000' dt 2
    set label 2 'wavelength 2.205 T' at 1 / 2.205 * 1.08, graph 0.95 font ',12'
    set ylabel 'usage / mean'
    set yrange [0:3.2]
    set key top left
    plot points('theta-decoder-pairs.csv', 'layer', 256, 10000) using 1:3 with points pt 7 ps 0.4 lc rgb blue title 'decoder, T = 256, base 10000', \
         points('theta-decoder-base-pairs.csv', 'layer', 256, 500000) using 1:3 with points pt 5 ps 0.4 lc rgb orange title 'decoder, T = 256, base 500000', \
         points('theta-text-pairs.csv', 'lm', 64, 10000) using 1:3 with points pt 9 ps 0.5 lc rgb green title 'lm of the licences, T = 64'
    unset label 2
    set format x '%g'
    set xlabel 'turns over a sequence at the start, θ (T - 1) / 2π'
    set ylabel 'ln(θ / base)'
    set yrange [-0.6:0.8]
    set key top right
    set arrow 1 from 0.008,0 to 60,0 nohead lc rgb '#000000' dt 2
    plot points('theta-decoder-pairs.csv', 'layer', 256, 10000) using 1:2 with points pt 7 ps 0.4 lc rgb blue notitle, \
         points('theta-decoder-base-pairs.csv', 'layer', 256, 500000) using 1:2 with points pt 5 ps 0.4 lc rgb orange notitle, \
         points('theta-text-pairs.csv', 'lm', 64, 10000) using 1:2 with points pt 9 ps 0.5 lc rgb green notitle, \
         points('law-pairs.csv', '', 0, 0) using 1:2 with points pt 6 ps 0.4 lc rgb grey title 'two layers, T = 64 to 256, bases 3000 and 10000'
    unset multiplot
    unset arrow
    unset logscale
    unset xrange
    unset yrange
    set format x '%g'
    set terminal svg size 720,400
}

# the mean change of ln θ of each pair, with its interval: TURNS MEAN LOW HIGH
drifts(source) = sprintf("< awk -F, -v points='%s' -f %s/../common/statistics.awk -f %s/tables/published.awk %s/registered/results/pairs.csv %s/causes/results/pairs.csv %s/published_drift.csv", source, here, here, here, here, here)
small = drifts('registered, 2 × 64')
middle = drifts('registered, 4 × 128')

after(steps) = drifts(sprintf('2 × 64, %d steps', steps))

set output figures . 'direction.svg'
set terminal svg size 720,840
set multiplot layout 3,1 margins 0.1,0.98,0.07,0.98 spacing 0.04
set logscale x
set xrange [0.003:400]
set format x ''
unset xlabel
set arrow 1 from 0.003,0 to 400,0 nohead lc rgb '#000000' dt 2
set ylabel 'change of ln θ'
set yrange [-5.2:1.2]
set key bottom right
plot small using 1:2 with points pt 7 ps 0.4 lc rgb blue notitle, \
     middle using 1:2 with points pt 5 ps 0.4 lc rgb orange notitle, \
     drifts('MLPRope') using 1:2 with linespoints pt 9 ps 0.5 lc rgb green title 'MLPRope, 153 M, T = 1024, one run', \
     drifts('LeRoPE') using 1:2 with linespoints pt 6 ps 0.5 lc rgb purple title 'LeRoPE, T = 2048, second hand'
set yrange [-0.2:0.7]
set key top right
plot small using 1:2:3:4 with yerrorlines pt 7 ps 0.4 lc rgb blue title '2 × 64, T = 128, 200 runs', \
     middle using 1:2:3:4 with yerrorlines pt 5 ps 0.4 lc rgb orange title '4 × 128, T = 128, 80 runs'
set format x '%g'
set xlabel 'turns over a sequence at the start, θT / 2π'
set yrange [-0.7:1.8]
array shades[4] = ['#cccccc', '#aaaaaa', '#888888', '#555555']
plot for [k = 0:3] after(1000 * 2**k) using 1:2 with linespoints pt 7 ps 0.4 lc rgb shades[k + 1] \
     title sprintf('2 × 64, 8 runs, after %d,000 of 16,000 steps', 2**k), \
     after(16000) using 1:2:3:4 with yerrorlines pt 7 ps 0.5 lc rgb '#000000' title 'after 16,000 steps'
unset multiplot
unset arrow
unset logscale
unset xrange
unset yrange
set terminal svg size 720,400

cells(T) = sprintf("< awk -F, -v tokens=%d -f %scells.awk %s/law-pairs.csv", T, figures, kept)

if (there('law')) {
    set output figures . 'law.svg'
    set logscale x
    set xrange [0.1:4.2]
    set yrange [-0.4:0.6]
    set xtics (0.1, 0.2, 0.4, '0.65' 0.65, '1.22' 1.22, '1.72' 1.72, '2.23' 2.23, '2.73' 2.73, '3.23' 3.23, '' 3.73)
    set xlabel 'turns over a sequence at the start, θ (T - 1) / 2π'
    set ylabel 'ln(θ / base), mean of four seeds'
    set key top left
    set label 1 'the law: up' at 0.27, -0.34 center
    set label 2 'down' at 0.89, -0.34 center
    set label 3 'up' at 1.45, -0.34 center
    set label 4 'down' at 1.96, -0.34 center
    set label 5 'up' at 2.47, -0.34 center
    set object 1 rectangle from 0.65, graph 0 to 1.22, graph 1 fc rgb '#e8e8e8' fs solid noborder behind
    set object 2 rectangle from 1.72, graph 0 to 2.23, graph 1 fc rgb '#e8e8e8' fs solid noborder behind
    set object 3 rectangle from 2.73, graph 0 to 3.23, graph 1 fc rgb '#e8e8e8' fs solid noborder behind
    set object 4 rectangle from 3.73, graph 0 to 4.2, graph 1 fc rgb '#e8e8e8' fs solid noborder behind
    set arrow 1 from 0.1,0 to 4.2,0 nohead lc rgb '#000000' dt 2
    plot cells(64) with points pt 7 ps 0.6 lc rgb blue title 'T = 64', \
         cells(128) with points pt 5 ps 0.6 lc rgb orange title 'T = 128', \
         cells(256) with points pt 9 ps 0.7 lc rgb green title 'T = 256'
    unset arrow
    unset label
    unset object
    unset logscale
    unset xrange
    unset yrange
    set xtics autofreq
}

# ---- encodings ----

curve(name, kind) = sprintf("< awk -F, -v kind=%s -f %scurve.awk %s/%s-curves.csv", kind, figures, kept, name)
set key outside top left horizontal Left reverse noenhanced
set xlabel 'steps'
set ylabel 'evaluation loss (nats per byte)'

if (there('convergence')) {
    set output figures . 'convergence.svg'
    plot curve('convergence', 'rope') with yerrorlines lw 2 pt 7 ps 0.4 lc rgb blue title 'rope', \
         curve('convergence', 'sinusoidal') with yerrorlines lw 2 pt 5 ps 0.4 lc rgb orange title 'sinusoidal', \
         curve('convergence', 'learned') with yerrorlines lw 2 pt 9 ps 0.5 lc rgb green title 'learned', \
         curve('convergence', 'learned-0.1') with yerrorlines lw 2 pt 13 ps 0.5 lc rgb purple title 'learned, table of std 0.1'
}

if (there('linear')) {
    set output figures . 'linear.svg'
    plot curve('linear', 'rope') with yerrorlines lw 2 pt 7 ps 0.4 lc rgb blue title 'linear attention with rope', \
         curve('linear', 'none') with yerrorlines lw 2 pt 5 ps 0.4 lc rgb orange title 'without positions'
}

set datafile separator ','
set xlabel 'distance r'
set ylabel 'C(r)'
set output figures . 'decay.svg'
plot kept . '/decay.csv' using 1:2 skip 1 with lines lw 2 lc rgb blue notitle
