//! The promises of the store: durable, fenced, intact, and refusing by name.

mod append;
mod damage;
mod erase;
mod evidence;
mod fixture;
mod import;
mod import_notes;
mod lineage;
mod migrate;
#[cfg(unix)]
mod migrate_killed;
mod refusals;
mod schema;
mod work;

use fixture::{
    Attacked, NOW, bytes_of, create, folder, held, older, open, open_with, signer, terms, write,
    write_signed,
};
