#ifndef ROTOR_TRAIN_REPORT_STUDENT_H
#define ROTOR_TRAIN_REPORT_STUDENT_H

/* Student's t for the mean of `count` differences: its interval, and what it could have seen. */

/* For normal numbers, in standard deviations of a sample of them; NaN below two numbers. */
typedef struct rt_student {
    int count;
    double interval; /* half of that of 95 % around their mean: t(0.975, count - 1) / sqrt(count) */
    double detectable; /* the smallest true mean that a two-sided test at 5 % finds with a
                          probability of 90 %, by the noncentral t distribution */
} rt_student;

rt_student rt_student_of(int count);

#endif
