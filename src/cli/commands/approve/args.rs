//! The arguments of `monolith approve` and `monolith deny`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Refuse the call instead, as `monolith deny` does
    #[arg(long)]
    pub(crate) deny: bool,
    /// Refuse it and propose these arguments
    ///
    /// A JSON object, or a file that holds one. The call is not made: the model is shown the arguments and may call again.
    #[arg(long, value_name = "FILE|JSON", conflicts_with = "fields")]
    pub(crate) edit: Option<String>,
    /// A field of what the call's server asks for
    ///
    /// Fields that are not given keep their defaults.
    #[arg(long = "field", value_name = "NAME=VALUE", conflicts_with = "deny", value_parser = field)]
    pub(crate) fields: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

impl ApproveArgs {
    /// The command that was typed, or that does the same.
    pub(super) const fn verb(&self) -> &'static str {
        if self.deny { "deny" } else { "approve" }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// What an answer may have, whichever it is.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Why; a refusal tells the model
    ///
    /// At most 1000 bytes. It is recorded, and what the model is told of a refused call ends with it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Sign the answer with this key
    ///
    /// The name of a key of this machine (`monolith key generate NAME`), or the file of one. The transcript then says who answered.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) key: Option<String>,
    /// Do not ask (needs --arguments)
    ///
    /// --arguments says which call is meant.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Answer only the call with this hash
    ///
    /// The hash of the call's arguments, as it is shown, or the beginning of it: 8 digits at least.
    #[arg(long, value_name = "HASH")]
    pub(crate) arguments: Option<String>,
    /// Replace an answer that was not taken yet
    ///
    /// Put this answer in the place of another one that was given before and has not been taken yet.
    #[arg(long)]
    pub(crate) replace: bool,
}

impl From<DenyArgs> for ApproveArgs {
    fn from(args: DenyArgs) -> Self {
        Self {
            run: args.run,
            deny: true,
            edit: None,
            fields: Vec::new(),
            answer: args.answer,
        }
    }
}

fn field(given: &str) -> Result<(String, String), String> {
    let (name, value) = given.split_once('=').ok_or("it has no `=`")?;
    Ok((name.to_owned(), value.to_owned()))
}
