//! What a line of a conversation asks for: a command behind a slash, or a message. It does nothing of it.

/// What a line of a conversation asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish<'l> {
    Cost,
    Help,
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
        match typed {
            "" => Self::Nothing,
            "/cost" => Self::Cost,
            "/help" => Self::Help,
            "/exit" | "/quit" => Self::Quit,
            "/show" => Self::Show,
            "/tools" => Self::Tools,
            "/undo" => Self::Undo,
            // A path is no command.
            _ if typed.starts_with('/') && !typed.contains(char::is_whitespace) => {
                if typed
                    .strip_prefix('/')
                    .is_some_and(|rest| rest.contains('/'))
                {
                    Self::Send(typed)
                } else {
                    Self::Unknown(typed)
                }
            }
            _ => Self::Send(typed),
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
        check("/show me the files", Wish::Send("/show me the files"));
        check("hello", Wish::Send("hello"));
    }
}
