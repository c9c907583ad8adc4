# The scripts of the figures of reports. A script consists of the name and the size of its figure, the
# section "all", the sections of its axes, commands of the program, and the section of its plots. What
# differs between figures of a kind is in variables, which the program sets.

#: all
# Dark on light, and colours that a colour-blind reader can tell apart (after Okabe and Ito), with a
# contrast of at least 3 to 1 on the page, whether that is light or dark. The key stands outside,
# where it hides no curve.
reset
set datafile separator ','
set terminal svg size width,height dynamic standalone rounded name figure \
    font 'sans-serif,13' background '#ffffff'
set output figure.'.svg'
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid ytics linecolor rgb '#dddddd' linetype 1 dashtype 1 linewidth 0.6
set autoscale xfixmax
set key outside top left horizontal reverse Left noenhanced samplen 2
set linetype 1 linecolor rgb '#0072b2' linewidth 1.8
set linetype 2 linecolor rgb '#d55e00' linewidth 1.8
set linetype 3 linecolor rgb '#009e73' linewidth 1.8
set linetype 4 linecolor rgb '#b85c90' linewidth 1.8
set linetype 5 linecolor rgb '#a06f00' linewidth 1.8
set linetype 6 linecolor rgb '#2f8fc8' linewidth 1.8
set linetype 7 linecolor rgb '#000000' linewidth 1.8
set linetype cycle 7
limit = "with lines dashtype 3 linecolor rgb '#444444'"
dots = "with points pointtype 7 pointsize 0.5 linetype"
# labels that a browser shows where the pointer rests on a point
spot = 0.5
labelled = "with labels hypertext point pointtype 7 pointsize spot linecolor rgb '#e0000000' notitle"
# a single run has no deviation
spread(deviation) = deviation > 0 ? sprintf(' ± %.2g', deviation) : ''
# the i-th of several numbers that stand side by side around 0
beside(i) = layers > 1 ? real(sprintf('%.3f', 0.5*i/(layers - 1) - 0.25)) : 0

#: steps
set xlabel 'step'
set xrange [0:*]
set lmargin 9 # frames that stand side by side are equal
set rmargin 3

#: tokens
set xlabel 'tokens'
set xrange [0:*]
set lmargin 9
set rmargin 3
set format x '%.1s%c'

#: seconds
set xlabel 'seconds'
set xrange [0:*]
set lmargin 9
set rmargin 3

#: lengths
set xlabel 'sequence length (tokens)'
set logscale x 2
set offsets graph 0.03, graph 0.03, 0, 0 # the last number has its label

#: distances
set xlabel 'distance (tokens)'
set logscale x 2

#: pairs
set xlabel 'pair i'
set xrange [-0.5:*]

#: nats
set ylabel 'cross entropy (nats)'

#: bits
set ylabel 'bits per byte'

#: accuracy
set ylabel 'accuracy'
set yrange [0<*:*<1.02]

#: gradient
set ylabel 'gradient norm'

#: rate
set ylabel 'learning rate'
set yrange [0:*]
unset key
set format y '%g'

#: distance
set ylabel 'ln(θ_i / geometric θ_i)' enhanced
set xzeroaxis

#: curves
# bands of one deviation, means, and labels; later lines are thinner, so that lines that coincide are
# all visible
plot for [i=0:curves-1] file index i \
         using horizontal:(column(vertical) - column(vertical + 1)): \
             (column(vertical) + column(vertical + 1)) \
         with filledcurves linetype i%7 + 1 fillstyle transparent solid 0.12 noborder notitle, \
     for [i=0:curves-1] file index i using horizontal:vertical@more \
         with @style linetype i%7 + 1 dashtype i/7 + 1 \
         linewidth (curves > 1 ? real(sprintf('%.2f', 3.4 - 2.0*i/(curves - 1))) : 2) \
         title labels[i + 1], \
     for [i=0:curves-1] file index i \
         using horizontal:vertical:(labels[i + 1].sprintf(': %s %.6g: %.4g', unit, \
             column(horizontal), column(vertical)).spread(column(vertical + 1))) @labelled

#: key
# for each series deviations, a circle for each run, means, and labels
spot = 0.8
set offsets graph 0.06, graph 0.06, 0, 0
part = ", file index %d using 1:2"
p = ''
do for [i=0:series-1] {
    p = p.sprintf(part.":3 with yerrorbars linetype %d pointtype 7 pointsize 0.6 notitle", 2*i, i + 1)
    p = p.sprintf(part." with points linetype %d pointtype 6 pointsize 0.5 linewidth 0.8 notitle", \
                  2*i + 1, i + 1)
    p = p.sprintf(part." with @style linetype %d title labels[%d]", 2*i, i + 1, i + 1)
    p = p.sprintf(part.":(note(labels[%d], $2, $3, $4)) @labelled", 2*i, i + 1)
}
note(label, mean, deviation, runs) = label.(strlen(label) ? ': ' : '').\
    sprintf('%.4g', mean).spread(deviation).(runs > 1 ? sprintf(' (runs: %d)', runs) : '')
