"""Evidence: do the paper's claims hold here, on real data?"""

import streamlit as st

from laya.ui import evidence, theme

theme.frame()
st.markdown("## Does it hold?")
theme.note(
    "Every head was trained on the same task with the same recipe, several seeds each, and measured on test images "
    "that it never saw. What the paper claims stands beside what came out here."
)
table = evidence.choose_task()
if table is None:
    st.info("There is no evidence yet. Measure it with `python -m laya evidence NAME`.")
    st.stop()
evidence.verdicts(table)
left, right = st.columns([1, 1], gap="large")
with left:
    evidence.accuracies(table)
with right:
    evidence.agreement(table)
evidence.attention(table)
with st.expander("Numbers", icon=":material/table:"):
    evidence.numbers(table)
with st.expander("How this was made", icon=":material/science:"):
    evidence.origin(table)
