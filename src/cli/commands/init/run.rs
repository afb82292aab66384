//! `monolith init`: finds what can answer on this machine, and writes a contract for it that holds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::args::InitArgs;
use super::render::{SCHEMA, contract_text};
use crate::commands::contract::judge;
use crate::context::app::App;
use crate::context::ask::answer;
use crate::context::runtime::runtime;
use monolith_core::contract::{ContractSpec, ProviderType, contract_file_schema};
use monolith_host::inference::{ModelStore, answer_at};
use monolith_host::store::NewFile;
use monolith_service::check::check_report::code_of;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::model::ModelFault;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::found::choice::{Choice, choices};
use monolith_service::found::endpoint::endpoint;
use monolith_service::found::endpoint::{UNCHECKED, no_such_server, other_server};
use monolith_service::found::fitting::other_profile;
use monolith_service::found::no_way::{Looked, NoWay};
use monolith_service::found::servers::running;
use monolith_service::text::command::typed_word;
use monolith_service::text::escape::line;
use monolith_service::trusted::Trusted;

/// Time limit for one answer from a server that was named but is not of the named kind.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of offered ways.
const MOST_SHOWN: usize = 20;

/// The mode of a contract: it is a program, whatever the umask lets others do.
const MODE: u32 = 0o644;

/// `monolith init`.
pub(crate) fn init(app: &App, args: &InitArgs) -> Result<Exit, ServiceError> {
    let path = app.cwd.join(&args.file);
    if path.exists() && !args.force {
        return Err(SystemFault::FileExists {
            path: args.file.clone(),
        }
        .into());
    }
    if let Some(address) = &args.base_url {
        let way = endpoint_way(app, args, address)?;
        return finish(app, args, &path, &way);
    }
    let servers = runtime()?.block_on(running(&args.places.places(), &app.environment));
    if let Some((kind, address)) = args.places.places().unanswered(&servers).next() {
        let listed = runtime()?.block_on(answer_at(
            &format!("{address}/v1"),
            "models",
            PATIENCE,
            &app.environment.proxies(),
        ));
        let none = no_such_server(kind, address, listed.as_ref());
        return Err(ModelFault::NoWay(none).into());
    }
    let store = ModelStore::new(app.models_folder()?);
    let stored = store.list()?;
    let mut ways = choices(&servers, &stored, &app.environment);
    let empty: Vec<&str> = servers
        .iter()
        .filter(|server| server.models.is_empty())
        .map(|server| server.kind.name())
        .collect();
    if !empty.is_empty() {
        let names = empty.join(", ");
        app.screen
            .write_err(&format!("note: {names} runs here, but holds no model\n"));
    }
    if let Some(word) = &args.way {
        let looked = Looked {
            environment: &app.environment,
            places: &args.places.places(),
            servers: &servers,
            stored: &stored,
        };
        if let Some(none) = NoWay::of_way(word, &looked) {
            return Err(ModelFault::NoWay(none).into());
        }
        ways.retain(|way| way.word == word);
    }
    if let Some(model) = &args.model {
        let there = ways.clone();
        take_model(&mut ways, model);
        if ways.is_empty() {
            let none = NoWay::of_model(model, args.way.as_deref(), &there);
            return Err(ModelFault::NoWay(none).into());
        }
    }
    let mut way = choose(app, args, ways)?;
    if way.provider == ProviderType::Local {
        let own = stored.iter().find(|model| model.name == way.model);
        way.profile = own.and_then(|model| other_profile(&store, model));
    }
    finish(app, args, &path, &way)
}

/// The model to take of a server that the caller names by its address.
fn endpoint_way(app: &App, args: &InitArgs, address: &str) -> Result<Choice, ServiceError> {
    let key_env = args.key_env.as_deref();
    let proxies = app.environment.proxies();
    let found = endpoint(address, key_env, args.model.as_deref(), &proxies);
    let ways = runtime()?.block_on(found).map_err(ModelFault::NoWay)?;
    choose(app, args, ways)
}

/// Writes the contract for that way, where it holds.
fn finish(app: &App, args: &InitArgs, path: &Path, way: &Choice) -> Result<Exit, ServiceError> {
    let text = contract_text(way, args.task.as_deref());
    // What is written is what was judged: a contract that does not hold is never left behind.
    let name = args.file.display().to_string();
    let spec = ContractSpec::parse(&name, &text, &[])?;
    let file = ContractFile::given(app, args.file.clone(), Vec::new());
    let judged_spec = spec.clone();
    let judged = judge(app, &file, spec)?;
    if let Some((check, why)) = judged.into_iter().next() {
        return Err(ModelFault::ContractOfInit {
            exit: code_of(check),
            way: line(&way.what),
            why,
        }
        .into());
    }
    write(path, &text, args.force)?;
    // Who has a contract written here knows what it reaches.
    if file.as_found(&text, &judged_spec, &[]).needs_trust() {
        let own = file.own_trust(&text, &judged_spec)?;
        let texts = BTreeMap::from([(own.path.clone(), text)]);
        Trusted::of(app)?.add(app, [own], &texts)?;
    }
    if let Err(fault) = write_schema(path, args.force) {
        let note = format!("no schema written for editors: {}", fault.summary());
        app.screen.note(&note);
    }
    app.screen.out(&format!(
        "{}: written for {}; it passes monolith contract check\n\nNext:\n  {}\n",
        line(&name),
        line(&way.what),
        app.hint(&format!("run {}", typed_word(&name)))
    ))?;
    if way.provider == ProviderType::Local || way.address.is_some() {
        app.screen.note(
            "A small model may need a simpler task. monolith show last says what happened in any case.",
        );
    }
    Ok(Exit::OK)
}

