//! The binary `monolith`. Everything is in the library; see its room `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    monolith::cli::main()
}
