//! Conformance suites: what a connector promises, as one call for each role.
