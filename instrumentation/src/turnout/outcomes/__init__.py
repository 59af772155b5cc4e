"""Facts in, verdict out: the one place that decides how a turn ended.

Pure and of the standard library alone: no clock, no environment, no logger, no file but the three tables beside the code. A
changed rule is a changed verdict, so `classify.CLASSIFIER_VERSION` moves with it.
"""
