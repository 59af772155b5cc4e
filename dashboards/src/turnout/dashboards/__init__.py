"""The pages of a lake, for whoever is on call, decides budgets or reads reports. Thin: filters, loads, charts and words.

No figure is computed here and no outcome is decided here; `data` asks the lake, and every other module but the pages is pure.
``app.py`` is the script that Streamlit runs; it puts its own folder on the path, so no module here may be named as one of the
standard library is.
"""

from pathlib import Path


def app_file() -> Path:
    """The script that ``streamlit run`` takes."""
    return Path(__file__).with_name("app.py")
