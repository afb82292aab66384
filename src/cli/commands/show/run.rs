//! `monolith show`: chooses which part of a run to print, and the exit code. Other files hold the layouts.

use std::collections::BTreeMap;

use super::args::ShowArgs;
use super::conversation::{NONE_WITHHELD, conversation, withheld_section};
use super::{diff, follow, reasons, render, tree};
use crate::commands::drive::{held_back, with_withheld};
use crate::commands::work::{ItemForm, show_item};
use crate::commands::workflow::{WorkflowForm, show_workflow};
use crate::context::app::App;
use crate::context::departed::{marked, warned};
use crate::context::fault::show_error;
use crate::ui::screen::Style;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::StoreError;
use monolith_service::drive::typed_at::TypedAt;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::remedy::remedy_of;
use monolith_service::source::Source;
use monolith_service::text::escape::line;
use monolith_service::verify::report::{own_report, place};
use monolith_service::view::next_step::next_step;
use monolith_service::view::shown_run::view;
use monolith_service::view::stored::{each_stored_entry, result_of};
use monolith_service::view::withheld::withheld_texts;
use monolith_service::work_entries::WorkSource;
use monolith_service::workflow_entries::WorkflowSource;

/// The option that cuts nothing.
const UNCUT: &str = "--full";

/// `monolith show`.
pub(crate) fn show(app: &App, args: &ShowArgs) -> Result<Exit, ServiceError> {
    if let Some(other) = &args.other {
        return diff::diff(app, &args.run, other, args.form.json);
    }
    if args.form.tree {
        return show_tree(app, &args.run);
    }
    if let Ok(source) = WorkflowSource::of(app.source(&args.run)?)? {
        let form = workflow_form(args).ok_or_else(|| StoreError::OtherKind {
            asked: TranscriptKind::Run,
            kind: TranscriptKind::Workflow,
            run_id: source.run_id.clone(),
        })?;
        return show_workflow(app, source, &args.run, form);
    }
    if let Ok(source) = WorkSource::of(app.source(&args.run)?)? {
        let form = item_form(args).ok_or_else(|| StoreError::OtherKind {
            asked: TranscriptKind::Run,
            kind: TranscriptKind::Work,
            run_id: source.run_id.clone(),
        })?;
        let exit = show_item(app, source, &args.run, form)?;
        return Ok(if args.exit_code || exit == Exit::DIVERGED {
            exit
        } else {
            Exit::OK
        });
    }
    if args.follow {
        let followed = if args.form.json {
            follow::follow_json
        } else {
            follow::follow
        };
        return followed(app, &args.run);
    }
    let report = own_report(app, &args.run)?;
    if let Some(bad) = &report.first_bad {
        show_unverified(app, args, &place(bad))?;
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

/// Returns the form to show a workflow in; `None` if it has no such form.
const fn workflow_form(args: &ShowArgs) -> Option<WorkflowForm> {
    let form = &args.form;
    if form.conversation || args.follow || args.withheld {
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

/// Returns the form to show a work item in; `None` if it has no such form.
const fn item_form(args: &ShowArgs) -> Option<ItemForm> {
    let form = &args.form;
    if form.conversation || form.raw || form.step.is_some() || form.why {
        return None;
    }
    Some(match (args.follow || args.withheld, form.json, args.full) {
        (true, ..) => return None,
        (_, true, _) => ItemForm::Json,
        (_, _, true) => ItemForm::Full,
        _ => ItemForm::Cut,
    })
}

/// Shows an unverified run below the flaw, as far as it can be read. Makes no result document from it.
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
    let form = &args.form;
    if form.json {
        let result = result_of(app, &args.run)?;
        app.screen.out_json(&result)?;
        return Ok(Exit(result.exit_code));
    }
    if form.raw {
        each_stored_entry(app, &args.run, None, |entry| {
            Ok(app.screen.out_json(entry)?)
        })?;
        return Ok(Exit::OK);
    }
    if form.step.is_some() {
        each_stored_entry(app, &args.run, form.step, |entry| {
            let text = format!("{:#}\n", entry.document()?);
            Ok(app.screen.out_json_text(&text)?)
        })?;
        return Ok(Exit::OK);
    }
    let stored = matches!(app.source(&args.run)?, Source::Run(..));
    let run = view(app, &args.run)?;
    let uncut = if args.in_chat {
        // No command of a conversation takes an option.
        let name = app.brief_name(&args.run);
        app.hint(&format!("show {name} --full"))
    } else {
        UNCUT.to_owned()
    };
    let cut = if args.full {
        None
    } else {
        Some(uncut.as_str())
    };
    let departed = marked(app.screen, &run.view)?;
    let mut held = if args.withheld {
        let texts = withheld_texts(app, &args.run)?.into_iter();
        let section = |(seq, text)| (seq, withheld_section(app.screen, seq, &text));
        texts.map(section).collect()
    } else {
        BTreeMap::new()
    };
    let holds_none = held.is_empty();
    app.screen.out(&if form.why {
        reasons::why(app.screen, &run)
    } else if form.conversation {
        conversation(app.screen, &run, cut, &mut held)
    } else {
        let held = std::mem::take(&mut held);
        render::overview(app.screen, &run, verified, cut, held)
    })?;
    if args.withheld {
        if holds_none {
            app.screen.out(NONE_WITHHELD)?;
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
    // A conversation continues with its next message.
    let outcome = run.view.outcome();
    let goes_on = args.in_chat && outcome.is_some_and(|outcome| outcome.class.is_success());
    if stored && !goes_on {
        if let Some(run_id) = run.view.run_id().filter(|_| form.why)
            && let Some(remedy) = remedy_of(app, &run.view, run_id, TypedAt::Shell)
        {
            app.screen
                .out(&format!("\nWhat may help: {}\n", remedy.words()))?;
        }
        app.screen.out(&next_step(app, &run, form.why))?;
    }
    Ok(outcome.map_or(Exit::FAILED, |outcome| Exit(outcome.exit_code())))
}
