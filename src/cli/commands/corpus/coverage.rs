//! `monolith corpus coverage`: which sentences of the contracts are shown by which cases and tests. Plays no case.

use super::args::CorpusCoverageArgs;
use super::render::coverage_text;
use crate::context::app::App;
use monolith_conformance::{Corpus, Coverage};
use monolith_service::error::ServiceError;
use monolith_service::error::corpus::CorpusFault;
use monolith_service::exit::Exit;

/// `monolith corpus coverage`.
pub(crate) fn coverage(app: &App, args: &CorpusCoverageArgs) -> Result<Exit, ServiceError> {
    let coverage = Corpus::built_in().coverage();
    let mut coverage = coverage.map_err(|error| CorpusFault::Sentences(error.to_string()))?;
    if let Some(filter) = &args.filter {
        keep(&mut coverage, filter);
        if coverage.subjects.is_empty() {
            let filter = filter.clone();
            return Err(CorpusFault::NoSuchSentence { filter }.into());
        }
    }
    if args.json {
        app.screen.out_json(&coverage)?;
    } else {
        app.screen.out(&coverage_text(app.screen, &coverage))?;
    }
    Ok(if coverage.gaps.is_empty() && coverage.untried.is_empty() {
        Exit::OK
    } else {
        Exit::FAILED
    })
}

/// Leaves the sentences whose id begins with `filter`, with their gaps and those that no change was tried on.
fn keep(coverage: &mut Coverage, filter: &str) {
    for subject in &mut coverage.subjects {
        subject.sentences.retain(|s| s.id.starts_with(filter));
    }
    coverage.subjects.retain(|s| !s.sentences.is_empty());
    coverage.gaps.retain(|gap| gap.contains(filter));
    coverage.untried.retain(|id| id.starts_with(filter));
}
