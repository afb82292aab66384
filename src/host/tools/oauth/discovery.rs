//! Finds the authorization server of a server. Registers nowhere and gets no token.

use reqwest::StatusCode;
use url::Url;

use super::challenge::{Challenge, scopes_of, union};
use super::fault::OAuthFault;
use super::metadata::{AuthorizationServer, ResourceMetadata, ServerMetadata};
use super::web::{Reply, Web};
use super::well_known::{
    covers, judged, named, of_old_server, of_resource, of_server, resource_of,
};

/// The scope that asks for a refresh token (OpenID Connect Core 1.0 §11).
const OFFLINE: &str = "offline_access";

/// The source of tokens for a server.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    pub(super) authorization: AuthorizationServer,
    /// The server's resource name.
    pub(super) resource: String,
    /// The scopes that the resource knows.
    scopes: Vec<String>,
}

/// Finds it as the server's challenge says, else at the usual places. `issuer` is the only one that is allowed, where the author names one.
pub(super) async fn discover(
    web: &Web,
    server: &Url,
    challenge: &Challenge,
    issuer: Option<&str>,
) -> Result<Discovered, OAuthFault> {
    judged(&resource_of(server), server)?;
    let Some(resource) = resource(web, server, challenge).await? else {
        return Ok(Discovered {
            authorization: of_its_own(web, server, issuer).await?,
            resource: resource_of(server),
            scopes: Vec::new(),
        });
    };
    let fault = |rule| OAuthFault::NoServer {
        rule,
        server: named(server),
    };
    let mut offered = resource.authorization_servers.iter();
    let chosen = match issuer {
        Some(issuer) => offered.find(|one| *one == issuer).ok_or_else(|| {
            fault("its metadata does not name the `issuer` that the contract demands")
        })?,
        None => offered
            .next()
            .ok_or_else(|| fault("its metadata names none"))?,
    };
    let scopes = resource.scopes_supported.unwrap_or_default();
    Ok(Discovered {
        authorization: authorization(web, server, chosen).await?,
        resource: resource.resource,
        scopes: scopes_of(&scopes.join(" ")),
    })
}

impl Discovered {
    /// The scopes to ask for: those of the challenge, else those that the resource knows; what was granted before and what is wanted in any case.
    /// Nothing where none of this says anything.
    pub(super) fn scopes(&self, challenge: &Challenge, wanted: &[String]) -> Vec<String> {
        let needed = if challenge.scopes.is_empty() {
            &self.scopes
        } else {
            &challenge.scopes
        };
        union(needed, wanted)
    }

    /// The same for a person's login, which asks for a refresh token where that is a scope.
    pub(super) fn lasting_scopes(&self, challenge: &Challenge, wanted: &[String]) -> Vec<String> {
        let scopes = self.scopes(challenge, wanted);
        let offline = self.authorization.scopes.iter();
        let offline: Vec<String> = offline.filter(|one| *one == OFFLINE).cloned().collect();
        if scopes.is_empty() {
            scopes
        } else {
            union(&scopes, &offline)
        }
    }
}

