import streamlit as st

st.write("budget")
