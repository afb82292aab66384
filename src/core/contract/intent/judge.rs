//! The verdict over a task: does it ask for work on the workspace? Does not know where the words come from.

use std::collections::BTreeSet;

use super::findings::{Finding, Gathered, Mark, Marks, Verdict, marks_of};
use super::lexicon::{Phrases, RuleSet};
use super::reference::{Reader, Reference};
use super::text::{self, Paste, Sentence, Task};
use super::verb::Verb;

/// Maximum number of words of a task that may be a bare command.
const COMMAND_WORDS: usize = 4;
/// Maximum number of words between a verb and the indirect question that it governs.
const RELATIVE_WITHIN: usize = 4;

/// One clause: its words as written and folded, without fillers.
struct Clause<'t> {
    raw: Vec<&'t str>,
    words: Vec<String>,
}

/// Judges a task.
pub(super) fn judge(task: &str, language: &str, rules: &RuleSet) -> Verdict {
    let Some(lexicon) = rules.lexicon(language) else {
        return Verdict::default();
    };
    let task = Task::of(task);
    let reader = Reader {
        lexicon,
        paste: task.paste,
        rules,
        verb_last: language != "en",
    };
    reader.task(&task)
}

impl Reader<'_> {
    fn task(&self, task: &Task) -> Verdict {
        let lexicon = self.lexicon;
        let all = text::tokens(&task.prose).filter(|token| !text::is_mark(token));
        let all: Vec<String> = all.map(text::folded).collect();
        if let Some(program) = self.command(&all, task) {
            return Verdict {
                grounds: vec![format!("command: {program}")],
                needs_tools: true,
            };
        }
        let sentences = text::sentences(&task.prose);
        let supposed = lexicon.suppose.occurs(&all)
            || sentences
                .iter()
                .any(|sentence| self.is_conditional(sentence));
        let mut gathered = Gathered::default();
        for sentence in &sentences {
            self.sentence(sentence, supposed, &mut gathered);
            if gathered.findings.contains(&Finding::Inline) {
                break;
            }
        }
        let quiet = lexicon.quiet.find(&all);
        let has = |finding| gathered.findings.contains(&finding);
        let mut needs_tools = has(Finding::Strong);
        let states = has(Finding::Statement) && !has(Finding::Concept);
        let (orders, own_question) = (has(Finding::Order), has(Finding::OwnQuestion));
        if !needs_tools
            && self.paste == Some(Paste::Trace)
            && quiet.is_none()
            && !lexicon.generic.occurs(&all)
        {
            gathered.grounds.push("trace".to_owned());
            needs_tools = true;
        }
        needs_tools |= states;
        if let Some(words) = quiet {
            gathered.grounds.push(format!("quiet: {}", words.join(" ")));
        }
        let unreal = quiet.is_some() || supposed && !own_question;
        Verdict {
            grounds: gathered.grounds,
            needs_tools: needs_tools && (orders || !unreal),
        }
    }

    /// The program of a task that is one short command.
    fn command(&self, words: &[String], task: &Task) -> Option<String> {
        let is_word = |word: &&String| word.starts_with(|c: char| c.is_alphanumeric() || c == '`');
        let words: Vec<String> = words.iter().filter(is_word).cloned().collect();
        let fits = (1..=COMMAND_WORDS).contains(&words.len());
        if !fits
            || task.paste.is_some()
            || task.prose.contains(['?', '@'])
            || self.lexicon.either.occurs(&words)
        {
            return None;
        }
        let words = without(&words, &self.lexicon.fillers);
        let (first, rest) = words.split_first()?;
        // `make the …` is an order, not the program.
        let is_verb = self.lexicon.determiners.lead(rest) > 0;
        self.program(first).filter(|_| !is_verb)
    }

    /// The program that a word runs, in backticks or without.
    fn program(&self, word: &str) -> Option<String> {
        let name = word.trim_matches('`').split(' ').next()?.to_lowercase();
        self.rules.programs.contains(&name).then_some(name)
    }

    /// True if a sentence asks what would follow from its own condition.
    fn is_conditional(&self, sentence: &Sentence<'_>) -> bool {
        let lexicon = self.lexicon;
        let mut clauses = sentence.clauses.iter().map(folded);
        let starts =
            |clause: Vec<String>| lexicon.condition.lead(without(&clause, &lexicon.fillers)) > 0;
        lexicon
            .outcome
            .occurs(&folded(sentence.clauses.iter().flatten()))
            && clauses.any(starts)
    }

    fn sentence(&self, sentence: &Sentence<'_>, supposed: bool, gathered: &mut Gathered) {
        let lexicon = self.lexicon;
        let raw: Vec<&str> = sentence.clauses.iter().flatten().copied().collect();
        let words = folded(&raw);
        let clauses = sentence.clauses.iter().map(folded);
        // `there is a …` is about one thing.
        let said = clauses.flat_map(|clause| without(&clause, &lexicon.fillers).to_vec());
        let said: Vec<String> = said.collect();
        let persists = said.get(..lexicon.persist.lead(&said)).unwrap_or_default();
        let reference = self.reference(&raw, &words);
        if !persists.is_empty() && reference.is_some_and(|found| found != Reference::Topic) {
            gathered.findings.insert(Finding::Order);
            gathered.ground("order", persists);
            return;
        }
        let suppose = lexicon.suppose.occurs(&words) || self.is_conditional(sentence);
        let mut around = marks_of([
            (Mark::Asks, sentence.asks),
            (Mark::Colon, sentence.colon.is_some()),
            (Mark::FirstClause, true),
            (Mark::Generic, lexicon.generic.occurs(&said)),
            (Mark::Starts, true),
            (Mark::Suppose, suppose),
            (Mark::SupposedTask, supposed),
        ]);
        for (at, clause) in sentence.clauses.iter().enumerate() {
            if sentence.colon.is_some_and(|colon| colon <= at) {
                around.remove(&Mark::Colon);
            }
            for part in self.parts(clause) {
                let clause = self.clause(part, gathered);
                if clause.words.is_empty() || self.is_smalltalk(&clause.words) {
                    continue;
                }
                self.judge_clause(&clause, &around, gathered);
                around.remove(&Mark::Starts);
                if gathered.findings.contains(&Finding::Inline) {
                    return;
                }
            }
            around.remove(&Mark::FirstClause);
        }
    }

    /// The parts of a clause between conjunctions.
    fn parts<'t>(&self, clause: &[&'t str]) -> Vec<Vec<&'t str>> {
        let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
        for word in clause {
            let joins = self.lexicon.conjunctions.lead(&[text::folded(word)]) > 0;
            match parts.last_mut() {
                Some(part) if joins && !part.is_empty() => parts.push(Vec::new()),
                Some(part) => part.push(word),
                None => {}
            }
        }
        parts
    }

    /// A clause without fillers and without the file that it is addressed to.
    fn clause<'t>(&self, mut raw: Vec<&'t str>, gathered: &mut Gathered) -> Clause<'t> {
        let mut words: Vec<String> = raw.iter().map(|word| text::folded(word)).collect();
        loop {
            let fillers = self.lexicon.fillers.lead(&words);
            let addressed = raw.len() > 1 && raw.first().is_some_and(|word| word.starts_with('@'));
            let skipped = match (fillers, addressed) {
                (0, false) => return Clause { raw, words },
                (0, true) => {
                    gathered
                        .grounds
                        .extend(words.first().map(|word| format!("file: {word}")));
                    gathered.findings.insert(Finding::Strong);
                    1
                }
                (fillers, _) => fillers,
            };
            raw.drain(..skipped);
            words.drain(..skipped);
        }
    }

    fn is_smalltalk(&self, words: &[String]) -> bool {
        let talk = self.lexicon.smalltalk.lead(words);
        words.len() <= 5 && talk >= words.len().min(2)
    }

    fn marks(&self, clause: &Clause<'_>) -> Marks {
        let lexicon = self.lexicon;
        let words = &clause.words;
        let reference = self.reference(&clause.raw, words);
        Marks {
            all: marks_of([
                (Mark::Generic, lexicon.generic.occurs(words)),
                (Mark::Howto, lexicon.howto.lead(words) > 0),
                (Mark::Suppose, lexicon.suppose.occurs(words)),
                (Mark::Topic, reference == Some(Reference::Topic)),
                (Mark::Toy, lexicon.toy.occurs(words)),
            ]),
            reference: reference.filter(|reference| *reference != Reference::Topic),
        }
    }

    fn judge_clause(&self, clause: &Clause<'_>, around: &BTreeSet<Mark>, gathered: &mut Gathered) {
        let lexicon = self.lexicon;
        let words = clause.words.as_slice();
        if lexicon.hold.lead(words) > 0 {
            return;
        }
        let marks = self.marks(clause);
        let request = lexicon.request.lead(words);
        let mut body = words.get(request..).unwrap_or_default();
        if request > 0 {
            body = without(body, &lexicon.softeners);
            if body.first().is_some_and(|word| word == "not") {
                return;
            }
        }
        let is_question = around.contains(&Mark::Asks);
        let opens = if is_question
            || around.contains(&Mark::Starts)
            || lexicon.auxiliaries.lead(words) == 0
        {
            lexicon.ask.lead(words)
        } else {
            0
        };
        let mut verb = self.verb(body);
        let contains = |phrases: &Phrases| phrases.occurs(body);
        if request > 0
            && self.verb_last
            && !matches!(verb, Some((Verb::Act, _)))
            && (contains(&lexicon.act) || contains(&lexicon.inspect))
        {
            verb = Some((Verb::Act, 1));
        }
        if opens > 0 && request == 0 && verb.is_some_and(|(_, length)| opens >= length) {
            verb = None;
        }
        let first = clause.raw.first().copied().unwrap_or_default();
        if verb.is_none()
            && first.starts_with('`')
            && !is_question
            && opens == 0
            && self.program(first).is_some()
            && !lexicon.either.occurs(words)
        {
            verb = Some((Verb::Act, 1));
        }
        let asks = opens > 0 || is_question || request > 0;
        let order = Order {
            asked: is_question && request == 0,
            body,
            marks: &marks,
            words,
        };
        match verb {
            Some((Verb::Act, length)) => self.act(order, around, length, gathered),
            Some((Verb::Explain, _)) => self.explain(order, around, gathered),
            Some((verb, _)) => self.inspect(order, verb, gathered),
            None if asks => question(&marks, around, gathered),
            None => self.statement(words, &marks, gathered),
        }
    }

    /// True if the object of an order stands in the task: numbers, or text behind a colon.
    fn is_inline(&self, order: Order<'_>, object: &[String], has_text: bool) -> bool {
        let lexicon = self.lexicon;
        let starts_with_digit = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
        order.marks.reference.is_none()
            && !lexicon.nouns.occurs(object)
            && (has_text
                || lexicon.reckon.lead(order.body) > 0 && object.iter().any(starts_with_digit))
    }

    fn act(
        &self,
        order: Order<'_>,
        around: &BTreeSet<Mark>,
        length: usize,
        gathered: &mut Gathered,
    ) {
        let lexicon = self.lexicon;
        let Order { body, marks, .. } = order;
        if self.verb_last && lexicon.hold.occurs(body) {
            return;
        }
        let general = [Mark::Generic, Mark::Suppose];
        let in_general = general.iter().any(|mark| around.contains(mark));
        let either = lexicon.either.occurs(body);
        let is_toy = marks.has(Mark::Toy) && lexicon.play.lead(body) > 0;
        let alone = marks.reference.is_none();
        let object = body.get(length..).unwrap_or_default();
        let on_paste =
            self.paste == Some(Paste::Code) && (body.len() <= 5 || lexicon.near.lead(object) > 0);
        let has_text = around.contains(&Mark::Colon) && lexicon.prose.occurs(body);
        let inline = self.is_inline(order, object, has_text);
        if inline && has_text {
            gathered.findings.insert(Finding::Inline);
        }
        if in_general && !marks.is_own()
            || order.asked && around.contains(&Mark::FirstClause) && either && alone
            || is_toy && alone
            || on_paste && !marks.is(Reference::Path)
            || inline
        {
            gathered.findings.insert(Finding::Concept);
            return;
        }
        gathered.findings.insert(Finding::Order);
        gathered.ground("order", body.get(..length).unwrap_or_default());
    }

    fn inspect(&self, order: Order<'_>, verb: Verb, gathered: &mut Gathered) {
        let lexicon = self.lexicon;
        let Order { body, marks, .. } = order;
        let names_topic = self.rules.topics.occurs(order.words);
        let generic = marks.has(Mark::Generic);
        let own = !generic && !marks.has(Mark::Toy);
        let stands = if marks.reference.is_some()
            && !generic
            && !(marks.has(Mark::Toy) && marks.is(Reference::Thing))
        {
            true
        } else if verb == Verb::Make {
            let artifact = lexicon.produce.lead(body) > 0 || lexicon.artifacts.occurs(body);
            let in_language = body.iter().zip(body.iter().skip(1)).any(|(before, word)| {
                before == "in" && self.rules.topics.lead(std::slice::from_ref(word)) > 0
            });
            own && !order.asked && artifact && !in_language
        } else {
            let checks = lexicon.check.lead(body) > 0 && body.len() > 2 && !order.asked;
            let of_a_program = names_topic && !marks.has(Mark::Topic);
            !generic && self.indirect(body)
                || self.paste == Some(Paste::Trace)
                || own && checks && !marks.has(Mark::Suppose) && !of_a_program
        };
        if stands {
            if verb == Verb::Make {
                gathered.findings.insert(Finding::Order);
            }
            gathered.ground("inspect", body.get(..1).unwrap_or_default());
        } else {
            gathered.findings.insert(Finding::Concept);
        }
    }

    fn explain(&self, order: Order<'_>, around: &BTreeSet<Mark>, gathered: &mut Gathered) {
        let Order { body, marks, .. } = order;
        let generic = marks.has(Mark::Generic);
        let own = !generic && !marks.has(Mark::Toy);
        let general = [Mark::Generic, Mark::Asks];
        let in_general = general.iter().any(|mark| around.contains(mark));
        let definite = marks.is(Reference::Thing) && !in_general;
        let here = marks.is(Reference::Ours) || marks.is(Reference::Here);
        if marks.is(Reference::Path) || own && (here || definite) || !generic && self.indirect(body)
        {
            gathered.ground("explain", body.get(..1).unwrap_or_default());
        } else {
            gathered.findings.insert(Finding::Concept);
        }
    }

    /// True if a verb governs an indirect question about the workspace.
    fn indirect(&self, body: &[String]) -> bool {
        let after = (1..body.len().min(RELATIVE_WITHIN)).find_map(|at| {
            let rest = body.get(at..)?;
            (self.lexicon.relative.lead(rest) > 0).then_some(rest)
        });
        after.is_some_and(|rest| {
            let raw: Vec<&str> = rest.iter().map(String::as_str).collect();
            let reference = self.reference(&raw, rest);
            reference.is_some_and(|reference| reference != Reference::Topic)
        })
    }

    fn statement(&self, words: &[String], marks: &Marks, gathered: &mut Gathered) {
        let lexicon = self.lexicon;
        if lexicon.suppose.lead(words) > 0 || marks.has(Mark::Generic) {
            gathered.findings.insert(Finding::Concept);
            return;
        }
        let wish = lexicon.wish.occurs(words);
        let symptom = lexicon.symptom.occurs(words);
        let thing = lexicon.nouns.occurs(words);
        let of_people = lexicon.person.lead(words) > 0
            && !wish
            && !(symptom && (marks.reference.is_some() || thing));
        if of_people || lexicon.smalltalk.lead(words) > 0 || self.paste == Some(Paste::Code) {
            return;
        }
        let says = marks.reference.is_some() || wish || symptom || thing || words.len() > 3;
        if says && words.len() > 2 {
            gathered.findings.insert(Finding::Statement);
            let mark = lexicon
                .symptom
                .find(words)
                .or_else(|| lexicon.wish.find(words));
            gathered.note("statement", mark.unwrap_or_default());
        }
    }
}

