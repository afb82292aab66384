//! The costs of monolith, as multiples of floors that are measured in the same run. `bare` is the floor of whole runs.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a bench that is set up wrongly has nothing to measure; its figures are no exact numbers"
)]

mod allocations;
mod append;
mod audit;
mod bare;
mod bare_machine;
mod decide;
mod freeze;
mod many;
mod memory;
mod process;
mod ratio;
mod server;
mod short;
mod start;
mod wal;
mod whole;

use std::path::Path;

use bare::Kept;
use ratio::Row;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["role", "serve"] => server::serve(),
        ["role", "open", path] => start::open(Path::new(path)),
        ["role", "memory", url, folder] => memory::run(url, Path::new(folder)),
        ["role", "bare", url, folder] => bare::run(url, Path::new(folder), Kept::Nothing),
        ["role", "bare-normal", url, folder] => {
            bare::run(url, Path::new(folder), Kept::Rows("NORMAL"));
        }
        ["role", "bare-full", url, folder] => bare::run(url, Path::new(folder), Kept::Rows("FULL")),
        // What `cargo test` runs: cargo adds `--bench` to a bench only.
        _ if !arguments.contains(&"--bench") => short::judge(),
        _ => table(&arguments),
    }
}

/// The table, or those of its groups that are named; lengths of runs may be given. With `--check`, a figure beyond its limit is a failure.
fn table(arguments: &[&str]) {
    let lengths: Vec<u64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let lengths = match lengths.as_slice() {
        [] => &[10, 100, 1000],
        given => given,
    };
    let named = |group: &&&str| {
        let groups = [
            "append", "audit", "decide", "freeze", "many", "start", "whole",
        ];
        groups.contains(*group)
    };
    let any = arguments.iter().any(|argument| named(&argument));
    let wanted = |group: &str| !any || arguments.contains(&group);
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let mut beyond = 0;
    println!("| what | cost | floor | ratio | spread | limit |\n|---|---|---|---|---|---|");
    let mut show = |rows: Vec<Row>| {
        for row in rows {
            println!("{}", row.line());
            beyond += usize::from(!row.holds());
        }
    };
    if wanted("decide") {
        show(decide::rows());
    }
    if wanted("audit") {
        show(audit::rows(longest));
    }
    if wanted("start") {
        show(start::rows());
    }
    if wanted("freeze") {
        show(freeze::rows());
    }
    if wanted("whole") {
        show(whole::rows(lengths));
    }
    if wanted("append") {
        beyond += append::print(true);
    }
    if wanted("decide") {
        short::print_decisions();
    }
    if wanted("whole") {
        println!(
            "\n| a turn | time | wake-ups | reads and writes | written | on disk | peak memory |\n|---|---|---|---|---|---|---|"
        );
        for line in whole::counts(lengths) {
            println!("{line}");
        }
        short::print_writes();
        short::print_system_calls(longest.min(200));
    }
    if wanted("many") {
        many_runs(arguments);
    }
    if arguments.contains(&"--check") && beyond > 0 {
        eprintln!("{beyond} figures are beyond their limits");
        std::process::exit(1);
    }
}

/// `many=N` measures so many runs at once; without it, and with `--bench`, 1,000 and 10,000.
fn many_runs(arguments: &[&str]) {
    let sizes: Vec<u64> = arguments
        .iter()
        .filter_map(|a| a.strip_prefix("many=")?.parse().ok())
        .collect();
    let sizes = match (sizes.is_empty(), arguments.contains(&"--bench")) {
        (false, _) => sizes,
        (true, true) => vec![1_000, 10_000],
        (true, false) => vec![20],
    };
    println!("{}", many::HEAD);
    for line in many::lines(&sizes) {
        println!("{line}");
    }
}
