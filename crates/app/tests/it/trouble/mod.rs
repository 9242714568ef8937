//! What is damaged, missing, full or in the way, and what a mistake would cost: said in one sentence, and nothing is lost by it.

mod damage;
mod dry;
mod guard;
mod keep;
mod lookup;
mod odd;
mod people;
mod sources;
mod stores;
mod surroundings;
mod words;
