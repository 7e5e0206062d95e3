"""Groups that pods name themselves, in the words of several systems."""
