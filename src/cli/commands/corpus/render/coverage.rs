//! The evidence for each sentence of a contract, as text, then the gaps.

use std::fmt::Write as _;

use crate::ui::screen::{Screen, Style};
use monolith_conformance::{Coverage, CoveredSentence, Proof, SentenceKind};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

pub(in crate::commands::corpus) fn coverage_text(screen: Screen, coverage: &Coverage) -> String {
    let mut out = String::new();
    for subject in &coverage.subjects {
        let title = line(&subject.title);
        let contract = subject.contract;
        let head = match subject.name.split_once('.') {
            Some((section, _)) => format!("{contract} §{section} {title}"),
            None => format!("{contract} {title}"),
        };
        let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, &head));
        for sentence in &subject.sentences {
            sentence_text(&mut out, sentence);
        }
        out.push('\n');
    }
    for gap in &coverage.gaps {
        let gap_word = screen.paint_out(Style::Bad, "GAP");
        let _ = writeln!(out, "{gap_word}  {}", line(gap));
    }
    if !coverage.untried.is_empty() {
        let untried = counted(coverage.untried.len(), "sentence");
        let word = screen.paint_out(Style::Bad, "UNTRIED");
        let _ = writeln!(
            out,
            "{word}  {untried} whose cases are newer than the last search for a change that breaks them; \
             run scripts/mutate-cases"
        );
    }
    let sentences = || coverage.subjects.iter().flat_map(|s| &s.sentences);
    let of = |kind| sentences().filter(|s| s.kind == kind).count();
    let differ = sentences().filter(|s| s.differs.is_some()).count();
    let _ = writeln!(
        out,
        "{}: {} shown by cases, {} by tests, {} that cannot be observed, {} of parts to come; {differ} met otherwise; {}",
        counted(sentences().count(), "sentence"),
        of(SentenceKind::Case),
        of(SentenceKind::Test),
        of(SentenceKind::None),
        of(SentenceKind::Later),
        counted(coverage.gaps.len(), "gap"),
    );
    out
}

fn sentence_text(out: &mut String, sentence: &CoveredSentence) {
    let _ = writeln!(out, "  {}  {}", sentence.id, line(&sentence.says));
    for case in &sentence.cases {
        let proof = match case.proof {
            Proof::Broken => "",
            Proof::Untried => " (untried)",
            Proof::Survived => " (survives every change of the program)",
        };
        let _ = writeln!(out, "      {} by {}{proof}", line(&case.id), line(&case.by));
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
