"""The router: page configuration and navigation, nothing else. ``streamlit run app.py``"""

from pathlib import Path

import streamlit as st

# A picture of ours as icon: for a symbol by name the browser would ask a font service.
st.set_page_config(page_title="LAYA", page_icon=str(Path(__file__).parent / "laya/ui/favicon.svg"), layout="wide")
st.navigation(
    [
        st.Page("pages/inspect.py", title="Inspect", default=True),
        st.Page("pages/compare.py", title="Compare", url_path="compare"),
        st.Page("pages/evidence.py", title="Evidence", url_path="evidence"),
    ],
    position="top",
).run()
