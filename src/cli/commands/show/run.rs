//! `monolith show`: chooses what of a run is printed, and the exit code. The layouts stand in files of their own.

use crate::context::fault::show_error;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::args::{ShowArgs, ShowForm};
use super::conversation::conversation;
use super::next_step::next_step;
use super::shown_run::ShownRun;
use super::{diff, follow, reasons, render, tree, withheld};
use crate::commands::drive::{held_back, with_withheld};
use crate::commands::verify;
use crate::commands::workflow::{WorkflowForm, show_workflow};
use crate::context::app::App;
use crate::context::departed::{marked, warned};
use crate::ui::screen::Style;
use monolith_core::kernel::{Run, State};
use monolith_core::message::Digest;
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::committed_workspace;
use monolith_host::store::{Invocation, StoreError};
use monolith_host::telemetry::AgentResult;
use monolith_service::answer_refusal::AnswerRefusal;
use monolith_service::approval::ApprovalStatus;
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::ended::agreeing;
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::drive::way_out::way_out;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::next_resume::NextResume;
use monolith_service::origin::step_path_of;
use monolith_service::run_status::RunStatus;
use monolith_service::source::{Recorded, Source};
use monolith_service::text::escape::line;
use monolith_service::view::malformed;
use monolith_service::workflow_entries::WorkflowSource;

/// An entry with everything that is stored of it.
#[derive(Serialize)]
struct Step<'e> {
    seq: u64,
    state: State,
    hash: Digest,
    action: &'e RawValue,
    event: &'e RawValue,
}

/// `monolith show`.
pub(crate) fn show(app: &App, args: &ShowArgs) -> Result<Exit, ServiceError> {
    if let Some(other) = &args.other {
        return diff::diff(app, &args.run, other, args.form.json);
    }
    if args.form.tree {
        return show_tree(app, &args.run);
    }
    if let Ok(source) = WorkflowSource::of(app.source(&args.run)?)? {
        let form = workflow_form(args).ok_or_else(|| StoreError::IsWorkflow {
            run_id: source.run_id.clone(),
        })?;
        return show_workflow(app, source, &args.run, form);
    }
    if args.form.follow {
        return follow::follow(app, &args.run);
    }
    let trust = app.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(app.source(&args.run)?, true, &trust)?;
    if let Some(bad) = &report.first_bad {
        show_unverified(app, args, &verify::place(bad))?;
        return Ok(Exit::EVIDENCE);
    }
    let verified = format!("verified at level {}", report.level);
    let exit = report_text(app, args, &verified)?;
    let exit = if args.form.raw || args.form.step.is_some() {
        // Stdout is for programs here.
        let view = app.source(&args.run)?.each_step(|_, _, _| Ok(()))?;
        warned(app.screen, &view).unwrap_or(exit)
    } else {
        exit
    };
    Ok(if args.exit_code || exit == Exit::DIVERGED {
        exit
    } else {
        Exit::OK
    })
}

/// The tree that a run stands in; of a workflow its graph, too.
fn show_tree(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let exit = tree::tree(app, asked)?;
    let Ok(source) = WorkflowSource::of(app.source(asked)?)? else {
        return Ok(exit);
    };
    app.screen.out("\n")?;
    let shown = show_workflow(app, source, asked, WorkflowForm::Graph)?;
    Ok(if exit == Exit::OK { shown } else { exit })
}

/// What of a workflow is shown; `None` if it has no such form.
const fn workflow_form(args: &ShowArgs) -> Option<WorkflowForm> {
    let form = &args.form;
    if form.conversation || form.follow || args.withheld {
        return None;
    }
    Some(match form.step {
        Some(seq) => WorkflowForm::Step(seq),
        None if form.json => WorkflowForm::Json,
        None if form.raw => WorkflowForm::Raw,
        None if form.why => WorkflowForm::Why,
        None => WorkflowForm::Graph,
    })
}