/// Leaves the ways of that model; where there is none of that name, hosted ones are asked for it nevertheless: what they
/// have is not known here.
fn take_model(ways: &mut Vec<Choice>, model: &str) {
    if ways.iter().any(|way| way.model == model) {
        ways.retain(|way| way.model == model);
        return;
    }
    ways.retain(|way| way.address.is_none() && way.provider != ProviderType::Local);
    for way in ways {
        way.what = format!("{}: {model}, {UNCHECKED}", way.word);
        model.clone_into(&mut way.model);
    }
}

/// The way to take: the only one, the first under `--yes`, else the one that the person at the terminal chooses.
fn choose(app: &App, args: &InitArgs, mut ways: Vec<Choice>) -> Result<Choice, ServiceError> {
    if ways.is_empty() {
        let mut asked = args.places.places().description(&app.environment);
        let other = runtime()?.block_on(other_server(&args.places.places(), &app.environment));
        if let Some(address) = other {
            let init = app.hint(&format!("init --base-url {address}"));
            let _ = write!(
                asked,
                " (another server lists models there: {init} takes it)"
            );
        }
        return Err(ModelFault::NothingToUse { asked }.into());
    }
    if ways.len() == 1 || args.yes {
        return Ok(ways.swap_remove(0));
    }
    let mut list = String::from("Which model should answer?\n");
    for (at, way) in ways.iter().take(MOST_SHOWN).enumerate() {
        let _ = writeln!(list, "  {}  {}", at + 1, line(&way.what));
    }
    let more = ways.len().saturating_sub(MOST_SHOWN);
    let question = if more > 0 {
        let _ = writeln!(list, "  …  and {more} more, by name");
        "Number or name [1]: "
    } else {
        "Number [1]: "
    };
    app.screen.write_err(&list);
    let Some(said) = answer(app, question)? else {
        return Err(ModelFault::NoneChosen.into());
    };
    let named = ways.iter().position(|way| way.model == said);
    let number = match said.as_str() {
        "" => Some(1),
        said => said.parse::<usize>().ok(),
    };
    let at = named.or_else(|| number?.checked_sub(1));
    match at.filter(|at| *at < ways.len()) {
        Some(at) => Ok(ways.swap_remove(at)),
        None => Err(ModelFault::NoneChosen.into()),
    }
}

/// Writes the schema that the contract names for editors, unless its folder has one.
fn write_schema(contract: &Path, force: bool) -> Result<(), ServiceError> {
    let path = contract.with_file_name(SCHEMA);
    if path.exists() && !force {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(contract);
    fs::create_dir_all(folder).map_err(|fault| SystemFault::CannotWrite {
        path: folder.to_owned(),
        reason: fault.to_string(),
    })?;
    write(&path, &format!("{:#}\n", contract_file_schema()), force)
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), ServiceError> {
    let put = || -> io::Result<()> {
        let make = if force {
            NewFile::over_file
        } else {
            NewFile::with_mode
        };
        let mut new = make(path, MODE)?;
        new.file().write_all(text.as_bytes())?;
        if force {
            new.replace()
        } else {
            // Since the first look another process may have made it.
            new.take_name()
        }
    };
    Ok(put().map_err(|fault| match fault.kind() {
        io::ErrorKind::AlreadyExists => SystemFault::FileExists {
            path: path.to_owned(),
        },
        _ => SystemFault::CannotWrite {
            path: path.to_owned(),
            reason: fault.to_string(),
        },
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::way;

    #[test]
    fn a_model_that_is_named_is_taken_where_it_is_and_else_asked_of_the_hosted() {
        let mut near = way(ProviderType::Openai, "a");
        near.address = Some("http://127.0.0.1:8080/v1".to_owned());
        let hosted = way(ProviderType::Anthropic, "c");
        let mut ways = vec![near.clone(), hosted.clone()];
        take_model(&mut ways, "a");
        assert_eq!(ways, [near.clone()]);
        let mut ways = vec![near, hosted];
        take_model(&mut ways, "d");
        assert_eq!(ways.len(), 1);
        assert_eq!(ways[0].model, "d");
    }
}
