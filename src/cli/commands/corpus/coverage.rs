use std::fmt::Write as _;

use super::args::CorpusCoverageArgs;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, CorpusFault};
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::{Screen, Style};
use crate::conformance::{Corpus, Coverage, CoveredSentence, SentenceKind};

/// `monolith corpus coverage`.
pub(in crate::cli) fn coverage(app: &App, args: &CorpusCoverageArgs) -> Result<Exit, CliError> {
    let coverage = Corpus::built_in().coverage();
    let mut coverage = coverage.map_err(CorpusFault::Sentences)?;
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
        app.screen.out(&told(app.screen, &coverage))?;
    }
    Ok(if coverage.gaps.is_empty() {
        Exit::OK
    } else {
        Exit::FAILED
    })
}

/// Leaves the sentences whose id begins with `filter`, and the gaps of those.
fn keep(coverage: &mut Coverage, filter: &str) {
    for subject in &mut coverage.subjects {
        subject.sentences.retain(|s| s.id.starts_with(filter));
    }
    coverage.subjects.retain(|s| !s.sentences.is_empty());
    coverage.gaps.retain(|gap| gap.contains(filter));
}

fn told(screen: Screen, coverage: &Coverage) -> String {
    let mut out = String::new();
    for subject in &coverage.subjects {
        let section = subject.name.split('.').next().unwrap_or_default();
        let title = line(&subject.title);
        let head = format!("{} §{section} {title}", subject.contract);
        let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, &head));
        for sentence in &subject.sentences {
            told_sentence(&mut out, sentence);
        }
        out.push('\n');
    }
    for gap in &coverage.gaps {
        let gap_word = screen.paint_out(Style::Bad, "GAP");
        let _ = writeln!(out, "{gap_word}  {}", line(gap));
    }
    let sentences = || coverage.subjects.iter().flat_map(|s| &s.sentences);
    let of = |kind| sentences().filter(|s| s.kind == kind).count();
    let differ = sentences().filter(|s| s.differs.is_some()).count();
    let _ = writeln!(
        out,
        "{}: {} shown by cases, {} by tests, {} that cannot be observed; {differ} met otherwise; {}",
        counted(sentences().count(), "sentence"),
        of(SentenceKind::Case),
        of(SentenceKind::Test),
        of(SentenceKind::None),
        counted(coverage.gaps.len(), "gap"),
    );
    out
}

fn told_sentence(out: &mut String, sentence: &CoveredSentence) {
    let _ = writeln!(out, "  {}  {}", sentence.id, line(&sentence.says));
    for case in &sentence.cases {
        let _ = writeln!(out, "      {} by {}", line(&case.id), line(&case.by));
    }
    for test in &sentence.tests {
        let _ = writeln!(out, "      {}", line(test));
    }
    for (what, text) in [("differs", &sentence.differs), ("why", &sentence.why)] {
        if let Some(text) = text {
            let _ = writeln!(out, "      {what}: {}", line(text));
        }
    }
}
