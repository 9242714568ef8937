//! Tests of the simulator as one program.

mod seeds;
