//! The keys of the mapping `oauth` of a server, with types, defaults and meanings. Data only.

use crate::contract::spec::declare::form;
use crate::contract::spec::form::DefaultText;
use crate::contract::spec::texts::{EnvName, Url};
use crate::contract::{OAuthGrant, OAuthTerms};

form! {
    /// The mapping `oauth` of a server.
    OAUTH: OAuthKeys, "oauth", "as what monolith comes to a server's authorization server" [reads OAuthTerms judged];
    "oauth": {
        grant: OAuthGrant => or_default, OAuthGrant = OAuthGrant::AuthorizationCode,
        "How tokens are got. `authorization_code`: by a person's `monolith mcp login`. `client_credentials`: with the secret or the private key. \
         `cross_app_access`: with an identity that its provider exchanges." => nullable;
        client_id: String, DefaultText = DefaultText("monolith registers itself"),
        "What monolith is called there. The address of a client's metadata document is one, where the authorization server takes such." => nullable;
        client_secret_env: EnvName, DefaultText = DefaultText("none"),
        "The variable with the client's secret." => nullable;
        private_key_env: EnvName, DefaultText = DefaultText("none"),
        "The variable with a private key in PEM (P-256, Ed25519 or RSA): it signs in place of a secret." => nullable, not_with(&["client_secret_env"]);
        issuer: Url, DefaultText = DefaultText("the one that the server names"),
        "The only authorization server that is taken. Name it where there is a secret: else the server decides where that goes." => nullable;
        scopes: Vec<String> => or_empty, DefaultText = DefaultText("those that the server wants"),
        "Scopes that are asked for beside those that the server wants.";
        id_token_env: EnvName, DefaultText = DefaultText("none"),
        "The variable with the identity token, for `cross_app_access`." => nullable;
        idp_client_id: String, DefaultText = DefaultText("none"),
        "What monolith is called at the identity provider, for `cross_app_access`." => nullable;
        idp_token_endpoint: Url, DefaultText = DefaultText("none"),
        "Where the identity provider exchanges tokens, for `cross_app_access`." => nullable;
    }
}
