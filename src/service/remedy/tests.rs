//! The page for people has the words for every code and every last request.

use super::commands::Commands;
use super::remedy::Remedy;
use super::server::ServerRemedy;
use crate::service::Service;
use crate::text::command::{KEPT, unkept};
use monolith_core::kernel::OutcomeCode;
use monolith_core::view::LastRequest;
use monolith_host::driver::Environment;

/// The words for any run.
fn words(remedy: &Remedy) -> String {
    let service = Service::new("/".into(), Environment::new(|_| None));
    remedy.words(&Commands::of_file(&service, "FILE".to_owned()))
}

/// The same with each command in backticks.
fn on_page(remedy: &Remedy) -> String {
    let command = |word: &str| {
        let command = word.trim_end_matches([',', ';', ':']);
        let rest = word.strip_prefix(command).unwrap();
        if command.contains(KEPT) {
            format!("`{}`{rest}", unkept(command))
        } else {
            word.to_owned()
        }
    };
    let words = words(remedy);
    let words = words.split(' ').map(command);
    words.collect::<Vec<_>>().join(" ")
}

/// Every variant of a type, in its order.
fn variants<T: serde::de::DeserializeOwned + std::fmt::Debug>() -> Vec<T> {
    let fault = serde_json::from_str::<T>("\"\"").unwrap_err();
    let fault = fault.to_string();
    let (_, names) = fault.split_once("expected one of ").unwrap();
    let (names, _) = names.split_once(" at line").unwrap();
    let names = names.split(", ").map(|name| name.replace('`', "\""));
    names
        .map(|name| serde_json::from_str(&name).unwrap())
        .collect()
}

#[test]
fn the_recipe_has_what_helps_by_what_is_recorded_of_the_last_request() {
    let rows = variants::<LastRequest>().into_iter().map(|recorded| {
        let words = match recorded {
            LastRequest::Blank => "an answer with neither text nor a call",
            LastRequest::CutAtLimit => "an answer that was cut at its limit",
            LastRequest::CutByServer => "the same, and the request states no limit",
            LastRequest::CutShort => "an answer that broke off",
            LastRequest::NoReport => "answers, and no final report",
            LastRequest::RateLimited => "too many requests (HTTP 429)",
            LastRequest::Slow => "no answer in time",
            LastRequest::TooLarge => "refused as too large",
            LastRequest::UnknownModel => "no such model, at a server that wants a key",
        };
        let text = on_page(&Remedy::of_request(recorded));
        format!("| {words} | {text} |\n")
    });
    let rows = rows.collect::<String>();
    let table = format!("| the last request | what may help |\n|---|---|\n{rows}");
    assert!(PAGE.contains(&table), "the page should hold:\n{table}");
}

const PAGE: &str = include_str!("../../../docs/recipes/failure.md");

fn codes() -> Vec<OutcomeCode> {
    variants()
}

#[test]
fn the_recipe_of_failed_runs_has_the_remedy_of_every_code() {
    let mut rows: Vec<(String, Remedy)> = Vec::new();
    for code in codes() {
        let Some(remedy) = Remedy::of_code(code) else {
            continue;
        };
        let name = format!("`{}`", code.as_str());
        match rows.last_mut() {
            Some((names, last)) if *last == remedy => *names = format!("{names}, {name}"),
            _ => rows.push((name, remedy)),
        }
    }
    let rows = rows.iter();
    let rows = rows.map(|(names, remedy)| format!("| {names} | {} |\n", on_page(remedy)));
    let table = format!(
        "| code | what may help |\n|---|---|\n{}",
        rows.collect::<String>()
    );
    assert!(PAGE.contains(&table), "the page should hold:\n{table}");
}

/// A command with a comma at its end is copied with it.
#[test]
fn nothing_is_stuck_to_the_end_of_a_command() {
    let requests = variants::<LastRequest>().into_iter();
    let requests = requests.map(Remedy::of_request);
    let all = codes().into_iter().filter_map(Remedy::of_code);
    for remedy in all
        .chain(requests)
        .chain([Remedy::CutAtWindow { window: None }])
    {
        let text = words(&remedy);
        let mut commands = text.split(' ').filter(|word| word.contains(KEPT));
        assert!(commands.all(|command| !command.ends_with(',')), "{text}");
    }
}

#[test]
fn only_a_success_needs_no_remedy() {
    let none = codes()
        .into_iter()
        .filter(|code| Remedy::of_code(*code).is_none());
    let successes = [
        OutcomeCode::FinalReport,
        OutcomeCode::TextFallback,
        OutcomeCode::Synthesis,
        OutcomeCode::FinalMessage,
        OutcomeCode::ToolResult,
    ];
    assert_eq!(none.collect::<Vec<_>>(), successes);
}

#[test]
fn a_tool_server_that_is_down_has_words_for_its_cause() {
    let service = Service::new("/".into(), Environment::new(|_| None));
    let commands = Commands::of_file(&service, "c.yaml".to_owned());
    let server = || "near".to_owned();
    let login = ServerRemedy::Login {
        scopes: vec!["a".to_owned(), "b c".to_owned()],
        server: server(),
    };
    let check = |remedy: &ServerRemedy, expect: &str| {
        let words = unkept(&remedy.words(&commands));
        assert!(words.contains(expect), "{words}");
    };
    let tilde = ServerRemedy::WholePath { server: server() };
    check(&tilde, "`~` is not expanded in `command` of tools.mcp.near");
    let late = ServerRemedy::StoreFirst { server: server() };
    check(&late, "start it once by hand");
    let login_command = "monolith mcp login near --scope 'a b c' --contract c.yaml gets a token";
    check(&login, login_command);
}
