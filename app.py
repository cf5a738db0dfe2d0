"""The router: page configuration and navigation, nothing else. ``streamlit run app.py``"""

from pathlib import Path

import streamlit as st

# A picture of ours as icon: for a symbol by name the browser would ask a font service.
st.set_page_config(page_title="LAYA", page_icon=str(Path(__file__).parent / "laya/ui/favicon.svg"), layout="wide")
with st.spinner("Starting: the libraries are loaded, once …"):  # shows where it takes half a second
    from laya.ui import logs, memory, queue, router

logs.set_up()
queue.limit_threads()
try:
    router.navigation().run()
finally:
    memory.collect_garbage()
