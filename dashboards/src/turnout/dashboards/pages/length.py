import streamlit as st

st.write("length")
