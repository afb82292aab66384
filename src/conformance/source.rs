//! The sources of cases: the built-in ones, or a folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::cases::{BASE, CASES};
use super::sentences::SentenceTexts;

/// The record of the last search for cases that survive a change of the program; empty before the first search.
const MUTANTS: &str = include_str!("../../corpus/mutants.jsonl");

/// The text of one case and the name it goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseSource {
    /// `<group>/<name>`: its path in the corpus without the extension.
    pub id: String,
    /// The YAML text.
    pub text: String,
}

/// Cases, and the base that each of them starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// The text of `base.yaml`: contract and servers that a case overrides.
    pub base: String,
    /// The cases, sorted by id.
    pub cases: Vec<CaseSource>,
    /// The sentences of the source contracts.
    pub sentences: SentenceTexts,
    /// `mutants.jsonl`: the last search over each case, a line each.
    pub mutants: String,
}

/// A folder that cannot be read as a corpus.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct CorpusReadError {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl Corpus {
    /// The corpus that this build carries.
    #[must_use]
    pub fn built_in() -> Self {
        let case = |(id, text): &(&str, &str)| CaseSource {
            id: (*id).to_owned(),
            text: (*text).to_owned(),
        };
        Self {
            base: BASE.to_owned(),
            cases: CASES.iter().map(case).collect(),
            sentences: SentenceTexts {
                session: include_str!("../../corpus/sentences.yaml").to_owned(),
                files: include_str!("../../corpus/sentences_001.yaml").to_owned(),
                machine: include_str!("../../corpus/sentences_002.yaml").to_owned(),
                agents: include_str!("../../corpus/sentences_003.yaml").to_owned(),
                work: include_str!("../../corpus/sentences_004.yaml").to_owned(),
                tests: include_str!("../../corpus/tests.yaml").to_owned(),
            },
            mutants: MUTANTS.to_owned(),
        }
    }

    /// The corpus in `folder`: its `<group>/<name>.yaml`, and its `base.yaml`, lists of sentences and
    /// record of mutants, the built-in ones where it has none.
    ///
    /// # Errors
    /// `CorpusReadError` with the first path that cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CorpusReadError> {
        let built_in = Self::built_in();
        let own = |name: &str, built_in: String| {
            let path = folder.join(name);
            if path.exists() {
                text_of(&path)
            } else {
                Ok(built_in)
            }
        };
        let base = own("base.yaml", built_in.base)?;
        let sentences = SentenceTexts {
            session: own("sentences.yaml", built_in.sentences.session)?,
            files: own("sentences_001.yaml", built_in.sentences.files)?,
            machine: own("sentences_002.yaml", built_in.sentences.machine)?,
            agents: own("sentences_003.yaml", built_in.sentences.agents)?,
            work: own("sentences_004.yaml", built_in.sentences.work)?,
            tests: own("tests.yaml", built_in.sentences.tests)?,
        };
        let mutants = own("mutants.jsonl", built_in.mutants)?;
        let mut cases = Vec::new();
        for group in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
            for file in entries(&group)? {
                let (Some(group), Some(name)) = (group.file_name(), file.file_stem()) else {
                    continue;
                };
                if file
                    .extension()
                    .is_some_and(|extension| extension == "yaml")
                {
                    let id = format!("{}/{}", group.to_string_lossy(), name.to_string_lossy());
                    let text = text_of(&file)?;
                    cases.push(CaseSource { id, text });
                }
            }
        }
        cases.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Self {
            base,
            cases,
            sentences,
            mutants,
        })
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, CorpusReadError> {
    let failed = |source| CorpusReadError {
        path: folder.to_owned(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect()
}

fn text_of(path: &Path) -> Result<String, CorpusReadError> {
    fs::read_to_string(path).map_err(|source| CorpusReadError {
        path: path.to_owned(),
        source,
    })
}