/// A clause with a verb.
#[derive(Clone, Copy)]
struct Order<'c> {
    /// True if a question mark and no request makes it a question.
    asked: bool,
    /// The words from the verb on.
    body: &'c [String],
    marks: &'c Marks,
    words: &'c [String],
}

fn question(marks: &Marks, around: &BTreeSet<Mark>, gathered: &mut Gathered) {
    let general = [Mark::Generic, Mark::Howto, Mark::Toy];
    let in_general = around.contains(&Mark::Generic) || general.iter().any(|mark| marks.has(*mark));
    let real = !around.contains(&Mark::Suppose) && !around.contains(&Mark::SupposedTask);
    let named = marks.is(Reference::Path) && !marks.has(Mark::Suppose) && !marks.has(Mark::Howto);
    let asked = marks.reference.is_some() && real && (marks.is(Reference::Ours) || !in_general);
    if named || asked {
        if marks.is_own() {
            gathered.findings.insert(Finding::OwnQuestion);
        }
        gathered.ground("question", &[]);
    } else {
        gathered.findings.insert(Finding::Concept);
    }
}

/// The forms of words in the lexicons.
fn folded<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Vec<String> {
    let words = words.into_iter();
    words.map(|word| text::folded(word.as_ref())).collect()
}

/// `words` without the phrases at their start.
fn without<'w>(words: &'w [String], phrases: &Phrases) -> &'w [String] {
    let mut rest = words;
    loop {
        let found = phrases.lead(rest);
        match rest.get(found..) {
            Some(next) if found > 0 => rest = next,
            _ => return rest,
        }
    }
}
