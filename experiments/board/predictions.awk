# The predictions that were registered with the board, as rules over its cells. Each need() is a condition;
# a prediction holds if all of them do, and was not run if one of its cells has not all five seeds.
#
#     told(ENCODING, QUESTION)         "better" or "worse" than rope, or "open"
#     mean_of(ENCODING, QUESTION)      the mean of the five seeds
#     difference(ENCODING, QUESTION)   its mean difference from rope
#     seen(ENCODING, QUESTION)         the smallest difference that five pairs would have seen

function predictions(    q, i) {
    predict("key shift learns induction in one layer")
    need(told("key-shift", "induction-1") == "better")
    need(mean_of("key-shift", "induction-1") < 0.5)
    close_prediction()

    predict("ALiBi keeps the loss of longer texts")
    need(told("alibi", "text-longer") == "better")
    need(mean_of("alibi", "text-longer") < 0.05)
    close_prediction()

    predict("FoX keeps the loss of longer texts")
    need(told("fox", "text-longer") == "better")
    need(mean_of("fox", "text-longer") < 0.05)
    close_prediction()

    predict("rope does not keep the loss of longer texts")
    need(mean_of("rope", "text-longer") > 0.05)
    close_prediction()

    predict("Selective RoPE learns parity beyond its length")
    need(told("selective", "parity") == "better")
    need(mean_of("selective", "parity") > 0.9)
    close_prediction()

    predict("rope does not learn parity beyond its length")
    need(mean_of("rope", "parity") < 0.9)
    close_prediction()

    predict("none and randomized positions lead in copying beyond")
    need(told("none", "copy") == "better")
    need(told("rope-randomized", "copy") == "better")
    for (i = 1; i <= registered; i++)
        if (encodings[i] != "none" && encodings[i] != "rope-randomized") {
            need(mean_of(encodings[i], "copy") <= mean_of("none", "copy"))
            need(mean_of(encodings[i], "copy") <= mean_of("rope-randomized", "copy"))
        }
    close_prediction()

    predict("θ learned differs from rope nowhere")
    for (q = 1; q <= questions; q++) {
        need(told("rope-learned", question[q]) == "open")
        need(seen("rope-learned", question[q]) > 0.02 || size_of("rope-learned", question[q]) < 0.02)
    }
    close_prediction()
}
