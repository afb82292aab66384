//! A tool server on loopback that wants authorization, and its authorization server, at one address.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::http::{HttpRequest, serving};

/// The unusual behaviour of the server.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// The issuer in the browser's answer, instead of the real one.
    pub answers_as: Option<&'static str>,
    /// The scope without which a call is refused.
    pub call_scope: Option<&'static str>,
    /// The seconds that tokens last; none are stated where it is none.
    pub expires_in: Option<u64>,
    /// The name of the resource in its metadata.
    pub other_resource: Option<&'static str>,
    /// True if it registers no clients.
    pub registers_none: bool,
    /// True if a token is good for one call.
    pub spent_by_a_call: bool,
    /// True if it refuses to refresh tokens.
    pub refreshes_none: bool,
}

/// Both servers; stopped with the process.
pub struct OAuthServer {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    challenge: String,
    /// Every token that was given out.
    given: Vec<String>,
    good: HashSet<String>,
    good_refresh: HashSet<String>,
    manner: Manner,
    number: usize,
    /// Every request, its head with its body.
    requests: Vec<String>,
    scope: String,
}

impl OAuthServer {
    pub fn new(manner: Manner) -> Self {
        let state = Arc::new(Mutex::new(State {
            manner,
            ..State::default()
        }));
        let own = Arc::clone(&state);
        let port = serving(move |request| locked(&own).respond(request));
        Self { port, state }
    }

    /// The tool server's address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Every token that was given out so far.
    pub fn tokens(&self) -> Vec<String> {
        locked(&self.state).given.clone()
    }

    /// The requests whose first line begins so.
    pub fn requests(&self, begin: &str) -> Vec<String> {
        let state = locked(&self.state);
        let all = state.requests.iter();
        all.filter(|request| request.starts_with(begin))
            .cloned()
            .collect()
    }

    /// No token that was given out is good any more.
    pub fn revoke(&self) {
        locked(&self.state).good.clear();
    }

