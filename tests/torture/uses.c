/* Uses of the run in "straight": with other keys, and exported. */

#include "torture/torture.h"

#include "train/config/keys.h"

static void add_override(trial *t, command *c)
{
    char value[RT_FILE_LIST_SIZE], name[RT_KEY_NAME_SIZE];
    const int key = draw_key(t);
    if (draw_value(t, key, true, value))
        add_word(c, text_of("%s=%.200s", rt_key_full_name(rt_key_at(key), name), value));
}

void use_otherwise(trial *t, const drawn_config *d)
{
    static const char *const uses[] = {"--eval", "--eval", "--decay", "--print-config"};
    for (int i = 0; i < 2; i++) {
        command c = {.folder = "straight", .words = {draw_of(t, uses)}};
        if (chance(t, 50)) {
            add_word(&c, "--checkpoint");
            add_word(&c, text_of("runs/%s", d->config.run.name));
        } else {
            add_word(&c, "../config.ini");
        }
        for (int n = 1 + draw(t, 3); n > 0; n--)
            add_override(t, &c);
        run_command(t, &c, "0 2 3 4 5 7");
    }
}

/* Exports the newest checkpoint, and what was written over itself. Kills of exports are in
 * tests/faults/test_output_faults.c. */
void export_run(trial *t, const drawn_config *d)
{
    const char *run = d->config.run.name;
    const long newest = newest_checkpoint(t, "straight", run);
    if (newest >= 0 &&
        TRAIN(t, "0 2 5", "straight", "--checkpoint",
              text_of("runs/%s/checkpoints/step-%08ld.h5", run, newest), "--export", "newer") == 0)
        TRAIN(t, "0", "straight", "--checkpoint", "newer", "--export", "newer", "--overwrite");
}
