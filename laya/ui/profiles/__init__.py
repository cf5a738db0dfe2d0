"""The parts of the page Depth profiles, each from a report as :func:`laya.studies.profiles.build` makes it."""
