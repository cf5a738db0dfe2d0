"""The router: page configuration and navigation, nothing else. ``streamlit run app.py``"""

import streamlit as st

st.set_page_config(page_title="LAYA", page_icon=":material/layers:", layout="wide")
st.navigation(
    [st.Page("pages/inspect.py", title="Inspect", icon=":material/layers:", default=True)], position="top"
).run()
