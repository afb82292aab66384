//! Child runs, for an agent's call or as a step: which of them `continue` can continue, and what to type instead. Begins none.

use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
use monolith_core::message::RunId;
use monolith_host::store::{Invocation, Lineage, StoreReader};

/// A run that was begun for the call of an agent. It cannot continue alone: as an agent's run it would use what the call gave,
/// and nothing would be charged to the call.
pub struct RunOfAgent {
    parent: RunId,
    run: RunId,
    /// The alternative to it.
    way: String,
}

impl RunOfAgent {
    /// The refusal of what was to be done with it.
    pub fn refused(self, action: &'static str) -> InputFault {
        InputFault::RunOfAgent {
            action,
            parent: self.parent.to_string(),
            run: self.run.to_string(),
            way: self.way,
        }
    }

    /// The refusal to send anything of it again: its contract comes of the call, and no file gives it.
    pub fn not_asked_again(self, service: &Service) -> InputFault {
        let whole = service.hint(&format!("replay {}", self.run));
        let way = format!("{whole} replays it as recorded");
        Self { way, ..self }.refused("ask again for")
    }
}

/// The run, where it is that of an agent's call.
pub fn run_of_agent(service: &Service, run: &str) -> Result<Option<RunOfAgent>, ServiceError> {
    let Source::Run(run, mut reader) = service.source(run)? else {
        return Ok(None);
    };
    let lineage = reader.lineage(&run)?;
    let Some(lineage) = lineage.filter(|own| own.is_below() && !own.is_step()) else {
        return Ok(None);
    };
    let begun = reader.invocation(&run)?;
    Ok(Some(RunOfAgent {
        way: way_on(service, &mut reader, &run, begun)?,
        parent: lineage.parent.run_id,
        run,
    }))
}

/// Returns the reason why a run is not continued under the file that it was begun with; `None` if it is.
pub fn not_continued(service: &Service, run: &str) -> Result<Option<InputFault>, ServiceError> {
    if let Some(found) = run_of_agent(service, run)? {
        return Ok(Some(found.refused("continue")));
    }
    let Source::Run(run_id, reader) = service.source(run)? else {
        return Ok(None);
    };
    let lineage = reader.lineage(&run_id)?.filter(Lineage::is_below);
    let Some(lineage) = lineage.filter(Lineage::is_workflow) else {
        return Ok(None);
    };
    if reader.invocation(&run_id)?.is_some() {
        return Ok(None);
    }
    let parent = &lineage.parent.run_id;
    let file = reader.invocation(parent)?;
    let file = file.map(|begun| begun.contract_file.display().to_string());
    Ok(Some(InputFault::Step {
        file: line(&file.unwrap_or_else(|| "its file".to_owned())),
        run: run_id.to_string(),
        workflow: parent.to_string(),
    }))
}

/// True if `continue` continues a run as it was begun; `lineage` belongs to that run.
pub fn is_continued(service: &Service, run_id: &RunId, lineage: Option<&Lineage>) -> bool {
    let Some(lineage) = lineage.filter(|own| own.is_below()) else {
        return true;
    };
    let reader = service.reader().ok().flatten();
    let begun = || reader.and_then(|reader| reader.invocation(run_id).ok().flatten());
    lineage.is_step() && begun().is_some()
}

/// Returns the alternative to continuing an agent's run: a run under the agent's file, if that can run alone; else the first
/// run of its tree.
fn way_on(
    service: &Service,
    reader: &mut StoreReader,
    run_id: &RunId,
    begun: Option<Invocation>,
) -> Result<String, ServiceError> {
    let path = begun.as_ref().map(|begun| begun.contract_file.clone());
    let file = path.and_then(|path| ContractFile::of_run(service, begun, Some(path), Vec::new()));
    let alone = file.as_ref().map(|file| file.read_to_look(service));
    if let (Some(file), Some(Ok(_))) = (&file, &alone) {
        let alone = format!(
            "continue {} \"…\" --contract {}",
            service.brief_name(run_id.as_str()),
            file.word(service)
        );
        let alone = service.hint(&alone);
        return Ok(format!(
            "{alone} continues it in a separate run, under that file alone"
        ));
    }
    let first = reader.first_here(run_id)?;
    if let Some(above) = reader.lineage(&first)?.filter(Lineage::is_below) {
        let (parent, import) = (above.parent.run_id, service.hint("import FILE"));
        return Ok(format!(
            "parent run {parent} of {first} is not in this store: {import} adds its transcript"
        ));
    }
    let name = service.brief_name(first.as_str());
    let open = reader.read_run(&first)?.row().outcome.is_none();
    let command = if open {
        format!("resume {name}")
    } else {
        format!("continue {name} \"…\"")
    };
    let mut way = format!(
        "{} continues the first run of its tree",
        service.hint(&command)
    );
    if let (Some(file), Some(Err(fault))) = (&file, &alone) {
        let why = format!(
            "; {} cannot be run alone: {}",
            file.word(service),
            fault.summary()
        );
        way.push_str(&why);
    }
    Ok(way)
}
