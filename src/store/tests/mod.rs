//! What the store promises: durable, fenced, intact, and refusing by name.

mod append;
mod evidence;
mod fixture;
mod refusals;

use fixture::{bytes_of, create, folder, held, open, write};
