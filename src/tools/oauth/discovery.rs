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

/// Where tokens for a server come from.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    pub(super) authorization: AuthorizationServer,
    /// What the server is called as a resource.
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

/// The metadata of the resource; none where it has none.
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

/// The authorization server of a server without metadata of its own, as protocol 2025-03-26 has it: at the same origin.
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

/// The document there; none where there is none. A refusal or a fault of the server is not taken for its absence.
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
