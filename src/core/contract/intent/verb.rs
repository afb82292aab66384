//! The verb that a clause starts with. Does not judge what the clause asks for.

use super::reference::Reader;

/// The kind of verb that a clause starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Act,
    Inspect,
    Make,
    Explain,
}

impl Reader<'_> {
    /// The verb at the start of a clause, and the number of its words.
    pub(super) fn verb(&self, body: &[String]) -> Option<(Verb, usize)> {
        let lexicon = self.lexicon;
        let first = body.first()?;
        let mut forms = vec![first.clone()];
        if let Some(stem) = first.strip_suffix("ing").filter(|stem| stem.len() > 2) {
            forms.extend([stem.to_owned(), format!("{stem}e")]);
            let mut single = stem.chars();
            single.next_back();
            forms.push(single.as_str().to_owned());
        }
        let mut best: Option<(Verb, usize)> = None;
        for (verb, phrases) in [
            (Verb::Act, &lexicon.act),
            (Verb::Inspect, &lexicon.inspect),
            (Verb::Make, &lexicon.make),
            (Verb::Explain, &lexicon.explain),
        ] {
            for form in &forms {
                let mut words = body.to_vec();
                words.splice(..1, [form.clone()]);
                let length = phrases.lead(&words);
                if length > best.map_or(0, |(_, known)| known) {
                    best = Some((verb, length));
                }
            }
        }
        best.filter(|_| !self.is_subject(body))
    }

    /// True if a clause begins with a verbal noun that is its subject: `fixing tests is hard`.
    fn is_subject(&self, body: &[String]) -> bool {
        let lexicon = self.lexicon;
        let verbs = [
            &lexicon.act,
            &lexicon.inspect,
            &lexicon.make,
            &lexicon.explain,
        ];
        let is_noun = body.first().is_some_and(|word| word.ends_with("ing"))
            && verbs.iter().all(|verbs| verbs.lead(body) == 0);
        let finite = (1..body.len()).find(|at| {
            let rest = body.get(*at..).unwrap_or_default();
            lexicon.auxiliaries.lead(rest) > 0
        });
        let before = finite.and_then(|at| body.get(at - 1..));
        is_noun
            && before.is_some_and(|rest| {
                lexicon.near.lead(rest) == 0 && lexicon.relative.lead(rest) == 0
            })
    }
}
