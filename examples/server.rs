//! A small HTTP server over the service layer, without authentication, on loopback. Other processes may drive runs on the same store.
//!
//! ```sh
//! cargo run --example server
//! curl -H 'content-type: application/json' -d '{"contract": "contracts/demo.yaml"}' http://127.0.0.1:8080/runs
//! ```

use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use monolith::host::{AgentResult, Environment};
use monolith::service::approvals::{Inbox, approvals};
use monolith::service::approve::pending::{AnswerGiven, AnswerRequest, give};
use monolith::service::contract_file::ContractFile;
use monolith::service::drive::{background::start_in_background, run::Start};
use monolith::service::view::{follow::follow, stored::result_of};
use monolith::service::{Diagnosis, Service, ServiceError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// An error of the service layer as a response.
pub struct Failed(ServiceError);

impl<E: Into<ServiceError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let diagnosis = Json(Diagnosis::from(&self.0));
        (StatusCode::UNPROCESSABLE_ENTITY, diagnosis).into_response()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let environment = Environment::new(|name| std::env::var(name).ok());
    let service = Service::new(std::env::current_dir()?, environment).ready(|_, _| {});
    let listener = TcpListener::bind(("127.0.0.1", 8080)).await?;
    Ok(axum::serve(listener, routes(service)).await?)
}

/// The routes of the server.
pub fn routes(service: Service) -> Router {
    Router::new()
        .route("/runs", post(begin))
        .route("/runs/{run}", get(show))
        .route("/runs/{run}/entries", get(entries))
        .route("/runs/{run}/answer", post(answer))
        .route("/waiting", get(waiting))
        .with_state(Arc::new(service))
}

#[derive(Deserialize)]
struct NewRun {
    contract: String,
    task: Option<String>,
}

type Shared = State<Arc<Service>>;

/// Starts a run, and responds once it has begun.
async fn begin(
    State(service): Shared,
    Json(new): Json<NewRun>,
) -> Result<(StatusCode, Json<Value>), Failed> {
    let file = ContractFile::given(&service, new.contract.into(), Vec::new());
    let mut spec = file.read(&service)?;
    spec.task = new.task.or(spec.task);
    let run = start_in_background(service, Start::new(file, spec)).await?;
    Ok((StatusCode::CREATED, Json(json!({"run_id": run.run_id}))))
}

/// Shows the result of a run as far as it is recorded.
async fn show(
    State(service): Shared,
    Path(run): Path<String>,
) -> Result<Json<AgentResult>, Failed> {
    Ok(Json(result_of(&service, &run)?))
}

/// Streams the entries of a run, one JSON object a line, until the run ends.
async fn entries(State(service): Shared, Path(run): Path<String>) -> Result<Body, Failed> {
    let lines = stream::try_unfold(follow(&service, &run)?, async |mut follower| {
        let entry = follower.next().await.map_err(|error| error.summary())?;
        Ok::<_, String>(entry.map(|entry| {
            let (row, detail) = (entry.row.seq, entry.row.detail);
            let line = json!({"seq": row, "state": entry.row.to, "detail": detail});
            (format!("{line}\n"), follower)
        }))
    });
    Ok(Body::from_stream(lines))
}

/// Lists the calls of all runs that wait for a person.
async fn waiting(State(service): Shared) -> Result<Json<Inbox>, Failed> {
    Ok(Json(approvals(&service)?))
}

#[derive(Deserialize)]
struct Verdict {
    approve: bool,
    /// Hash of the arguments that were judged.
    arguments_hash: String,
}

/// Answers the call that a run waits with.
async fn answer(
    State(service): Shared,
    Path(run): Path<String>,
    Json(verdict): Json<Verdict>,
) -> Result<Json<AnswerGiven>, Failed> {
    let request = AnswerRequest {
        arguments: Some(verdict.arguments_hash),
        deny: !verdict.approve,
        run,
        ..AnswerRequest::default()
    };
    Ok(Json(give(&service, &request)?))
}
