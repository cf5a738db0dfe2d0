"""Over a whole data set: evaluation, depth profiles, evidence."""
