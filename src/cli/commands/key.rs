use crate::cli::args::KeyCommand;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::home::Home;

/// `monolith key generate | show | rotate`.
pub(in crate::cli) fn key(home: &Home, command: &KeyCommand) -> Result<Exit, CliError> {
    let keys = home.keys()?;
    let text = match command {
        KeyCommand::Generate(args) => format!("{}\n", keys.generate(&args.name)?.public()),
        KeyCommand::Show(args) => format!("{}\n", keys.show(&args.name)?.public()),
        KeyCommand::Rotate(args) => {
            let (public, record) = keys.rotate(&args.name)?;
            let hint = "give the record to whoever trusts the old key: verify --key takes it in a file beside that key";
            home.screen.note(hint);
            format!("{public}\n{record}")
        }
    };
    home.screen.out(&text)?;
    Ok(Exit::OK)
}
