#ifndef ROTOR_OPS_PRODUCTS_H
#define ROTOR_OPS_PRODUCTS_H

/* Products of each engine, behind ops/gemm.h. Each engine is a file. */

#include "core/status.h"
#include "ops/engine.h"
#include "ops/gemm.h"

/* Product (i, j) of a batch, alone. */
rt_product rt_product_of(const rt_product *batch, int i, int j);

/* One product, not a batch; sizes may be 0. */
void rt_openblas_multiply(const rt_product *p);
/* Name, version and kernels: "OpenBLAS 0.3.21 Haswell". */
void rt_openblas_describe(char *text, size_t size);
size_t rt_openblas_library(int m, int n, int k); /* as rt_gemm_library */

/* Starts oneDNN for that math. RT_CONFIG with the reason if it is not available. */
rt_status rt_onednn_begin(rt_math math) RT_MUST_CHECK;

/* False if memory is short. */
bool rt_onednn_multiply(const rt_product *p, rt_math math);
int rt_onednn_batch_room(rt_math math);
size_t rt_onednn_library(int m, int n, int k, rt_math math);
const char *rt_onednn_kernels(void);

#endif
