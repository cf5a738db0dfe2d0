"""Every term of the interface, defined once; the app shows the definition when the pointer rests on the term."""

TERMS: dict[str, str] = {
    "layer": "One stage of the network. The first sees the raw pixels, each later one only what the one before made of "
    "them: shallow layers hold edges and texture, deep ones whole things.",
    "target": "The class that is explained: at first the predicted one. Choose another to see what speaks for it.",
    "share": "Each method's scores divided by the sum of their magnitudes, so that all methods fit on one scale. The "
    "sign is kept: a bar below zero speaks against the class.",
    "intrinsic": "Read off the model's own forward pass: the model used these numbers to decide.",
    "post-hoc": "Worked out afterwards from gradients; the model never used these numbers itself.",
    "measured": "What really happens to the probability when the layer is taken away.",
    "direct effect": "A layer's influence through the output head alone. What it passes on to later layers is not "
    "counted; that would be the total effect.",
    "removal": "What 'taking a layer away' means. The verdict depends on it, so choose.",
    "zero-term": "The layer's term is dropped from the weighted sum; the other weights stay as they are.",
    "renormalise": "The layer is dropped and its weight is shared out among the others.",
    "zero-state": "The layer's hidden state is set to zero and the head decides again, with new attention.",
    "tau": "The temperature of the attention. Smaller is sharper: one layer takes all. Larger is flatter. The model "
    "learnt at its own value; another one changes the prediction, too.",
    "faithfulness": "Does the method rank the layers as their measured effects do? Spearman's rank correlation: 1 the "
    "same order, 0 unrelated, -1 reversed. Not defined where all scores or all effects are equal.",
    "trust": "Does the method rank the layers as their measured effects do, over many images? In brackets: the mean of "
    "Spearman's rank correlation, with zero-term and the model's own temperature. Faithful: its 95 % interval is at or "
    "above 0.5, where about two of three pairs of layers are in the right order. Not faithful: it is below 0.5. "
    "Unclear: it holds 0.5.",
    "deletion": "Deletion@1: how far the target's probability falls when the layer that the method ranks first is "
    "taken away. Higher means that the method found the layer that matters.",
    "profile distance": "How far an image's attention is from the mean of its class: the Jensen-Shannon distance, 0 "
    "the same, 1 no layer in common.",
    "AUROC": "The probability that a wrong prediction is ranked above a right one: 0.5 is guessing, 1 is perfect. In "
    "brackets its 95 % bootstrap interval.",
    "preparation": "The training pictures were cropped to the object, made grey, put on a black ground and scaled to "
    "28 x 28. A photograph goes through the same steps, or the model would see something it never learnt.",
    "steps": "Integrated Gradients adds up gradients along a path; more steps are more exact and slower.",
}
