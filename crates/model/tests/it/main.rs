//! The model from outside: rules that are long to prove.

mod fairness;
mod invariants;
