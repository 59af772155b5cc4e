import streamlit as st

st.write("refusals")