    pub fn behave(&self, manner: Manner) {
        locked(&self.state).manner = manner;
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a parameter of a query or a form.
pub fn parameter(text: &str, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    let mut found = pairs.filter(|(key, _)| key == name);
    found.next().map(|(_, value)| value.into_owned())
}

fn ok(body: &Value) -> (String, String) {
    let status = "200 OK\r\ncontent-type: application/json".to_owned();
    (status, body.to_string())
}

impl State {
    fn respond(&mut self, request: &HttpRequest) -> (String, String) {
        let head = &request.head;
        self.requests.push(format!("{head}{}", request.body));
        let host = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("host: ")
                .map(str::to_owned)
        });
        let own = format!("http://{}", host.unwrap_or_default());
        let target = head.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match (head.split(' ').next().unwrap_or_default(), path) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                let usual = format!("{own}/mcp");
                let resource = self.manner.other_resource.unwrap_or(&usual);
                ok(&json!({"resource": resource, "authorization_servers": [own]}))
            }
            ("GET", "/.well-known/oauth-authorization-server") => self.metadata(&own),
            ("POST", "/register") => {
                let name =
                    json!({"client_id": "client-1", "client_secret": "canary-client-secret-1"});
                ok(&name)
            }
            ("GET", "/authorize") => self.authorize(&own, query),
            ("POST", "/token") => self.token(head, &request.body),
            ("POST", "/mcp") => self.mcp(&own, head, &request.body),
            ("GET", "/mcp") => ("405 Method Not Allowed".to_owned(), String::new()),
            _ => ("404 Not Found".to_owned(), String::new()),
        }
    }

    fn metadata(&self, own: &str) -> (String, String) {
        let mut metadata = json!({
            "issuer": own,
            "authorization_endpoint": format!("{own}/authorize"),
            "token_endpoint": format!("{own}/token"),
            "registration_endpoint": format!("{own}/register"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        if self.manner.registers_none {
            metadata["registration_endpoint"] = Value::Null;
        }
        ok(&metadata)
    }

    fn authorize(&mut self, own: &str, query: &str) -> (String, String) {
        self.challenge = parameter(query, "code_challenge").unwrap();
        self.scope = parameter(query, "scope").unwrap_or_default();
        let issuer = self.manner.answers_as.unwrap_or(own);
        let state = parameter(query, "state").unwrap();
        let pairs = [
            ("code", "canary-code-1"),
            ("state", state.as_str()),
            ("iss", issuer),
        ];
        let back = parameter(query, "redirect_uri").unwrap();
        let back = url::Url::parse_with_params(&back, pairs).unwrap();
        (format!("302 Found\r\nlocation: {back}"), String::new())
    }

    fn token(&mut self, head: &str, form: &str) -> (String, String) {
        let refuse = |word: &str| {
            let status = "400 Bad Request\r\ncontent-type: application/json";
            (
                status.to_owned(),
                json!({"error": word, "error_description": form}).to_string(),
            )
        };
        let proof = head
            .to_ascii_lowercase()
            .contains("\r\nauthorization: basic ");
        if !proof {
            return refuse("invalid_client");
        }
        match parameter(form, "grant_type").as_deref() {
            Some("authorization_code") => {
                let verifier = parameter(form, "code_verifier").unwrap();
                if challenge_of(&verifier) != self.challenge {
                    return refuse("invalid_grant");
                }
            }
            Some("refresh_token") => {
                let token = parameter(form, "refresh_token").unwrap();
                // A token that was used before is a thief's: RFC 9700 §4.14.2.
                if self.manner.refreshes_none || !self.good_refresh.remove(&token) {
                    self.good_refresh.clear();
                    self.good.clear();
                    return refuse("invalid_grant");
                }
            }
            Some("client_credentials") => {}
            _ => return refuse("unsupported_grant_type"),
        }
        if parameter(form, "resource").is_none() {
            return refuse("invalid_target");
        }
        self.number += 1;
        let access = format!("canary-access-token-{:04}", self.number);
        let refresh = format!("canary-refresh-token-{:04}", self.number);
        self.good.insert(access.clone());
        self.good_refresh.insert(refresh.clone());
        self.given.extend([access.clone(), refresh.clone()]);
        let mut granted = json!({"access_token": access, "refresh_token": refresh, "token_type": "bearer", "scope": self.scope});
        if let Some(seconds) = self.manner.expires_in {
            granted["expires_in"] = json!(seconds);
        }
        ok(&granted)
    }

    fn mcp(&mut self, own: &str, head: &str, body: &str) -> (String, String) {
        let token = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_it = name.eq_ignore_ascii_case("authorization");
            is_it.then(|| value.strip_prefix("Bearer ").unwrap_or_default().to_owned())
        });
        let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
        let refuse = |status: &str, more: &str| {
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"{more}");
            (
                format!("{status}\r\nwww-authenticate: {challenge}"),
                String::new(),
            )
        };
        let Some(token) = token.filter(|token| self.good.contains(token)) else {
            return refuse("401 Unauthorized", ", scope=\"read\"");
        };
        let request: Value = serde_json::from_str(body).unwrap();
        let result = match request["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
                "instructions": format!("you sent {token}"),
            }),
            "tools/list" => {
                json!({"tools": [{"name": "whoami", "description": "Names you.", "inputSchema": {"type": "object"}}]})
            }
            "tools/call" => {
                if let Some(scope) = self.manner.call_scope
                    && !self.scope.split(' ').any(|one| one == scope)
                {
                    let more = format!(", error=\"insufficient_scope\", scope=\"{scope}\"");
                    return refuse("403 Forbidden", &more);
                }
                if self.manner.spent_by_a_call {
                    self.good.remove(&token);
                }
                json!({"content": [{"type": "text", "text": format!("you sent {token}.")}]})
            }
            "notifications/initialized" => return ("202 Accepted".to_owned(), String::new()),
            _ => {
                let error = json!({"code": -32601, "message": "unknown"});
                return ok(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
            }
        };
        ok(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
    }
}

/// RFC 7636 §4.2.
fn challenge_of(verifier: &str) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(verifier.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest)
}
