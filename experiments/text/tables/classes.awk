# The scores of each class in the runs whose names begin with `of`: mean and deviation over the seeds,
# from RUN,LABEL,PRECISION,RECALL,F1,COUNT.

NR == 1 || index($1, of) != 1 { next }
{
    if (!n[$2]) { order[++labels] = $2; count[$2] = $6 }
    ++n[$2]; precision[$2, n[$2]] = $3; recall[$2, n[$2]] = $4; f1[$2, n[$2]] = $5
}

function cell(table, label,    i, x) {
    for (i = 1; i <= n[label]; i++) x[i] = table[label, i]
    return spread(x, n[label], "%.3f")
}

END {
    print "| label | in the evaluation | precision | recall | F1 |"; print "|---|---|---|---|---|"
    for (i = 1; i <= labels; i++) {
        l = order[i]
        print "| " l " | " count[l] " | " cell(precision, l) " | " cell(recall, l) " | " cell(f1, l) " |"
    }
}
