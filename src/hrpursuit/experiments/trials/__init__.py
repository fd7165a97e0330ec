"""Single trials of the long experiments, apart from their figures and sentences: what is kept of a trial depends on
these modules and on those that they import.
"""
