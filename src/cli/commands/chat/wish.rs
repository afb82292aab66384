//! What a line of a conversation asks for: a command behind a slash, or a message. It does nothing of it.

/// What a line of a conversation asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish<'l> {
    Cost,
    /// A word that ends other programs, without the slash.
    EndWord(&'l str),
    Help,
    /// A command with something behind it: none takes that.
    NoArgument(&'l str),
    Nothing,
    Quit,
    Send(&'l str),
    Show,
    Tools,
    Undo,
    Unknown(&'l str),
}

impl<'l> Wish<'l> {
    pub(super) fn of(typed: &'l str) -> Self {
        let typed = typed.trim();
        let word = typed.split_whitespace().next().unwrap_or_default();
        let command = match word {
            "" => Self::Nothing,
            "/cost" => Self::Cost,
            "/help" => Self::Help,
            "/exit" | "/quit" => Self::Quit,
            "/show" => Self::Show,
            "/tools" => Self::Tools,
            "/undo" => Self::Undo,
            "exit" | "quit" if word == typed => Self::EndWord(word),
            _ => match word.strip_prefix('/') {
                Some(rest) if !rest.contains('/') => Self::Unknown(word),
                // A path is no command.
                Some(_) | None => Self::Send(typed),
            },
        };
        match command {
            Self::Send(_) | Self::Unknown(_) => command,
            _ if word != typed => Self::NoArgument(word),
            _ => command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_after_a_slash_is_a_command_and_a_path_is_not() {
        let check = |typed: &str, expect: Wish<'_>| assert_eq!(Wish::of(typed), expect, "{typed}");
        check("  ", Wish::Nothing);
        check(" /quit ", Wish::Quit);
        check("/exit", Wish::Quit);
        check("/undo", Wish::Undo);
        check("/frob", Wish::Unknown("/frob"));
        check("/etc/hosts", Wish::Send("/etc/hosts"));
        check("/etc/hosts is what?", Wish::Send("/etc/hosts is what?"));
        check("/show me the files", Wish::NoArgument("/show"));
        check("/exit now", Wish::NoArgument("/exit"));
        check("/undo 2", Wish::NoArgument("/undo"));
        check("/foo bar", Wish::Unknown("/foo"));
        check(" exit", Wish::EndWord("exit"));
        check("quit", Wish::EndWord("quit"));
        check("quit smoking", Wish::Send("quit smoking"));
        check("hello", Wish::Send("hello"));
    }
}
