#ifndef ROTOR_TEXT_QUOTE_H
#define ROTOR_TEXT_QUOTE_H

enum { RT_QUOTE_SIZE = 56 };

/* 'what somebody wrote', for a message: cut if it is long, and with a question mark for
 * every control character, so that a file cannot speak to the terminal. Returns `quoted`. */
const char *rt_quote(char quoted[RT_QUOTE_SIZE], const char *text);

#endif