eval 'plot '.substr(p, 3, strlen(p))

#: change
set xlabel 'step'
set ylabel 'largest |θ_i/θ_i^0 - 1|' enhanced
set yrange [0:*]
# neighbouring lines differ in colour and dashes
plot tolerance @limit title 'tolerance', \
     for [i=0:layers-1] 'change.csv' using 1:i+2 with lines linetype i%7 + 1 dashtype i%5 + 1 \
         title labels[i + 1]

#: theta
# theta on a logarithmic axis, and below it the changes, which are too small for that axis
starts = elsewhere ? ", 'theta.csv' using 1:3 with points pointtype 6 pointsize 0.7 ".\
                      "linecolor rgb '#777777' title 'initial'" : ''
set multiplot
set lmargin 9
set rmargin 2
set xrange [-0.6:pairs - 0.4]
set xtics pair_tics format ''
set size 1, 0.58
set origin 0, 0.42
set bmargin 0.5
set ylabel 'θ_i (radians/position)' enhanced
set logscale y
set format y '10^{%L}'
plot 'theta.csv' using ($1 - 0.4):4:(0.8):(0) with vectors nohead linewidth 2 \
         linecolor rgb '#888888' title 'geometric' @starts, \
     for [i=0:layers-1] 'theta.csv' index i using ($1 + beside(i)):2 \
         with points pointtype (i < 7 ? 7 : 5) pointsize 0.5 linetype i%7 + 1 title labels[i + 1]
set size 1, 0.42
set origin 0, 0
set tmargin 0.5
set bmargin 3.6
unset logscale y
set format y '%g'
set ytics change_tics
set xtics format '%g'
set xlabel 'pair i'
set ylabel 'change (%)'
plot 0 with lines linewidth 2 linecolor rgb '#888888' notitle, \
     for [i=0:layers-1] 'theta.csv' index i using ($1 + beside(i)):(100*($2/$4 - 1)) \
         with points pointtype (i < 7 ? 7 : 5) pointsize 0.5 linetype i%7 + 1 notitle
unset multiplot

#: tolerances
set xlabel 'pair i'
set ylabel 'ln(θ_i/θ_i^0)' enhanced
set xrange [-0.6:pairs - 0.4]
set xtics pair_tics
set yrange [-farthest:farthest]
p = "plot 0 with lines linewidth 1 linecolor rgb '#888888' notitle"
part = ", 'tolerances.csv' index %d using ($1 + beside(%d)):"
do for [i=0:layers-1] {
    p = p.sprintf(part."3:(0):4 with vectors heads size graph 0.008,90 linetype %d linewidth 1 ".\
                  "notitle", i, i, i%7 + 1)
    p = p.sprintf(part."2 @dots %d title labels[%d]", i, i, i%7 + 1, i + 1)
}
eval p

#: wavelengths
set yrange [0:*]
set ylabel 'usage / mean'
set xlabel 'wavelength 2π/θ over the reach of attention'
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 3 linecolor rgb '#444444'
p = "plot 1 @limit notitle"
part = ", 'wavelengths.csv' index %d using "
do for [i=0:layers-1] {
    p = p.sprintf(part."1:3:($2 - $1):(0) with vectors nohead linetype %d notitle", i, i%7 + 1)
    p = p.sprintf(part."2:3 @dots %d title labels[%d]", i, i%7 + 1, i + 1)
}
eval p

#: plane
set xrange [-farthest:farthest]
set yrange [-farthest:farthest]
set xlabel 'θ of the columns'
set ylabel 'θ of the rows'
set size ratio -1
set grid xtics ytics
p = "plot 0 @limit notitle"
part = ", 'plane.csv' index %d using "
do for [i=0:layers-1] {
    p = p.sprintf(part."1:2:($3 - $1):($4 - $2) with vectors nohead linewidth 0.6 linetype %d notitle", i, i%7 + 1)
    p = p.sprintf(part."3:4 @dots %d title labels[%d]", i, i%7 + 1, i + 1)
}
eval p

