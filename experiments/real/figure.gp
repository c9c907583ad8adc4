# Where training would move theta in the pretrained model, above where it moved in others:
#
#     gnuplot -e "results='runs/real'; figure='theta.svg'" experiments/real/figure.gp
#
# `here` is the folder of this file, experiments/real by default.
if (!exists('here')) here = 'experiments/real'
theta = here . '/../theta'
statistics = here . '/../common/statistics.awk'
set terminal svg size 720,600 dynamic rounded font 'sans-serif,14' background '#ffffff'
set output figure
set border 3 lc rgb '#444444'
set tics nomirror out
set grid ytics lc rgb '#dddddd'
blue = '#0072b2'; orange = '#d55e00'; green = '#009e73'; purple = '#cc79a7'

# TURNS MEAN LOW HIGH of each pair: minus the gradient by ln theta in 512 tokens; the change of ln theta
gradient = sprintf("< awk -F, -v points=1 -f %s -f %s/analyse.awk %s/runs.csv %s/losses.csv %s/gradients.csv %s/usage.csv", statistics, here, results, results, results, results)
drifts(source) = sprintf("< awk -F, -v points='%s' -f %s -f %s/tables/published.awk %s/registered/results/pairs.csv %s/causes/results/pairs.csv %s/published_drift.csv", source, statistics, theta, theta, theta, theta)

set multiplot layout 2,1 margins 0.15,0.97,0.12,0.93 spacing 0.05
set logscale x
set xrange [0.001:400]
set format x ''
set arrow 1 from 0.001,0 to 400,0 nohead lc rgb '#000000' dt 2
set ylabel 'minus the gradient by ln θ'
set title 'above: what descent would do; below: what training did' font ',13'
set key bottom right
plot gradient using 1:2:3:4 with yerrorlines pt 7 ps 0.4 lc rgb '#000000' title 'SmolLM2-135M, T = 512, simultaneous 95 %'
unset title
set format x '%g'
set xlabel 'turns over a sequence at the start, θT / 2π'
set ylabel 'change of ln θ'
set yrange [-5.2:3.4]
set key top right
plot drifts('registered, 2 × 64') using 1:2 with points pt 7 ps 0.4 lc rgb blue title '2 × 64, T = 128', \
     drifts('registered, 4 × 128') using 1:2 with points pt 5 ps 0.4 lc rgb orange title '4 × 128, T = 128', \
     drifts('MLPRope') using 1:2 with linespoints pt 9 ps 0.5 lc rgb green title 'MLPRope, 153 M, T = 1024, one run', \
     drifts('LeRoPE') using 1:2 with linespoints pt 6 ps 0.5 lc rgb purple title 'LeRoPE, T = 2048, second hand'
unset multiplot
