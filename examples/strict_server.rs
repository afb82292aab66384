//! The strict servers of the tests as a program, each on a free port: a gateway can stand between them and monolith.
//!
//! ```sh
//! cargo run --example strict_server      # prints a line for each: name, model, address
//! ```

#![allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the servers are code of the tests"
)]

#[path = "../tests/it/http.rs"]
mod http;
#[path = "../tests/it/strict/mod.rs"]
mod strict;

use strict::provider::Provider;
use strict::script::Script;
use strict::server::Server;

fn main() {
    let _servers = Provider::ALL.map(|provider| {
        let server = Server::start(provider, "a", Script::four_turns());
        println!("{} {} {}", provider.name(), provider.model(), server.url());
        server
    });
    loop {
        std::thread::park();
    }
}
