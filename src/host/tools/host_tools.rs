//! Tools of the program that embeds monolith: closures with their definitions. Does not know which contract takes them.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::envelope::{TOOL_ERROR, ToolResponse};
use super::offer::Described;
use monolith_core::message::ObjectText;

/// Error code of a call whose closure panicked.
const PANICKED: &str = "TOOL_PANICKED";

/// A tool of the program that embeds monolith: an async closure with its definition.
///
/// A contract takes it by its name in `tools.host`, and the model sees it as `host__<name>`. The definition is pinned in the contract like that
/// of any other tool, and every call is judged, approved, limited and recorded like any other.
///
/// ```
/// use monolith_host::tools::HostTool;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}},
///     "required": ["city"],
/// });
/// let weather = HostTool::new("weather", "Returns the weather of a city.", schema, |arguments| async move {
///     match arguments["city"].as_str() {
///         Some("Athens") => Ok("sunny".to_owned()),
///         _ => Err("no such city"),
///     }
/// });
/// assert_eq!(weather.read_only().name(), "weather");
/// ```
#[derive(Clone)]
pub struct HostTool {
    call: Arc<Call>,
    description: String,
    /// Distinguishes it from every other one of this process.
    id: u64,
    input_schema: Value,
    is_idempotent: bool,
    is_read_only: bool,
    name: String,
}

type Call = dyn Fn(Value) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

impl HostTool {
    /// A tool that calls `call` with its arguments, a JSON object that fits `input_schema`. An error and a panic are failed calls. The closure
    /// must not block its thread.
    pub fn new<R, E>(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        call: impl Fn(Value) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            call: Arc::new(move |arguments| {
                let called = call(arguments);
                async move { called.await.map_err(|fault| fault.to_string()) }.boxed()
            }),
            description: description.into(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            input_schema,
            is_idempotent: false,
            is_read_only: false,
            name: name.into(),
        }
    }

    /// States that calls change nothing (`readOnlyHint`).
    #[must_use]
    pub fn read_only(self) -> Self {
        Self {
            is_idempotent: true,
            is_read_only: true,
            ..self
        }
    }

    /// States that a second call with the same arguments changes nothing more (`idempotentHint`). Whether a lost call is made again is
    /// for the contract, with `idempotent`.
    #[must_use]
    pub fn idempotent(self) -> Self {
        Self {
            is_idempotent: true,
            ..self
        }
    }

    /// The name that a contract takes it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn described(&self) -> Described {
        Described {
            annotations: json!({
                "destructiveHint": !self.is_read_only,
                "idempotentHint": self.is_idempotent,
                "readOnlyHint": self.is_read_only,
            }),
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
            name: self.name.clone(),
        }
    }
}

impl fmt::Debug for HostTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl PartialEq for HostTool {
    fn eq(&self, other: &Self) -> bool {
        self.described_by() == other.described_by()
    }
}

impl Eq for HostTool {}

impl Hash for HostTool {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.described_by().hash(state);
    }
}

impl HostTool {
    /// All that another one can differ in: its closure, by the id, and what was stated of it since.
    const fn described_by(&self) -> (u64, bool, bool) {
        (self.id, self.is_idempotent, self.is_read_only)
    }
}

/// The tools that a program has registered, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct HostTools(BTreeMap<String, HostTool>);

impl HostTools {
    /// Adds a tool; replaces one of the same name.
    pub(crate) fn insert(&mut self, tool: HostTool) {
        self.0.insert(tool.name.clone(), tool);
    }

    /// Returns the named tools.
    ///
    /// # Errors
    /// The first name that no tool has.
    pub(crate) fn named<'n>(&self, names: &'n [String]) -> Result<Self, &'n str> {
        let mut found = Self::default();
        for name in names {
            let tool = self.0.get(name).ok_or(name.as_str())?;
            found.insert(tool.clone());
        }
        Ok(found)
    }

    /// Their names, for a message.
    pub(crate) fn in_words(&self) -> String {
        if self.0.is_empty() {
            return "no tool: programs that embed monolith register them".to_owned();
        }
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        names.join(", ")
    }

    /// Describes the tools.
    pub(super) fn described(&self) -> Vec<Described> {
        self.0.values().map(HostTool::described).collect()
    }

    /// Performs one call. None if no tool has that name.
    pub(super) async fn call(&self, name: &str, arguments: &ObjectText) -> Option<ToolResponse> {
        let call = Arc::clone(&self.0.get(name)?.call);
        // It was an object when it was validated.
        let arguments: Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        let called = AssertUnwindSafe(async move { call(arguments).await });
        Some(match called.catch_unwind().await {
            Ok(Ok(text)) => ToolResponse::of_text(text),
            Ok(Err(message)) => ToolResponse::failed(TOOL_ERROR, message),
            Err(_) => ToolResponse::failed(PANICKED, "the tool panicked"),
        })
    }
}
