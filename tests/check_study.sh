#!/bin/sh
# The tables of the studies in experiments/: what their scripts make of small tables whose answers are
# known. Each is an awk program; expected is the Markdown that it writes.
#
#     tests/check_study.sh
set -eu
export LC_ALL=C
experiments=$(cd "$(dirname "$0")/../experiments" && pwd)
common=$experiments/common
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

expect() { # expect NAME COMMAND ...: its output is the standard input
    name=$1
    shift
    cat >expected
    "$@" >got 2>error || echo "exit code $?" >>got
    diff expected got >difference && return
    echo "$name: expected (<) and got (>):" >&2
    cat difference error >&2
    failed=1
}

study() { # study SCRIPT FILE ... [-v NAME=VALUE]
    script=$(echo "$experiments"/*/tables/"$1".awk)
    [ -f "$script" ] || script=$common/$1.awk
    shift
    awk -F, -f "$common/statistics.awk" -f "$script" "$@"
}

table() { # table COLUMNS [COLUMN=VALUE]
    awk -v columns="$1" -v where="${2:-}" -f "$common/statistics.awk" -f "$common/table.awk" runs.csv
}

# Three runs of a, one of which has no steps, and one of b: 1, 2 and 6 have mean 3 and deviation
# sqrt((4 + 1 + 9) / 2).
cat >runs.csv <<'END'
run,variant,run.seed,exit_code,loss,steps
a1,a,1,0,1,100
a2,a,2,0,2,300
a3,a,3,5,6,
b1,b,1,0,0.5,50
END
expect table table 'variant=task;=runs;loss:%.2f=loss;steps:%.0f=steps' <<'END'
| task | runs | loss | steps |
|---|---|---|---|
| a | 3 | 3.00 ± 2.65 | 200 ± 141 (2 of 3) |
| b | 1 | 0.50 | 50 |
END
expect 'table where' table 'variant=task;loss:%.1f=loss' variant=b <<'END'
| task | loss |
|---|---|
| b | 0.5 |
END
expect 'table without a column' table 'variant=task;none:%.1f=loss' <<'END'
exit code 1
END

# Learned less fixed: -1 and -3, and steps of +100 and 0; of two coins both fall so with chance 1/2.
# A pair of differences that lie D apart has the interval mean ± 12.706 D / 2 (t with one degree of
# freedom), and shows 20.96 D / 2.
cat >theta.csv <<'END'
run,variant,theta.learn,run.seed,exit_code,eval_loss,first_step_with_accuracy_0.99
1,copy,no,1,0,4,100
2,copy,no,2,0,5,200
3,copy,yes,1,0,3,200
4,copy,yes,2,0,2,200
END
expect paired study paired -v by=variant theta.csv <<'END'
| task | loss, learned less fixed [95 %] | detectable | lower / higher | chance | steps to 99 %, learned less fixed [95 %] | detectable | fewer / more | chance |
|---|---|---|---|---|---|---|---|---|
| copy | -2 [-15, +11] | 21 | 2 / 0 | 0.500 | +50 [-585, +685] | 1048 | 0 / 1 | 1.000 |
END
expect 'paired of another table' study paired -v by=none theta.csv <<'END'
exit code 1
END

# Seed 2 is needed by its accuracy, seed 1 by its loss alone (1.5 x 0.1 + 0.01), whatever their order.
cat >swap.csv <<'END'
task,seed,theta,loss,accuracy
copy,2,learned,0.1,1
copy,1,learned,0.1,1
copy,1,base,0.161,1
copy,2,base,0.1,0.98
copy,1,half,0.159,1
copy,2,half,0.1,0.99
END
expect swap study swap swap.csv <<'END'
| task | learned | half of the drift | base^(-2i/d) | drift flipped | signs by chance | shuffled |
|---|---|---|---|---|---|---|
| copy | 1.000 ± 0.000 | 0.995 ± 0.007: 0 of 2 | 0.990 ± 0.014: 2 of 2 | – | – | – |
END

# A drift up goes back down: beyond the tolerance downwards, 0.1, in one run of two.
cat >pairs.csv <<'END'
task,seed,layer,i,theta,drift,phase,use,down,up
copy,1,0,0,1,0.2,1,0.5,0.1,0.3
copy,2,0,0,1,0.05,1,0.5,0.1,0.5
copy,1,0,1,1,-0.4,1,0.5,3,3
copy,2,0,1,1,0.3,1,0.5,3,3
text,1,0,0,1,0.3,1,0.5,,
END
expect pairs study pairs -v task=copy pairs.csv <<'END'
| layer | i | drift of ln θ [95 %] | up / down | chance | tolerance down | tolerance up | beyond its tolerance |
|---|---|---|---|---|---|---|---|
| 0 | 0 | +0.125 [-0.828, +1.078] | 2 / 0 | 0.500 | 0.1 | 0.4 | 1 of 2 |
| 0 | 1 | -0.050 [-4.497, +4.397] | 1 / 1 | 1.000 | 3 | 3 | 0 of 2 |
END
expect floor study floor pairs.csv <<'END'
| task | with a function | between | without | beyond its tolerance |
|---|---|---|---|---|
| copy | 0.146 (2) | – | 0.354 (2) | 1 of 4 |
END

cat >rates.csv <<'END'
run,variant,optimizer.lr,exit_code,eval_loss
1,rope,1e-3,0,1.9
2,rope,2e-3,0,1.8
3,rope,5e-4,5,
END
expect rates study rates rates.csv <<'END'
| model | 1e-3 | 2e-3 | 5e-4 |
|---|---|---|---|
| rope | 1.900 | **1.800** | – |
END

# 10 x 0.1 = 1 rad: found; 10 x 0.5 = 5 rad: at 3/2 of it, near the start, found.
cat >found.csv <<'END'
run,wanted,length,start,theta,accuracy
a,1.1,10,1,1.101,0.5
b,0.5,10,1,0.75,0.4
c,1.5,10,1,1.05,0.2
d,1.5,10,1,1.5,0.6
e,1.5,10,1,1.15,0.3
END
expect range study range found.csv <<'END'
| difference times T (rad) | runs | found to 1 % | a fraction of it | stayed | elsewhere |
|---|---|---|---|---|---|
| 0 to 2 | 1 | 1 (0.50) | 0 | 0 | 0 |
| 4 to 6 | 4 | 1 (0.60) | 1 (0.40) | 1 (0.20) | 1 (0.30) |
END

cat >curves.csv <<'END'
kind,seed,step,loss
rope,1,100,3
rope,2,100,5
rope,1,500,1
rope,2,500,1
END
expect curves study curves curves.csv <<'END'
| positions | 100 steps | 200 | 300 | 400 | 500 |
|---|---|---|---|---|---|
| rope | 4.000 ± 1.414 | – | – | – | 1.000 ± 0.000 |
END

# A parabola of curvature 4 around 1.001: the bottom is 0.001 from 1.
cat >known.csv <<'END'
run,wanted,length,start,theta,accuracy
spin_learn=no_seed=1,1,24,1,1,0.25
spin_learn=yes_seed=1,1,24,1,1.002,0.5
END
cat >curvature.csv <<'END'
task,seed,theta,step,loss,labels
spin,1,1,-0.005,1.000072,100
spin,1,1,0,1.000002,100
spin,1,1,0.005,1.000032,100
END
expect known study known known.csv curvature.csv <<'END'
| task | wanted | learned | largest error | below / above | standard error | bottom of the loss, from there [95 %] | accuracy, learned | fixed at 1 |
|---|---|---|---|---|---|---|---|---|
| spin | 1.0000 | 1.0020 | 0.20 % | 0 / 1 | 0.0012 | +0.0010 | 0.500 | 0.250 |
END

# From 1 at T = 24: found, at the mirror image of 1.06 in 2 pi / 6, and half way to nothing.
cat >grid.csv <<'END'
run,wanted,length,start,theta,accuracy
a,1.06,24,1,1.061,0.5
b,1.06,24,1,1.035,0.4
c,1.12,24,1,1.05,0.2
END
expect known-grid study known-grid grid.csv <<'END'
| T | difference times T (rad) | runs | found to 1 % | to 0.25 rad over the sequence | mirror image in 2π/6 or 2π/7 | elsewhere |
|---|---|---|---|---|---|---|
| 24 | 0.00 to 0.79 | 0 | 0 | 0 | 0 | 0 |
| 24 | 0.79 to 1.57 | 2 | 1 | 1 | 1 | 0 |
| 24 | 1.57 to 2.36 | 0 | 0 | 0 | 0 | 0 |
| 24 | 2.36 to 3.14 | 1 | 0 | 0 | 0 | 1 |

Elsewhere, T = 24: 1.1200 → 1.0500.
END

# Around 1.001 and 1.003; and around 1.0501 and, 0.01 higher, 1.0446, on either side of 2 pi / 6.
{
    echo length,wanted,model,seed,theta,loss
    for theta in 0.98 0.99 1 1.01 1.02; do
        for seed in 1 2; do
            awk -v t=$theta -v s=$seed 'BEGIN {
                printf "24,1,trained,%d,%s,%.9g\n", s, t, 1 + (t - 0.999 - s * 0.002) ^ 2 }'
        done
    done
    for theta in 1.043 1.044 1.045 1.046 1.047 1.048 1.049 1.05 1.051 1.052; do
        awk -v t=$theta 'BEGIN {
            printf "48,1.05,retrained,1,%s,%.9g\n", t, \
                t < 1.0472 ? 1.01 + (t - 1.0446) ^ 2 : 1 + (t - 1.0501) ^ 2 }'
    done
} >landscape.csv
expect landscape study landscape landscape.csv <<'END'
| T | optimum | models | bottom less the optimum [95 %] | detectable | bottom on the other side of 2π/6 less the mirror image | its loss less the other's |
|---|---|---|---|---|---|---|
| 24 | 1 | trained | +0.0020 [-0.0107, +0.0147] | 0.0210 | – | – |
| 48 | 1.05 | retrained | +0.0001 | – | +0.0002 | +0.0100 |
END

cat >mirror.csv <<'END'
run,wanted,length,start,theta,accuracy
mirror-1.06_seed=1,1.06,24,1.034395,1.0351,0.4
mirror-1.06_seed=2,1.06,24,1.034395,1.0601,0.4
other-1.06_seed=1,1.06,24,1.085605,1.061,0.4
END
cat >mirror-slow.csv <<'END'
run,wanted,length,start,theta,accuracy
other-1.06_seed=1,1.06,24,1.085605,1.062,0.4
END
expect mirror study mirror mirror.csv slow=1 mirror-slow.csv <<'END'
| optimum | mirror image | ends, from the mirror image | ends, from as far on the other side | ends, from the other side with a tenth of the rate |
|---|---|---|---|---|
| 1.0600 | 1.0344 | 1.0351, 1.0601 | 1.0610 | 1.0620 |
END

# Two distances, 1 and 2: sin 1.2 + 2 sin 2.4 is above 0 with any weights; sin 2 + 2 sin 4 is below,
# but above with weights of 9 and 1. Both pairs go up.
cat >distances.csv <<'END'
task,layer,distance,attention
length=3,0,0,0.5
length=3,0,1,0.45
length=3,0,2,0.05
END
cat >law.csv <<'END'
task,seed,layer,i,theta,drift
length=3,1,0,0,2.44280552,0.2
length=3,1,0,1,1.2121,0.01003
length=4,1,0,1,1.2121,0.01003
END
expect attention study attention distances.csv name=text law.csv <<'END'
| drift of | runs | up | all the same | r | attention | attention foretells down | moved cells: up | all the same | r | attention | misses of r that attention closes, opens |
|---|---|---|---|---|---|---|---|---|---|---|---|
| text | length=3 | 2 of 2 | 1 of 2 | 1 of 2 | 2 of 2 | 0 | 1 of 1 | 0 of 1 | 0 of 1 | 1 of 1 | 1, 0 |
| text | all lengths and bases | 2 of 2 | 1 of 2 | 1 of 2 | 2 of 2 | 0 | 1 of 1 | 0 of 1 | 0 of 1 | 1 of 1 | 1, 0 |
END

# Seed by seed: +0.1 and +0.3; a run that failed is in neither column.
cat >pairs-runs.csv <<'END'
length,variant,run.seed,eval_accuracy
128,rope,1,0.6
128,rope,2,0.5
128,rope,3,
512,rope,1,0.7
512,rope,2,0.8
512,rope,3,0.9
END
expect beside study beside -v row=variant -v column=length -v heading=positions pairs-runs.csv <<'END'
| positions | 128 | 512 | 512 less 128 [95 %] | detectable | higher / lower |
|---|---|---|---|---|---|
| rope | 0.550 ± 0.071 | 0.800 ± 0.100 | +0.200 [-1.071, +1.471] | 2.096 | 2 / 0 |
END

expect 'beside of another table' study beside -v row=variant -v column=none pairs-runs.csv <<'END'
exit code 1
END

cat >classes.csv <<'END'
run,label,precision,recall,f1,count
rope_seed=1,bold,0.5,0.25,0.25,8
rope_seed=2,bold,0.75,0.25,0.5,8
none_seed=1,bold,0,0,0,8
END
expect classes study classes -v of=rope_ classes.csv <<'END'
| label | in the evaluation | precision | recall | F1 |
|---|---|---|---|---|
| bold | 8 | 0.625 ± 0.177 | 0.250 ± 0.000 | 0.375 ± 0.177 |
END

# What is put in the place of a learned theta: ln 2 above base in one pair, ln 2 below in the other.
cat >final.csv <<'END'
layer,head,i,theta,theta_initial,geometric
0,all,0,2,1,1
0,all,1,0.05,0.1,0.1
END
other() { # other KIND
    awk -v kind="$1" -v seed=1 -f "$common/statistics.awk" -f "$experiments/theta/other-theta.awk" \
        final.csv
}
expect 'other theta, flipped' other flipped <<'END'
layer,head,i,theta
0,all,0,0.5
0,all,1,0.2
END
expect 'other theta, half' other half <<'END'
layer,head,i,theta
0,all,0,1.41421356
0,all,1,0.0707106781
END
expect 'other theta, base' other base <<'END'
layer,head,i,theta
0,all,0,1
0,all,1,0.1
END

# Bucket 26 holds the farthest distance of 64 tokens, 27 is never seen.
cat >t5-bias.csv <<'END'
seed,bucket,head,bias
1,0,0,-1
1,3,0,2
1,4,0,3
1,15,0,5
1,16,0,-1
1,26,0,-2
1,27,0,0.25
1,31,0,0.25
END
expect t5-bias study t5-bias t5-bias.csv <<'END'
| distance | added to the score |
|---|---|
| 0 | -1.00 |
| 1 to 3 | +2.00 |
| 4 to 15 | +4.00 ± 1.41 |
| 16 to 63 | -1.50 ± 0.71 |
| 64 and more, never seen | +0.25 ± 0.00 |
END

# Learned less fixed: +2, +4 and +6, of which t with two degrees of freedom is 4.303; the fourth seed
# has no partner.
cat >gains-runs.csv <<'END'
variant,theta.learn,run.seed,eval_loss
lm,no,1,1
lm,no,2,1
lm,no,3,1
lm,yes,1,3
lm,yes,2,5
lm,yes,3,7
lm,yes,4,9
END
expect gains study gains model=text theta=layer of=lm-yes than=lm-no gains-runs.csv <<'END'
| models | one θ for each | pairs | loss, learned less fixed [95 %] | detectable | lower / higher |
|---|---|---|---|---|---|
| text | layer | 3 | +4.0000 [-0.9683, +8.9683] | 7.8469 | 0 / 3 |
END

# Verdicts with a known answer: -1 and ± 0.1, that against the claim, 0 and ± 1, 0.002 where 0.01 counts as
# the same, 0 and ± 0.01 where a tenth of compute is worth 0.28, and a comparison that does not decide. Twice
# the steps lower the loss by 2, so 1 is worth the square root of 2. Seven comparisons and the slope of width
# are one family: t with two degrees of freedom, 4.303, is 12.590 at 0.05 / 8. `lost` presupposes what is not so.
cat >comparisons.csv <<'END'
claim,sweep,variant,against,result,side,decides
up,small,new,old,eval_loss,lower,yes
down,small,old,new,eval_loss,lower,yes
open,small,mixed,old,eval_loss,lower,yes
same,small,mixed,old,eval_loss_at_256,same,yes
less,small,near,old,eval_loss,lower,yes
beside,small,new,old,eval_loss,lower,no
lost,small,old,new,eval_loss,same,premise
lost,small,new,old,eval_loss,lower,yes
bare,small,new,old,eval_loss,lower,unmet
END
cat >small.csv <<'END'
variant,run.seed,exit_code,eval_loss,eval_loss_at_256
old,1,0,2,1
old,2,0,2,1
old,3,0,2,1
new,1,0,1,1
new,2,0,0.9,1
new,3,0,1.1,1
new,4,5,0,0
mixed,1,0,1,1.001
mixed,2,0,2,1.002
mixed,3,0,3,1.003
near,1,0,1.99,
near,2,0,2,
near,3,0,2.01,
END
cat >compute.csv <<'END'
run.seed,train.steps,eval_loss
1,1000,3
1,2000,1
2,1000,3
2,2000,1
END
claims() {
    for claim in up down open same less beside lost bare none; do
        study claim -v claim=$claim -v margin=0.01 -v share=0.1 comparisons.csv small.csv compute.csv |
            tail -n +3 | grep .
    done
    study claim -v summary=1 comparisons.csv small.csv compute.csv
}
expect claim claims <<'END'
| small | new | old | trained | -1.0000 [-1.2484, -0.7516] | 0.3923 | [-1.7269, -0.2731] | 3 | 0.003 | 0.027 | +41.4 % | reproduced |
verdict: up: reproduced
| small | old | new | trained | +1.0000 [+0.7516, +1.2484] | 0.3923 | [+0.2731, +1.7269] | 3 | 0.003 | 0.027 | -29.3 % | contradicted in this regime |
verdict: down: contradicted in this regime
| small | mixed | old | trained | +0.0000 [-2.4841, +2.4841] | 3.9234 | [-7.2687, +7.2687] | 3 | 1.000 | 1.000 | +0.0 % | inconclusive |
verdict: open: inconclusive
| small | mixed | old | 256 | +0.0020 [-0.0005, +0.0045] | 0.0039 | [-0.0053, +0.0093] | 3 | 0.074 | 0.593 | – | reproduced |
verdict: same: reproduced
| small | near | old | trained | -0.0000 [-0.0248, +0.0248] | 0.0392 | [-0.0727, +0.0727] | 3 | 1.000 | 1.000 | +0.0 % | smaller than 0.0727 nats |
verdict: less: smaller than 0.0727 nats
| small | new | old | trained | -1.0000 [-1.2484, -0.7516] | 0.3923 | – | 3 | 0.003 | – | +41.4 % | no |
verdict: beside: not run
| small | old | new | trained | +1.0000 [+0.7516, +1.2484] | 0.3923 | – | 3 | 0.003 | – | -29.3 % | premise |
| small | new | old | trained | -1.0000 [-1.2484, -0.7516] | 0.3923 | [-1.7269, -0.2731] | 3 | 0.003 | 0.027 | +41.4 % | premise not met |
verdict: lost: premise not met
| small | new | old | trained | -1.0000 [-1.2484, -0.7516] | 0.3923 | [-1.7269, -0.2731] | 3 | 0.003 | 0.027 | +41.4 % | premise not met |
verdict: bare: premise not met
verdict: none: not run
2 of 5; 2 of 8 in the family
END

# Of five differences in a family of two: t with four degrees of freedom is 3.495 at 0.05 / 2. Fieller: by
# errors of 0.1 and 0.2 and t = 2, 1 / 4 has the roots of (16 - 0.16) r^2 - 8 r + (1 - 0.04).
intervals() {
    awk -f "$common/statistics.awk" -f /dev/stdin <<'END'
BEGIN {
    n = split("1 2 3 4 5", x, " ")
    print interval(x, n, "%.3f")
    print simultaneous(x, n, "%.3f", 2)
    p = t_test(x, n)
    printf "%.4f %.4f %.1f\n", p, in_family(p, 2), in_family(0.9, 2)
    print fieller(1, 0.1, 4, 0.2, 2), sprintf("%.5f %.5f", ratio_low, ratio_high)
    print fieller(1, 0.1, 0.3, 0.2, 2)
    print verdict_on(2, 3, "%.1f", "", ""), verdict_on(2, 3, "%.1f", 1, 1), verdict_on(-1, 1, "%.1f", 2, 3)
    print verdict_on(-1, 1, "%.1f", "", ""), verdict_on(-2, -1, "%.1f", 1, 1)
}
END
}
expect intervals intervals <<'END'
3.000 [1.037, 4.963]
[0.528, 5.472]
0.0132 0.0265 1.0
1 0.19629 0.30877
0
reproduced reproduced in direction smaller than 1.0
inconclusive contradicted in this regime
END
printf 'verdict: lerope: inconclusive\nverdict: rate: not run\nverdict: prope: smaller than 0.1 nats\n' >verdicts
expect verdicts study verdicts verdicts <<'END'
| name | claim | verdict here |
|---|---|---|
| `lerope` | one learned scalar for each frequency lowers the loss (LeRoPE) | inconclusive |
| `rate` | a learned θ with a learning rate of its own lowers it | not run |
| `prope` | rotating the fastest three quarters lowers the loss (p-RoPE) | smaller than 0.1 nats |

reproduced: 0; smaller than X: 1 (`prope`); inconclusive: 1 (`lerope`); contradicted in this regime: 0; premise not met: 0; not run: 1 (`rate`).
END

# -1, -2 and -3 of one file and -6 of another: mean -3 and deviation √(14/3), and without the other -2 and 1.
cat >one.csv <<'END'
variant,run.seed,eval_loss
fixed,1,5
fixed,2,5
fixed,3,5
fixed,4,5
model,1,4
model,2,3
model,3,2
END
cat >two.csv <<'END'
variant,run.seed,eval_loss
fixed,1,7
model,1,1
END
expect pooled study pooled of=model than=fixed set=first one.csv set=both one.csv two.csv <<'END'
| pairs of | pairs | loss, learned less fixed [95 %] | p | lower / higher | chance |
|---|---|---|---|---|---|
| first | 3 | -2.0000 [-4.4841, +0.4841] | 0.074 | 3 / 0 | 0.250 |
| both | 4 | -3.0000 [-6.4374, +0.4374] | 0.069 | 4 / 0 | 0.125 |
END

# Two seeds of a pair that turns 20.2 times, up by ln 2 and down by ln 4, and another training's pair of 0.2 turns.
cat >registered-pairs.csv <<'END'
row,unit,arm,layer,head,i,theta,use
small,small-1,learned,0,0,0,2,0.1
small,small-2,learned,0,0,0,0.25,0.1
small,small-2,learned,1,0,0,0.25,0.1
small,small-1,fixed,0,0,0,9,0.1
END
cat >drift.csv <<'END'
source,parameters,T,pair,pairs,initial,learned,turns,drift,second_hand
other,153e6,1024,0,48,0.00121153,0.00242306,0.2,0.6931,yes
END
cat >length-pairs.csv <<'END'
row,unit,arm,step,layer,head,i,theta,use
length,5001,fixed,16000,0,0,8,0.01,0.1
length,5001,learned,1000,0,0,8,0.005,0.1
length,5001,learned,16000,0,0,8,0.02,0.1
length,5001,learned,16000,1,0,8,0.02,0.1
END
expect published study published registered-pairs.csv length-pairs.csv drift.csv <<'END'
| | parameters | T | below 0.1 turns | 0.1 to 0.35 | 0.35 to 0.8 | 0.8 to 4 | 4 and more | second hand |
|---|---|---|---|---|---|---|---|---|
| registered, 2 × 64 | 0.16 M | 128 | – | – | – | – | 0 of 1 up, -0.35 | no |
| 2 × 64, 16000 steps | 0.16 M | 128 | – | 1 of 1 up, +0.69 | – | – | – | no |
| other | 153 M | 1024 | – | 1 of 1 up, +0.69 | – | – | – | yes |
END
expect points study published "points=registered, 2 × 64" registered-pairs.csv length-pairs.csv drift.csv <<'END'
20.2127 -0.34657 -13.55748 12.86433
END
expect points-after study published "points=2 × 64, 1000 steps" registered-pairs.csv length-pairs.csv drift.csv <<'END'
0.202127 -0.69315 -0.69315 -0.69315
END
cat >registered-runs.csv <<'END'
row,unit,arm,size,lr,exit_code,eval_loss
small,small-1,fixed,small,1e-3,0,2
small,small-1,learned,small,1e-3,0,1.5
middle,middle-1,fixed,middle,1e-3,0,2
middle,middle-1,learned,middle,1e-3,0,2.25
middle,middle-2,learned,middle,1e-3,0,3
middle,middle-2,fixed,middle,1e-3,0,2.75
END
cat >gains.csv <<'END'
source,parameters,T,steps,seeds,gain,low,high,frozen_share,second_hand
one,153e6,1024,5000,3,0.5,0.25,0.75,,no
other,217e6,not known,not known,not known,0.25,,,0.64,yes
END
expect sizes study sizes registered-runs.csv gains.csv <<'END'
| training | parameters | T | length of training | pairs of runs | learned less fixed, nats [95 %] | second hand |
|---|---|---|---|---|---|---|
| registered, 2 × 64 | 0.16 M | 128 | 1.0 million tokens | 1 | -0.5000 | no |
| registered, 4 × 128 | 1.1 M | 128 | 1.0 million tokens | 2 | +0.2500 [+0.2500, +0.2500] | no |
| one | 153 M | 1024 | 5,000 steps | 3 | -0.5000 [-0.7500, -0.2500] | no |
| other | 217 M | not known | not known | not known | -0.2500 | yes |
END

# Pairs 2^-i that go up from a place on, which is one farther at twice the width, and at last two.
awk 'BEGIN {
    print "task,seed,layer,i,theta,drift"
    split("1 2 3 5", at, " ")
    for (w = 1; w <= 4; w++)
        for (i = 0; i < 6; i++) {
            d = i >= at[w] ? 0.1 : -0.1
            printf "distance=%d,1,0,%d,%.9g,%s\n", 2 ^ (w + 1), i, exp(d) / 2 ^ i, d
        }
}' >profile.csv
expect width-profile study width-profile profile.csv <<'END'
| W | runs | θ where the drift changes its sign | W θ / 2π |
|---|---|---|---|
| 4 | 1 | 0.707 | 0.45 |
| 8 | 1 | 0.354 | 0.45 |
| 16 | 1 | 0.177 | 0.45 |
| 32 | 1 | 0.044 | 0.23 |

slope of ln θ on ln W: -1.30 [-2.05, -0.55] (95 %, 4 widths)

verdict: width: reproduced
END

# Pairs of 0.9, 0.3 and 0.2 turns: the law says down, up, up. Between 0.3 (+0.2) and 0.9 (-0.1) the
# line in ln turns meets 0 at 0.62. A pair that went through 0 is in no cell. Over three windows the
# signs change at θ = √8 / 16, √8 / 32 and √8 / 48, which is not a line: 1.5 of 2 steps of ln 2.
cat >cells.csv <<'END'
task,seed,layer,i,theta,drift
length=64_base=100,1,0,0,0.0812180167,-0.1
length=64_base=100,2,0,0,0.0812180167,-0.1
length=64_base=100,1,0,1,0.0330666365,0.1
length=64_base=100,2,0,1,0.0403876811,0.3
length=64_base=100,1,0,2,0.0195516505,-0.02
length=64_base=100,2,0,2,0.01994662,0.0
raw,1,0,0,0.049209404,0.1
raw,1,0,1,-0.01484217,-nan
raw,1,0,2,0.0120855116,0.2
window=16,1,0,0,0.226209355,-0.1
window=16,1,0,1,0.13814636475,0.1
window=32,1,0,0,0.1131046775,-0.1
window=32,1,0,1,0.06907318238,0.1
window=64,1,0,0,0.0754031183,-0.1
window=64,1,0,1,0.04604878825,0.1
END
expect contrast study contrast cells.csv <<'END'
| runs | signs predicted [95 %] | of cells that moved by more than 0.05 | up, of these | first change of sign, turns, by layer |
|---|---|---|---|---|
| T = 64, base 100 | 2 of 3 [0.21, 0.94] | 2 of 2 [0.34, 1.00] | 1 | 0.62 |
| window 16 | 1 of 2 [0.09, 0.91] | 1 of 2 [0.09, 0.91] | 1 | 0.42 |
| window 32 | 1 of 2 [0.09, 0.91] | 1 of 2 [0.09, 0.91] | 1 | 0.44 |
| window 64 | 2 of 2 [0.34, 1.00] | 2 of 2 [0.34, 1.00] | 1 | 0.59 |
| all of these | 4 of 6 [0.30, 0.90] | 4 of 6 [0.30, 0.90] | 3 |  |
| raw | 1 of 2 [0.09, 0.91] | 1 of 2 [0.09, 0.91] | 2 | – |

slope of ln θ at the first change of sign on ln window, layer 0: -0.79 [-2.31, +0.73] (95 %, 3 rows)
END

cat >bands.csv <<'END'
model,base,length,layer,turns,use,needed
causal,128,64,0,0.48,1.3,0.25
causal,128,64,1,0.5,1.34,0.25
masked,128,64,0,0.9,1.1,
END
expect bands study bands bands.csv <<'END'
| model | base | length | turns of the pair used most below 4 turns, by layer | its use, times the mean | fewest turns that are needed |
|---|---|---|---|---|---|
| causal | 128 | 64 | 0.48, 0.50 | 1.3, 1.3 | 0.25 |
| masked | 128 | 64 | 0.90 | 1.1 | – |
END

# The pages are what their tables come to: emptied and made again, they are as they were.
mkdir sources
cp -r "$experiments" sources/
for study in theta text; do
    for page in "$experiments/$study"/*.md; do
        awk '/^<!-- end / { print "No table is made for this place."; skip = 0 }
            !skip { print }
            /^<!-- begin / { skip = 1 }' "$page" >"sources/experiments/$study/${page##*/}"
    done
    sources/experiments/$study/study tables >told 2>error || { cat error >&2; failed=1; }
    for page in "$experiments/$study"/*.md; do
        name=experiments/$study/${page##*/}
        diff "$page" "sources/$name" >difference && continue
        echo "$name (<) is not what experiments/$study/study makes of its CSV files (>):" >&2
        cat difference >&2
        failed=1
    done
