//! `monolith session --stdio`: a session for a host in another process. The service speaks to the host; this supplies the streams.

use std::io;

use clap::Args;

use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::session_pipe::serve;

#[derive(Debug, Args)]
#[command(
    after_help = "The protocol and a host of 100 lines: docs/session-api.md, examples/host.py",
    after_long_help = "The host sends the requests to models, calls the tools and keeps the transcript; monolith decides what comes \
next. Each line of the two streams is one JSON document. The protocol is in docs/session-api.md, and \
examples/host.py is a host."
)]
pub(crate) struct SessionArgs {
    /// Speak the protocol over stdin and stdout, as lines of JSON
    ///
    /// Stdout carries only the protocol. When stdin ends, an unfinished run is suspended. The exit code is that of the last run.
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
}

/// `monolith session`.
pub(crate) fn session(app: &App, args: &SessionArgs) -> Result<Exit, ServiceError> {
    debug_assert!(args.stdio, "it is required");
    serve(app, io::stdin().lock(), |line| {
        app.screen.out_json_read(line)
    })
}
