//! What is damaged, missing, full or in the way: said in one sentence, and nothing is lost by it.

mod damage;
mod surroundings;