done

# A row of the second registered experiment that lacks one unit shows no difference and has no verdict.
mkdir unfinished
cp "$experiments"/theta/causes/results/*.csv unfinished
grep -v '^dose,2040,' "$experiments/theta/causes/results/runs.csv" >unfinished/runs.csv
"$experiments/theta/causes/analyse" unfinished >told
if grep -q '[|] dose [123 ]*less\|over the dose' told || ! grep -qxF '| dose | not run |' told ||
    ! grep -qxF '| table or learning | not run |' told; then
    echo "experiments/theta/causes/analyse shows a row that has not ended" >&2
    failed=1
fi

# What a study sweeps is a file, named by its script or by the comparisons of its claims; each of the
# files is swept.
for study in theta text; do
    here=experiments/$study
    script=$experiments/$study/study
    claims=$experiments/$study/claims/comparisons.csv
    {
        sed -n 's/^ *sweep "*\([^ "]*\).*/\1/p' "$script" | grep -v '\$name' |
            sed "s,^\$here,$here,"
        [ ! -f "$claims" ] || awk -F, -v here="$here" 'NR > 1 { print here "/claims/" $2 ".ini" }' \
            "$claims" | sort -u
    } >swept
    while read -r file; do
        [ -f "$experiments/../$file" ] || { echo "$script: there is no $file" >&2; failed=1; }
    done <swept
    for file in "$experiments/$study"/*.ini "$experiments/$study"/claims/*.ini; do
        [ -f "$file" ] || continue
        name=${file#"$experiments"/}
        grep -q "/$name$" swept || grep -q "/${file##*/}" "$script" ||
            { echo "$script does not use $name" >&2; failed=1; }
    done
