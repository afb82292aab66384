//! Stable codes of errors. Programs match on them; docs/errors.md lists them.

use std::fmt;

use serde::Serialize;

/// The code of an error. A code keeps its meaning; new ones may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "`meaning` documents each code")]
pub enum ErrorCode {
    Agent,
    BillingFile,
    Cancelled,
    ContractInvalid,
    Corpus,
    Delete,
    Export,
    ForkRefused,
    Import,
    Internal,
    Key,
    Login,
    Migrate,
    Model,
    Output,
    ResumeRefused,
    Sandbox,
    Store,
    System,
    Transcript,
    Trust,
    Undo,
    Untrusted,
    Usage,
}

impl ErrorCode {
    /// Every code, in the order of their names.
    pub const ALL: [Self; 24] = [
        Self::Agent,
        Self::BillingFile,
        Self::Cancelled,
        Self::ContractInvalid,
        Self::Corpus,
        Self::Delete,
        Self::Export,
        Self::ForkRefused,
        Self::Import,
        Self::Internal,
        Self::Key,
        Self::Login,
        Self::Migrate,
        Self::Model,
        Self::Output,
        Self::ResumeRefused,
        Self::Sandbox,
        Self::Store,
        Self::System,
        Self::Transcript,
        Self::Trust,
        Self::Undo,
        Self::Untrusted,
        Self::Usage,
    ];

    /// Returns the code as programs read it: snake_case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the meaning, in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.row().1
    }

    /// Returns the exit codes that a command with such an error may end with.
    #[must_use]
    pub const fn exit_codes(self) -> &'static [u8] {
        self.row().2
    }

    const fn row(self) -> (&'static str, &'static str, &'static [u8]) {
        match self {
            Self::Agent => (
                "agent",
                "An agent or the registry of agents cannot be used.",
                &[1, 4],
            ),
            Self::BillingFile => (
                "billing_file",
                "The accounting file cannot be written.",
                &[4],
            ),
            Self::Cancelled => (
                "cancelled",
                "The process was asked to end before the run began.",
                &[1],
            ),
            Self::ContractInvalid => (
                "contract_invalid",
                "The contract file, or a layer of configuration, breaks a rule.",
                &[1, 3, 4],
            ),
            Self::Corpus => (
                "corpus",
                "Conformance cases or records cannot be played.",
                &[4],
            ),
            Self::Delete => (
                "delete",
                "A run cannot be deleted, or a blob cannot be erased.",
                &[1, 4, 7],
            ),
            Self::Export => ("export", "A transcript cannot be exported.", &[1, 4, 7]),
            Self::ForkRefused => (
                "fork_refused",
                "No run can begin at that entry of the recorded run.",
                &[4, 6, 7],
            ),
            Self::Import => ("import", "A transcript cannot be imported.", &[1, 4, 7]),
            Self::Internal => (
                "internal",
                "monolith itself failed: please report it.",
                &[1],
            ),
            Self::Key => ("key", "A key file cannot be used or made.", &[4]),
            Self::Login => ("login", "Nobody logged in at a tool server.", &[3, 4]),
            Self::Migrate => ("migrate", "The store cannot be migrated.", &[1, 4, 7]),
            Self::Model => ("model", "There is no model that can be used.", &[1, 3, 4]),
            Self::Output => ("output", "The output cannot be written.", &[8, 9]),
            Self::ResumeRefused => (
                "resume_refused",
                "The recorded run cannot be resumed here, or under this contract.",
                &[1, 3, 4, 6, 7],
            ),
            Self::Sandbox => (
                "sandbox",
                "This machine did not answer what it can confine.",
                &[3],
            ),
            Self::Store => (
                "store",
                "The store or the state folder cannot be used, or has no such run.",
                &[1, 4, 7],
            ),
            Self::System => (
                "system",
                "The operating system, or the person at the terminal, refused.",
                &[1, 4],
            ),
            Self::Transcript => (
                "transcript",
                "The transcript is not what it must be, or there is none.",
                &[1, 4, 6, 7],
            ),
            Self::Trust => (
                "trust",
                "Keys, pins or proofs to verify by cannot be used.",
                &[4],
            ),
            Self::Undo => ("undo", "File changes of a run cannot be reverted.", &[1, 4]),
            Self::Untrusted => (
                "untrusted",
                "Nobody trusts the contract or a layer as it is now.",
                &[4],
            ),
            Self::Usage => (
                "usage",
                "The command line or the request is wrong.",
                &[1, 4],
            ),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    const HEAD: &str = "\
# Error codes

A command that ends with an error and prints JSON names the reason by one of these codes
(`finalReport.metadata.reason`, [accounting.md](accounting.md)); a program that uses the service
layer finds it in `Diagnosis::code`. A code keeps its meaning. New codes may be added. A run that
has its own outcome has that outcome's code instead ([commands.md](commands.md)).

This page is generated: the tests write it with UPDATE_SCHEMAS=1.

| code | meaning | exit codes |
|---|---|---|
";

    #[test]
    fn the_page_lists_every_code() {
        let mut page = HEAD.to_owned();
        for code in ErrorCode::ALL {
            let exits: Vec<String> = code.exit_codes().iter().map(u8::to_string).collect();
            let (meaning, exits) = (code.meaning(), exits.join(", "));
            let _ = writeln!(page, "| `{code}` | {meaning} | {exits} |");
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(written, page, "run the tests with UPDATE_SCHEMAS=1");
    }

    #[test]
    fn each_code_stands_once_in_the_list_and_reads_as_programs_write_it() {
        let mut names: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
        let listed = names.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(listed, names);
    }
}
