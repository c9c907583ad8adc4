#ifndef ROTOR_IO_IMPORT_H
#define ROTOR_IO_IMPORT_H

/* Models of other programs: folders of Hugging Face, and GGUF files. */

#include "io/huggingface/huggingface.h"

/* Returns whether a path is a model of another program. */
bool rt_is_import(const char *path);

/* Opens such a model as rt_huggingface_import and rt_gguf_import do. */
rt_status rt_import(rt_huggingface **there_new, const char *path) RT_MUST_CHECK;

/* Reads its chat template as JSON, which the caller frees; NULL if there is none. */
rt_status rt_import_chat_template(char **template_new, const char *path) RT_MUST_CHECK;

#endif