/// The metadata of the resource; `None` if it has none.
async fn resource(
    web: &Web,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, OAuthFault> {
    let stated = challenge.metadata.as_deref();
    let places = match stated {
        Some(address) => {
            let place = judged(address, server)?;
            if place.origin() != server.origin() {
                let rule = "the metadata of a server is at its own origin";
                let address = named(&place);
                return Err(OAuthFault::Address { address, rule });
            }
            vec![place]
        }
        None => of_resource(server),
    };
    for place in places {
        let Some(found) = document(web, &place).await? else {
            continue;
        };
        let found: ResourceMetadata = found.read()?;
        if !covers(&found.resource, server) {
            return Err(OAuthFault::Document {
                address: named(&place),
                rule: "it is the metadata of another resource".to_owned(),
            });
        }
        return Ok(Some(found));
    }
    match stated {
        Some(_) => Err(OAuthFault::NoServer {
            rule: "it has no metadata where it says that it is",
            server: named(server),
        }),
        None => Ok(None),
    }
}

/// The authorization server of that name. Its metadata must state that name, letter for letter: else one server could pass for another.
async fn authorization(
    web: &Web,
    server: &Url,
    issuer: &str,
) -> Result<AuthorizationServer, OAuthFault> {
    let address = judged(issuer, server)?;
    for place in of_server(&address) {
        let Some(found) = document(web, &place).await? else {
            continue;
        };
        let found: ServerMetadata = found.read()?;
        if found.issuer != issuer {
            return Err(OAuthFault::Document {
                address: named(&place),
                rule: "it is the metadata of another issuer".to_owned(),
            });
        }
        return found.judged(server, &place);
    }
    Err(OAuthFault::NoServer {
        rule: "the authorization server that it names has no metadata",
        server: named(server),
    })
}

/// Finds the authorization server of a server without metadata, as protocol 2025-03-26 defines it: at the same origin.
async fn of_its_own(
    web: &Web,
    server: &Url,
    issuer: Option<&str>,
) -> Result<AuthorizationServer, OAuthFault> {
    let place = of_old_server(server);
    let found = match document(web, &place).await? {
        None => AuthorizationServer::without_metadata(server),
        Some(found) => {
            let found: ServerMetadata = found.read()?;
            let stated = Url::parse(&found.issuer);
            if !stated.is_ok_and(|stated| stated.origin() == server.origin()) {
                return Err(OAuthFault::Document {
                    address: named(&place),
                    rule: "it is the metadata of another issuer".to_owned(),
                });
            }
            found.judged(server, &place)?
        }
    };
    if issuer.is_some_and(|issuer| issuer != found.issuer) {
        return Err(OAuthFault::NoServer {
            rule: "it is not at the `issuer` that the contract demands",
            server: named(server),
        });
    }
    Ok(found)
}

/// The document there; `None` if there is none. A refusal or a fault of the server is not taken for its absence.
async fn document(web: &Web, place: &Url) -> Result<Option<Reply>, OAuthFault> {
    let reply = web.get(place).await?;
    match reply.status {
        StatusCode::OK => Ok(Some(reply)),
        status if status.is_server_error() => Err(OAuthFault::Unreached {
            address: named(place),
            reason: format!("HTTP {}", status.as_u16()),
        }),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::inference::Proxies;

    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
    const SERVER: &str = "/.well-known/oauth-authorization-server";

    async fn serve(server: &MockServer, at: &str, response: ResponseTemplate) {
        let mock = Mock::given(path(at)).respond_with(response);
        mock.mount(server).await;
    }

    async fn discovered(server: &MockServer, issuer: Option<&str>) -> Result<Discovered, String> {
        let url = Url::parse(&format!("{}/mcp", server.uri())).unwrap();
        let web = Web::new(&Proxies::default()).unwrap();
        let found = discover(&web, &url, &Challenge::default(), issuer).await;
        found.map_err(|fault| fault.to_string())
    }

    /// Serves a resource and its authorization server at one address, with changes, and checks discovery.
    async fn check(change: impl Fn(&str, &mut Value, &mut Value), expect: Result<(), &str>) {
        let server = MockServer::start().await;
        let own = server.uri();
        let mut resource =
            json!({"resource": format!("{own}/mcp"), "authorization_servers": [own]});
        let mut metadata = json!({"issuer": own, "token_endpoint": format!("{own}/token")});
        change(&own, &mut resource, &mut metadata);
        for (at, document) in [(RESOURCE, &resource), (SERVER, &metadata)] {
            serve(
                &server,
                at,
                ResponseTemplate::new(200).set_body_json(document),
            )
            .await;
        }
        let found = discovered(&server, None).await;
        match expect {
            Ok(()) => assert!(found.is_ok(), "{found:?}"),
            Err(part) => {
                let fault = found.map(drop).unwrap_err();
                assert!(fault.contains(part), "{part}: {fault}");
            }
        }
    }

    #[tokio::test]
    async fn metadata_that_could_be_anothers_is_refused() {
        check(|_, _, _| {}, Ok(())).await;
        check(
            |own, _, metadata| metadata["issuer"] = json!(format!("{own}/")),
            Err("the metadata of another issuer"),
        )
        .await;
        check(
            |_, resource, _| resource["resource"] = json!("https://evil.example.com/mcp"),
            Err("the metadata of another resource"),
        )
        .await;
        check(
            |_, resource, _| resource["authorization_servers"] = json!([]),
            Err("names none"),
        )
        .await;
        check(
            |_, resource, _| resource["authorization_servers"] = json!(["http://evil.example.com"]),
            Err("does not begin with https://"),
        )
        .await;
        check(
            |_, _, metadata| metadata["token_endpoint"] = json!("http://evil.example.com/token"),
            Err("does not begin with https://"),
        )
        .await;
        check(
            |_, _, metadata| metadata["token_endpoint"] = Value::Null,
            Err("names no token endpoint"),
        )
        .await;
    }

    #[tokio::test]
    async fn the_issuer_that_the_author_names_is_the_only_one() {
        let server = MockServer::start().await;
        let own = server.uri();
        let resource =
            json!({"resource": own, "authorization_servers": ["https://a.example.com", own]});
        let metadata = json!({"issuer": own, "token_endpoint": format!("{own}/token")});
        serve(
            &server,
            RESOURCE,
            ResponseTemplate::new(200).set_body_json(resource),
        )
        .await;
        serve(
            &server,
            SERVER,
            ResponseTemplate::new(200).set_body_json(metadata),
        )
        .await;
        let found = discovered(&server, Some(&own)).await.unwrap();
        assert_eq!(found.authorization.issuer, own);
        let fault = discovered(&server, Some("https://b.example.com")).await;
        assert!(
            fault
                .map(drop)
                .unwrap_err()
                .contains("the contract demands")
        );
    }

    #[tokio::test]
    async fn a_document_is_bounded_and_no_redirect_leads_to_one() {
        let large = MockServer::start().await;
        let body = vec![b' '; 300 << 10];
        serve(
            &large,
            RESOURCE,
            ResponseTemplate::new(200).set_body_bytes(body),
        )
        .await;
        let fault = discovered(&large, None).await.map(drop).unwrap_err();
        assert!(fault.contains("is longer than 262144 bytes"), "{fault}");

        let moved = MockServer::start().await;
        let elsewhere = format!("{}/elsewhere", moved.uri());
        let redirect = ResponseTemplate::new(302).insert_header("location", elsewhere.as_str());
        serve(&moved, SERVER, redirect.clone()).await;
        serve(&moved, RESOURCE, redirect).await;
        // As if there were none: the server has its authorization server at its own origin then.
        let found = discovered(&moved, None).await.unwrap();
        assert_eq!(found.authorization.token_endpoint.path(), "/token");
        let asked = moved.received_requests().await.unwrap();
        assert!(asked.iter().all(|one| one.url.path() != "/elsewhere"));
    }

    #[tokio::test]
    async fn the_metadata_of_a_server_is_at_its_own_origin() {
        let (server, other) = (MockServer::start().await, MockServer::start().await);
        let url = Url::parse(&format!("{}/mcp", server.uri())).unwrap();
        let header = format!("Bearer resource_metadata=\"{}/m\"", other.uri());
        let web = Web::new(&Proxies::default()).unwrap();
        let found = discover(&web, &url, &Challenge::of(&header), None).await;
        let fault = found.map(drop).unwrap_err().to_string();
        assert!(fault.contains("at its own origin"), "{fault}");
        assert_eq!(other.received_requests().await.unwrap().len(), 0);
    }
}
