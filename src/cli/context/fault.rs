//! The error that a command ends with, on the screen.

use monolith_service::as_typed::as_typed;
use monolith_service::error::ServiceError;
use monolith_service::error::advice::Advice as _;
use monolith_service::secrets;
use monolith_service::text::escape;

use crate::ui::screen::Screen;

/// Shows an error to people.
pub(crate) fn show_error(screen: Screen, error: &ServiceError) {
    match error {
        ServiceError::Spec(errors) | ServiceError::Located(_, errors) => {
            let text = secrets::without_secrets(&errors.render_within(screen.width(), &as_typed));
            screen.write_err(&escape::text(&text));
        }
        _ => screen.fault(&secrets::without_secrets(&error.message()), error.help()),
    }
}
