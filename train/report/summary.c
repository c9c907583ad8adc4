#include "train/report/summary.h"

#include "text/number.h"

#include <math.h>
#include <stdio.h>

rt_summary rt_summarise(const double *values, int count)
{
    rt_summary s = {0, (double)NAN, (double)NAN};
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i])) {
            sum += values[i];
            s.count++;
        }
    if (!s.count)
        return s;
    s.mean = sum / s.count;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i]))
            squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (s.count > 1)
        s.deviation = sqrt(squares / (s.count - 1));
    return s;
}

const char *rt_summary_text(char text[RT_SUMMARY_SIZE], const rt_summary *s, int decimals, int runs)
{
    char mean[RT_NUMBER_SIZE], deviation[RT_NUMBER_SIZE], missing[40] = "";
    rt_number_show(mean, decimals, s->mean);
    rt_number_show(deviation, decimals, s->deviation);
    if (s->count < runs)
        snprintf(missing, sizeof missing, " (%d of %d)", s->count, runs);
    if (!s->count)
        snprintf(text, RT_SUMMARY_SIZE, "-");
    else if (s->count == 1)
        snprintf(text, RT_SUMMARY_SIZE, "%s%s", mean, missing);
    else
        snprintf(text, RT_SUMMARY_SIZE, "%s ± %s%s", mean, deviation, missing);
    return text;
}
