//! The arguments of `monolith approve`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    /// Refuse the call instead
    #[arg(long)]
    pub(in crate::cli) deny: bool,
    /// A field of what the call's server asks for
    ///
    /// Fields that are not given keep their defaults.
    #[arg(long = "field", value_name = "NAME=VALUE", conflicts_with = "deny", value_parser = field)]
    pub(in crate::cli) fields: Vec<(String, String)>,
    /// Do not ask (needs --arguments)
    ///
    /// --arguments says which call is meant.
    #[arg(long, requires = "arguments")]
    pub(in crate::cli) yes: bool,
    /// Answer only the call with this hash
    ///
    /// The hash of the call's arguments, as it is shown, or the beginning of it: 8 digits at least.
    #[arg(long, value_name = "HASH")]
    pub(in crate::cli) arguments: Option<String>,
    /// Replace an answer that was not taken yet
    ///
    /// Put this answer in the place of another one that was given before and has not been taken yet.
    #[arg(long)]
    pub(in crate::cli) replace: bool,
}

fn field(given: &str) -> Result<(String, String), String> {
    let (name, value) = given.split_once('=').ok_or("it has no `=`")?;
    Ok((name.to_owned(), value.to_owned()))
}