done

# A study, of whose parts one is made, with a program that trains nothing, in sources whose revision
# is abc1234 and which are unchanged while there is no file `changed`.
cd sources
mkdir -p experiments/toy/results scripts build bin
cat >experiments/toy/study <<'END'
#!/bin/sh
set -eu
self=$(realpath "$0")
cd "$(dirname "$self")/../.."
here=experiments/toy
runs=runs/toy
all="one
other"
. experiments/common/parts.sh
part_one() { sweep $here/one.ini; keep_runs one; }
page_one() { runs_table one 'run=run;loss:%.1f=loss' | fill one; }
page_end() { :; }
study "$@"
END
cat >build/train <<'END'
#!/bin/sh
[ "$1 $2" = "experiments/toy/one.ini run.dir=runs/toy" ] || exit 2
mkdir -p runs/toy/one/a
echo >runs/toy/one/a/result.csv
printf 'run,exit_code,loss\na,0,0.5\n' >runs/toy/one/runs.csv
END
cat >bin/git <<'END'
#!/bin/sh
case $1 in
rev-parse) echo abc1234 ;;
diff) [ ! -f changed ] ;;
esac
END
echo '#!/bin/sh' >scripts/build
chmod +x experiments/toy/study build/train bin/git scripts/build
for name in one times revisions; do
    printf '<!-- begin %s -->\n<!-- end %s -->\n' $name $name
done >experiments/toy/README.md
printf 'file,revision\nother.csv,fedcba9\n' >experiments/toy/results/revisions.csv
toy() { # toy FILE: what is in the file after the part
    PATH=$PWD/bin:$PATH experiments/toy/study one 2>error || cat error
    sed 's/| [0-9]* |$/| minutes |/' "experiments/toy/$1"
}
expect 'toy study' toy README.md <<'END'
<!-- begin one -->

| run | loss |
|---|---|
| a | 0.5 |

<!-- end one -->
<!-- begin times -->

| part | minutes |
|---|---|
| `experiments/toy/study one` | minutes |

<!-- end times -->
<!-- begin revisions -->

| revision | files |
|---|---|
| abc1234 | one.csv |
| fedcba9 | other.csv |

<!-- end revisions -->
END

sed -i 's/abc1234/0000000/' experiments/toy/results/revisions.csv
expect 'runs that have ended keep their revision' toy results/revisions.csv <<'END'
file,revision
one.csv,0000000
other.csv,fedcba9
END
touch changed
rm -r runs
expect 'changed sources have a plus' toy results/revisions.csv <<'END'
file,revision
one.csv,abc1234+
other.csv,fedcba9
END

exit $failed
