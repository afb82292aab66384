//! Vets where a request of a tool may connect to, and holds the connection to that: a name is resolved once, every address of it is judged,
//! and the client can reach no other. It does not know which hosts a contract allows, nor what is asked.

mod guard;
mod ranges;

pub(super) use guard::{AddressGuard, AddressRefusal, Resolver, SystemResolver};