/// What does not verify is shown below the flaw, as far as it can be read; no result is made of it.
fn show_unverified(app: &App, args: &ShowArgs, place: &str) -> Result<(), ServiceError> {
    if args.form.json {
        return Err(TranscriptFault::NotVerified {
            asked: args.run.clone(),
            place: place.to_owned(),
        }
        .into());
    }
    let line = format!("NOT VERIFIED: {place}");
    if args.form.raw || args.form.step.is_some() {
        // Stdout is for programs here.
        app.screen.write_err(&format!("{line}\n"));
    } else {
        app.screen
            .out(&format!("{}\n", app.screen.paint_out(Style::Bad, &line)))?;
    }
    if let Err(fault) = report_text(app, args, "not verified") {
        show_error(app.screen, &fault);
    }
    Ok(())
}

/// Shows what is asked for; returns the exit code of the run itself.
fn report_text(app: &App, args: &ShowArgs, verified: &str) -> Result<Exit, ServiceError> {
    let source = app.source(&args.run)?;
    let stored = matches!(source, Source::Run(..));
    let form = &args.form;
    if form.json {
        return result_document(app, &args.run, source);
    }
    if form.raw || form.step.is_some() {
        return stored_entries(app, &args.run, form, source);
    }
    let begun = match &source {
        Source::Run(run_id, reader) => reader.invocation(run_id)?,
        Source::File(_) => None,
    };
    let mut run = ShownRun::read(source)?;
    if args.in_chat {
        // No command of a conversation takes an option.
        let name = app.brief_name(&args.run);
        run.uncut = app.hint(&format!("show {name} --full"));
    }
    run.workspace = workspace(app, begun, &run);
    if let (Some(RunStatus::Died), Some(run_id)) = (&run.status, run.view.run_id()) {
        // What does not read is named by `verify`.
        run.above = NextResume::above(app, run_id).unwrap_or_default();
    }
    (run.approval, run.refusal) = approval(app, &args.run, &run)?;
    run.malformed = malformed::malformed(&run.view, || app.source(&args.run))?;
    let departed = marked(app.screen, &run.view)?;
    let mut held = if args.withheld {
        withheld::held_back(app.screen, app.source(&args.run)?)?
    } else {
        BTreeMap::new()
    };
    let holds_none = held.is_empty();
    app.screen.out(&if form.why {
        reasons::why(app.screen, &run)
    } else if form.conversation {
        conversation(app.screen, &run, args.full, &mut held)
    } else {
        let held = std::mem::take(&mut held);
        render::overview(app.screen, &run, verified, args.full, held)
    })?;
    if args.withheld {
        if holds_none {
            app.screen.out(withheld::NOTHING)?;
        } else {
            let texts: Vec<String> = held.into_values().collect();
            app.screen.out(&texts.concat())?;
        }
    } else if let Some(hint) = held_back(&run.view, &with_withheld(app, &line(&args.run))) {
        app.screen.out(&format!("\n{hint}\n"))?;
    }
    if form.conversation {
        let outcome = run.view.outcome();
        let exit = outcome.map_or(Exit::FAILED, |outcome| Exit(outcome.exit_code()));
        return Ok(departed.unwrap_or(exit));
    }
    if let Some(departed) = departed {
        // What could be done next is no matter of a run that is not the one shown.
        return Ok(departed);
    }
    // A conversation goes on with its next message.
    let outcome = run.view.outcome();
    let goes_on = args.in_chat && outcome.is_some_and(|outcome| outcome.class.is_success());
    if stored && !goes_on {
        if let Some(run_id) = run.view.run_id().filter(|_| form.why)
            && let Some(way_out) = way_out(app, &run.view, run_id, TypedAt::Shell)
        {
            app.screen
                .out(&format!("\nWhat may help: {}\n", way_out.text))?;
        }
        app.screen.out(&next_step(app, &run, form.why))?;
    }
    Ok(outcome.map_or(Exit::FAILED, |outcome| Exit(outcome.exit_code())))
}

