//! A command of the host in the sandbox that a contract's shell has. Asks no model, and is no call.

use tokio_util::sync::CancellationToken;

use super::confinement::Sandboxes;
use super::confinement_decision::decided;
use super::read_request::RunRequest;
use super::store_place::judge_store;
use crate::driver::DriverError;
use crate::driver::tasks::blocking;
use crate::tools::{CommandEnd, run_command};

/// The tool whose sandbox it is.
const SHELL: &str = "shell";

/// Runs a command in the workspace of a request, in the sandbox of its shell, until it ends or `cancel` kills it. The tools that the
/// contract has do not matter.
///
/// # Errors
/// The reason why it did not start, for people.
pub async fn run_confined(
    mut request: RunRequest,
    command: String,
    cancel: &CancellationToken,
) -> Result<CommandEnd, String> {
    request.spec.tools.builtin = vec![SHELL.to_owned()];
    request.spec.tools.http_get = None;
    request.spec.tools.servers.clear();
    let environment = request.environment.over(&request.spec);
    let decided = decided(&request.spec, false, &environment).await;
    decided.map_err(|fault| fault.to_string())?;
    let shell = blocking(move || {
        judge_store(&request)?;
        let folder = &request.contract_dir;
        let folder = std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.clone());
        let sandboxes = Sandboxes::of(&request.spec, &folder, &environment)?;
        sandboxes.keep_granted();
        let env = environment.expand_all(&request.spec.tools.env, "tools.env")?;
        sandboxes.shell_spec(env)
    });
    let shell = shell
        .await
        .map_err(|fault: DriverError| fault.to_string())?;
    let shell = shell.ok_or_else(|| "this host has no shell".to_owned())?;
    run_command(&shell, command, cancel).await
}
