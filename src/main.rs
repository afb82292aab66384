//! The binary `monolith`. Everything is in the library; see `src/cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    monolith::main()
}
