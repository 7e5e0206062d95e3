"""The parts of Kubernetes objects that a scheduler reads, as narrow structs.

What is left out is skipped while decoding, which is what makes lists of tens of thousands of
pods cheap. Absent fields have the API's defaults; unknown fields are no errors here, as other
versions of Kubernetes have others.
"""
