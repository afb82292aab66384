//! The error that a command ends with, on the screen.

use monolith_core::contract::SpecErrors;
use monolith_service::as_typed::as_typed;
use monolith_service::error::ServiceError;
use monolith_service::error::advice::Advice as _;
use monolith_service::secrets::without_secrets;
use monolith_service::text::escape;

use crate::ui::fault::Snippet;
use crate::ui::screen::Screen;

/// Shows an error to people.
pub(crate) fn show_error(screen: Screen, error: &ServiceError) {
    match error {
        ServiceError::Spec(errors) | ServiceError::Located(_, errors) => {
            show_places(screen, errors);
        }
        _ => screen.fault(&error.message(), error.help().as_deref()),
    }
}

/// Shows each error of a file with its line. Secrets are taken out of each part: together, a key and its rule may look like a header.
fn show_places(screen: Screen, errors: &SpecErrors) {
    for (n, (error, help)) in errors.with_helps().enumerate() {
        if n > 0 {
            screen.write_err("\n");
        }
        let typed = error.set.as_deref().map(as_typed);
        let is_option = |typed: &&String| SpecErrors::option_of(typed).is_some();
        let option = typed.as_ref().filter(is_option);
        let about = match option {
            // A definition that the option names: which one, and what of it.
            Some(typed) if SpecErrors::is_of_definition(&error.path) => {
                format!("{typed}: {}", error.path)
            }
            Some(typed) => typed.trim_end().to_owned(),
            None => error.path.clone(),
        };
        let rule = without_secrets(&error.rule);
        let message = if about.is_empty() {
            rule
        } else {
            format!("{}: {rule}", without_secrets(&about))
        };
        let help = help.map(without_secrets);
        // A dedicated option expands to text that nobody typed.
        if option.is_some() {
            screen.fault(&message, help.as_deref());
            continue;
        }
        let text = error.set.as_ref().unwrap_or(&errors.text);
        let line = text.lines().nth(error.line.saturating_sub(1)).unwrap_or("");
        let (file, number, column) = errors.place_of(error);
        let width = screen.width().saturating_sub(number.to_string().len());
        let snippet = Snippet::around(line, (error.column, error.len), width);
        let snippet = match &typed {
            Some(typed) => snippet.at(&without_secrets(typed), None),
            None => snippet.at(&escape::line(file), Some((number, column))),
        };
        screen.fault_at(&message, snippet.scrubbed(without_secrets), help.as_deref());
    }
}
