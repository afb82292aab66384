//! What monolith costs, as multiples of floors that are measured in the same run. `bare` is the floor of whole runs.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a bench that is set up wrongly has nothing to measure; its figures are no exact numbers"
)]

mod bare;
mod many;
mod process;
mod ratio;
mod server;
mod whole;

use std::path::Path;

use bare::Kept;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["role", "serve"] => server::serve(),
        ["many", rest @ ..] => many_runs(rest),
        ["role", "bare", url, folder] => bare::run(url, Path::new(folder), Kept::Nothing),
        ["role", "bare-normal", url, folder] => {
            bare::run(url, Path::new(folder), Kept::Rows("NORMAL"));
        }
        ["role", "bare-full", url, folder] => bare::run(url, Path::new(folder), Kept::Rows("FULL")),
        _ => table(&arguments),
    }
}

/// Lengths of runs may be given; without them and without `--bench` it is a short form, which shows that everything can be measured.
fn table(arguments: &[&str]) {
    let lengths: Vec<u64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let lengths = match (lengths.is_empty(), arguments.contains(&"--bench")) {
        (false, _) => lengths,
        (true, true) => vec![10, 100, 1000],
        (true, false) => vec![3],
    };
    println!("| what | cost | floor | ratio | spread | limit |\n|---|---|---|---|---|---|");
    for row in whole::rows(&lengths) {
        println!("{}", row.line());
    }
    println!(
        "\n| a turn | time | wake-ups | written | on disk | peak memory |\n|---|---|---|---|---|---|"
    );
    for line in whole::counts(&lengths) {
        println!("{line}");
    }
    many_runs(arguments);
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