#: decay
# for each panel the columns of the curves, of the initial theta and of the learned one
set xlabel 'distance r (positions)'
set yrange [0:*]
set ytics curve_tics
set multiplot layout rows,columns
do for [l=1:panels] {
    set ylabel sprintf('C(r), %s', labels[l])
    plot for [c in initial[l]] 'decay.csv' using 1:int(c) with lines linewidth 2.5 \
             linecolor rgb '#888888' title (c eq word(initial[l], 1) ? 'initial' : ''), \
         for [c in learned[l]] 'decay.csv' using 1:int(c) with lines linewidth 1 \
             linetype (l - 1)%7 + 1 title (c eq word(learned[l], 1) ? 'learned' : '')
}
unset multiplot

#: usage
# a panel for each measure, with one frame; points above twice the mean are filled
set yrange [0:*]
set key maxcols 2
set multiplot layout 1,3
set tmargin at screen real(sprintf('%.3f', 1 - (17.0*((layers + 1)/2) + 24)/height))
array measures[3] = ['weights', 'activations', 'mean activation']
do for [m=1:3] {
    scale = m == 1 ? pairs : 1
    set xlabel m == 2 ? 'full turns over the reach of attention' : ' '
    set ylabel measures[m].' / mean'
    plot 2 @limit notitle, for [k=0:2*layers-1] 'usage.csv' index k/2 \
         using 1:(k%2 && scale*column(m + 1) <= 2 ? NaN : scale*column(m + 1)) \
         with points pointtype 6 + k%2 pointsize 0.6 linetype k/2%7 + 1 \
         title (m == 1 && k%2 == 0 ? labels[k/2 + 1] : '')
}
unset multiplot

#: phases
set xlabel 'position'
set ylabel 'sum of phases'
plot x + 1 @limit title 'RoPE', \
     for [i=0:layers-1] 'phases.csv' index i using 1:($2 - $3):($2 + $3) \
         with filledcurves linetype i%7 + 1 fillstyle transparent solid 0.12 noborder notitle, \
     for [i=0:layers-1] 'phases.csv' index i using 1:2 with lines linewidth 0.8 linetype i%7 + 1 title labels[i + 1]

#: gates
set xlabel 'head'
set ylabel 'mean forget gate'
set autoscale x
set offsets 0.5, 0.5, 0, 0
set xtics 1
plot for [i=0:layers-1] 'gates.csv' index i using ($1 + beside(i)):2 @dots i%7 + 1 \
     title labels[i + 1]

#: cutoffs
set xlabel 'full turns of the first pair that is switched off'
set key left top
plot whole @limit title 'all pairs', 'cutoffs.csv' using 1:2 with linespoints linetype 1 \
     pointtype 7 pointsize 0.5 title 'without this and the following pairs'

#: attention
# maps of layers from top to bottom and of heads from left to right; tokens or numbers stand in the
# first column and below the last row
unset key
unset grid
set border 15 linecolor rgb '#888888' linewidth 0.6
set palette defined (0 '#ffffff', 0.3 '#9ecae1', 0.65 '#2171b5', 1 '#08306b')
set cbrange [0:1]
set cbtics ('0' 0, '.05' .2236, '.2' .4472, '.5' .7071, '1' 1) font ',12'
share(points, all) = real(sprintf('%.4f', 1.0*points/all))
set colorbox user origin screen share(bar, width), screen share(below, height) \
    size screen share(10, width), screen share(size, height)
set yrange [tokens - 0.5:-0.5]
set xrange [-0.5:tokens - 0.5]
set multiplot
do for [n=0:layers*heads-1] {
    layer = n/heads
    head = n%heads
    x0 = left + head*(size + gap/3)
    y0 = below + (layers - 1 - layer)*(size + gap)
    set lmargin at screen share(x0, width)
    set rmargin at screen share(x0 + size, width)
    set bmargin at screen share(y0, height)
    set tmargin at screen share(y0 + size, height)
    last = tokens - 1 - step/4 # a label at the edge would touch the first one of the next map
    set xtics 0,step,last format ''
    set ytics 0,step,last format ''
    unset label
    if (layer + 1 == layers) {
        set label 'key' at screen share(x0 + size/2.0, width), screen share(10, height) center font ',12'
        if (named) { set xtics @tics font ',12' rotate by 90 right } else { set xtics format '%g' font ',12' norotate }
    }
    if (head == 0) {
        set label 'query' at screen share(10, width), screen share(y0 + size/2.0, height) center \
            rotate by 90 font ',12'
        if (named) { set ytics @tics font ',12' } else { set ytics format '%g' font ',12' }
    }
    set title sprintf('layer %d, head %d', layer, head) font ',12' offset 0,-0.7
    eval sprintf("plot 'attention.csv' index %d matrix using 1:2:(sqrt($3)) with image", n)
    unset colorbox
}
unset multiplot
