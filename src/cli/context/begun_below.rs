//! Runs that another run began, for an agent's call or as a step: which of them `continue` goes on with, and what to type instead. Begins none.

use super::app::App;
use super::contract_file::ContractFile;
use super::error::{CliError, InputFault};
use super::source::Source;
use crate::cli::ui::escape::line;
use crate::message::RunId;
use crate::store::{Invocation, Lineage, StoreReader};

/// Why a run is not continued under the file that it was begun with; none where it is.
pub(in crate::cli) fn not_continued(app: &App, run: &str) -> Result<Option<InputFault>, CliError> {
    let Source::Run(run_id, mut reader) = app.source(run)? else {
        return Ok(None);
    };
    let lineage = reader.lineage(&run_id)?.filter(Lineage::is_below);
    let Some(lineage) = lineage else {
        return Ok(None);
    };
    let (parent, begun) = (&lineage.parent.run_id, reader.invocation(&run_id)?);
    if !lineage.is_workflow {
        let way = way_on(app, &mut reader, &run_id, begun)?;
        return Ok(Some(InputFault::RunOfAgent {
            asked: "continue",
            parent: parent.to_string(),
            run: run_id.to_string(),
            way,
        }));
    }
    if begun.is_some() {
        return Ok(None);
    }
    let file = reader.invocation(parent)?;
    let file = file.map(|begun| begun.contract_file.display().to_string());
    Ok(Some(InputFault::Step {
        file: line(&file.unwrap_or_else(|| "its file".to_owned())),
        run: run_id.to_string(),
        workflow: parent.to_string(),
    }))
}

/// Why a run is not forked: as that of an agent, it would use what the call gave, beside the call, which would be charged nothing.
pub(in crate::cli) fn not_forked(app: &App, run: &str) -> Result<Option<InputFault>, CliError> {
    of_agent(app, run, "fork")
}

/// Why nothing of a run is sent again: as that of an agent, its contract comes of the call, and no file gives it.
pub(in crate::cli) fn not_asked_again(
    app: &App,
    run: &str,
) -> Result<Option<InputFault>, CliError> {
    let fault = of_agent(app, run, "ask again for")?;
    Ok(fault.map(|fault| match fault {
        InputFault::RunOfAgent {
            asked, parent, run, ..
        } => {
            let whole = app.hint(&format!("replay {run}"));
            InputFault::RunOfAgent {
                asked,
                parent,
                run,
                way: format!("{whole} decides it again as it is recorded"),
            }
        }
        other => other,
    }))
}

/// That a run is the one of an agent, where it is.
fn of_agent(app: &App, run: &str, asked: &'static str) -> Result<Option<InputFault>, CliError> {
    Ok(match not_continued(app, run)? {
        Some(InputFault::RunOfAgent {
            parent, run, way, ..
        }) => Some(InputFault::RunOfAgent {
            asked,
            parent,
            run,
            way,
        }),
        _ => None,
    })
}

/// Whether `continue` goes on with a run as it was begun; `lineage` is its own.
pub(in crate::cli) fn is_continued(app: &App, run_id: &RunId, lineage: Option<&Lineage>) -> bool {
    let Some(lineage) = lineage.filter(|own| own.is_below()) else {
        return true;
    };
    let reader = app.reader().ok().flatten();
    let begun = || reader.and_then(|reader| reader.invocation(run_id).ok().flatten());
    lineage.is_workflow && begun().is_some()
}

/// What goes on where the run of an agent is not continued: a run under the agent's file, where that can be run alone; else the first run of
/// its tree.
fn way_on(
    app: &App,
    reader: &mut StoreReader,
    run_id: &RunId,
    begun: Option<Invocation>,
) -> Result<String, CliError> {
    let path = begun.as_ref().map(|begun| begun.contract_file.clone());
    let file = path.and_then(|path| ContractFile::of_run(app, begun, Some(path), Vec::new()));
    let alone = file.as_ref().map(|file| file.read_to_look(app));
    if let (Some(file), Some(Ok(_))) = (&file, &alone) {
        let alone = format!(
            "continue {} \"…\" --contract {}",
            app.brief_name(run_id.as_str()),
            file.word(app)
        );
        let alone = app.hint(&alone);
        return Ok(format!(
            "{alone} goes on in a run of its own, under that file alone"
        ));
    }
    let first = reader.first_here(run_id)?;
    if let Some(above) = reader.lineage(&first)?.filter(Lineage::is_below) {
        let (parent, import) = (above.parent.run_id, app.hint("import FILE"));
        return Ok(format!(
            "run {parent}, which began {first}, is not in this store: {import} takes its transcript"
        ));
    }
    let name = app.brief_name(first.as_str());
    let open = reader.read_run(&first)?.row().outcome.is_none();
    let command = if open {
        format!("resume {name}")
    } else {
        format!("continue {name} \"…\"")
    };
    let mut way = format!(
        "{} goes on with the first run of its tree",
        app.hint(&command)
    );
    if let (Some(file), Some(Err(fault))) = (&file, &alone) {
        let why = format!(
            "; {} cannot be run alone: {}",
            file.word(app),
            fault.summary()
        );
        way.push_str(&why);
    }
    Ok(way)
}