/// The result, as the run itself printed it.
fn result_document(app: &App, asked: &str, source: Source) -> Result<Exit, ServiceError> {
    let first = match &source {
        Source::Run(run_id, _) => app.first_of(run_id)?,
        Source::File(_) => None,
    };
    let step_path = match &source {
        Source::Run(run_id, _) => match app.reader()? {
            Some(mut reader) => step_path_of(&mut reader, run_id)?,
            None => None,
        },
        Source::File(_) => None,
    };
    let (run, mut view) = source.fold(first)?;
    if let Some(path) = step_path {
        view.below_step(path);
    }
    agreeing(asked, &view)?;
    let result = if view.is_suspended() && view.outcome().is_none() {
        AgentResult::suspended(Some(&run), &view)
    } else {
        AgentResult::of_run(&run, &view)
    };
    app.screen.out_json(&result)?;
    Ok(Exit(result.exit_code))
}

/// Every entry as it is stored, or the one that is asked for.
fn stored_entries(
    app: &App,
    asked: &str,
    form: &ShowForm,
    source: Source,
) -> Result<Exit, ServiceError> {
    let mut last = None;
    let mut found = false;
    source.each_entry(|_, _, entry| {
        last = Some(entry.seq);
        if form.raw {
            app.screen.out_json(&Step::of(entry)?)?;
        } else if form.step == last {
            found = true;
            app.screen.out_json_text(&step(entry)?)?;
        }
        Ok(())
    })?;
    match form.step {
        Some(step) if !found => Err(TranscriptFault::NoSuchEntry {
            asked: step,
            last: last.unwrap_or(0),
            run: asked.to_owned(),
        }
        .into()),
        _ => Ok(Exit::OK),
    }
}

/// The folder that the tools of the run saw. A transcript commits to its hash alone: it is named where the contract file still
/// leads there.
fn workspace(app: &App, begun: Option<Invocation>, run: &ShownRun) -> Option<PathBuf> {
    let committed = run.view.start()?.workspace?;
    let file = ContractFile::of_run(app, begun, None, Vec::new())?;
    committed_workspace(&file.read_to_look(app).ok()?, file.folder(), committed)
}

/// How the call stands that needs an approval, and why no answer to it is taken; neither of a run that did not begin in this store.
fn approval(
    app: &App,
    asked: &str,
    run: &ShownRun,
) -> Result<(Option<ApprovalStatus>, Option<AnswerRefusal>), ServiceError> {
    let is_here = matches!(
        run.status,
        Some(RunStatus::Running { .. } | RunStatus::Died)
    );
    let Some(awaited) = run.view.approvals().awaited().filter(|_| is_here) else {
        return Ok((None, None));
    };
    let Source::Run(run_id, reader) = app.source(asked)? else {
        return Ok((None, None));
    };
    let machine = run.view.machine();
    let refusal = match machine.and_then(Run::awaited) {
        Some(order) => {
            let own = machine.map(NextResume::by).unwrap_or_default();
            AnswerRefusal::of(app, &run_id, &order, || own.and(run.above))?
        }
        None => None,
    };
    let status = || ApprovalStatus::of(&reader, &run_id, awaited);
    Ok((refusal.is_none().then(status), refusal))
}

impl<'e> Step<'e> {
    fn of(entry: &'e SealedEntry) -> Result<Self, ServiceError> {
        // What does not read back as an action or an event is refused with its place, before it is shown as one.
        Recorded::decode(entry)?;
        Ok(Self {
            seq: entry.seq,
            state: entry.state,
            hash: entry.hash,
            action: serde_json::from_str(&entry.action).map_err(std::io::Error::from)?,
            event: serde_json::from_str(&entry.event).map_err(std::io::Error::from)?,
        })
    }
}

fn step(entry: &SealedEntry) -> Result<String, ServiceError> {
    let step = serde_json::to_string(&Step::of(entry)?).map_err(std::io::Error::from)?;
    let step: Value = serde_json::from_str(&step).map_err(std::io::Error::from)?;
    Ok(format!("{step:#}\n"))
}
