//! The keys of tools that are requests to web services, with types, defaults and meanings. Data only.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::contract::spec::declare::form;
use crate::contract::spec::form::FromLayer::{AsIs, Later, Located, Names};
use crate::contract::spec::form::{DefaultText, NEEDED};
use crate::contract::spec::texts::{Headers, Url};
use crate::contract::{HttpMethod, MOST_BODY_BYTES, MOST_REDIRECTS, PrivateNetwork, StreamTerms};
use crate::message::Digest;

form! {
    /// One entry of `tools.rest`.
    REST_TOOL: RestToolKeys, "rest-tool", "a tool that is a request to a web service" [pub(in crate::contract) struct RestEntry judged elsewhere];
    "rest-tool": {
        description: String, DefaultText = NEEDED,
        "What the model reads of the tool." => needed_somewhere, layers(AsIs);
        method: HttpMethod, DefaultText = NEEDED,
        "`GET`, `HEAD`, `OPTIONS`, `POST`, `PUT`, `PATCH` or `DELETE`. The first three are declared to change nothing, all others to change something." => needed_somewhere, layers(AsIs);
        url: String, DefaultText = NEEDED,
        "Its address. In path and query `${parameters.NAME}` stands for an argument, encoded." => needed_somewhere, layers(AsIs);
        headers: Headers as BTreeMap<String, String> => or_empty, DefaultText = DefaultText("none"),
        "Headers of the request. Values may hold `${NAME}`: secrets belong here." => layers(Later);
        parameters_schema: Value, DefaultText = DefaultText("no arguments"),
        "JSON Schema of the arguments, of `type: object`." => nullable, layer_name("parametersSchema"), layers(AsIs);
        body_template: Value, DefaultText = DefaultText("of a `POST`, `PUT` or `PATCH` the arguments that are not in the address"),
        "The body in JSON. A text that is `${parameters.NAME}` becomes the argument, whatever that is; what is not given is left out. With a \
         `Content-Type` of `headers` that is no JSON, a body that is a text is sent as it is." => nullable, layer_name("bodyTemplate"), layers(AsIs);
        streaming: StreamTerms, DefaultText = DefaultText("none"),
        "How the answer is read where it comes as a stream: an event of JSON on each line." => nullable, layers(AsIs);
        loopback: bool => or_default, bool = false,
        "Whether the service may be on this machine." => nullable, layers(AsIs);
        networks: Vec<PrivateNetwork> => or_empty, DefaultText = DefaultText("none"),
        "Networks that are not public and that the service may be in, such as `10.1.0.0/16`; at most 16. Else only what is public is asked." => nullable, layers(AsIs);
        max_bytes: u64 => or_default, u64 = 1_048_576,
        "Bytes of a body that are returned; the rest is left out. At most 16 MiB." => nullable, within((1, MOST_BODY_BYTES)), layer_name("maxBytes"), layers(AsIs);
        max_redirects: u32 => or_default, u32 = 5,
        "Redirects that are followed, of `GET` and `HEAD`, within scheme, host and port of the address; at most 20." => nullable, within((0, MOST_REDIRECTS)), layer_name("maxRedirects"), layers(AsIs);
        queue: String, DefaultText = DefaultText("`default`, where there are queues"),
        "The queue that its calls wait in." => nullable, layers(AsIs);
    }
}

form! {
    /// The mapping `streaming` of a tool.
    STREAMING: StreamingKeys, "streaming", "how a stream leads to an answer" [reads StreamTerms];
    "streaming": {
        line_prefix: String => or_empty, DefaultText = DefaultText("none"),
        "What lines with events begin with, such as `data: `; other lines are passed over." => layer_name("linePrefix"), layers(AsIs);
        discriminator_field: String => or_default, &'static str = "type",
        "The member that says which kind of event it is." => layer_name("discriminatorField"), layers(AsIs);
        token_value: String => or_default, &'static str = "token",
        "The kind of events with a piece of the answer." => layer_name("tokenValue"), layers(AsIs);
        token_field: String => or_default, &'static str = "content",
        "The member with that piece." => layer_name("tokenField"), layers(AsIs);
        done_value: String => or_default, &'static str = "done",
        "The kind of the last event. A line `[DONE]` ends the stream, too." => layer_name("doneValue"), layers(AsIs);
        answer_field: String => or_default, &'static str = "answer",
        "The member of the last event with the whole answer; without it the pieces are the answer." => layer_name("answerField"), layers(AsIs);
    }
}

form! {
    /// One entry of `tools.openapi`.
    OPENAPI: OpenapiKeys, "openapi", "the operations of a web service as tools" [pub(in crate::contract) struct OpenapiEntry judged elsewhere];
    "openapi": {
        spec: String, DefaultText = NEEDED,
        "The description, OpenAPI 3.0 or 3.1 in JSON or YAML: a file, from the folder of the contract file, or an address." => needed_somewhere, layers(Located);
        base_url: Url as String, DefaultText = DefaultText("what the description says; needed with `headers`"),
        "The address of the service." => nullable, layer_name("baseUrl"), layers(AsIs);
        headers: Headers as BTreeMap<String, String> => or_empty, DefaultText = DefaultText("none"),
        "Headers of every request to the service. Values may hold `${NAME}`. A parameter of that name is no argument." => layers(Later);
        include_methods: Vec<HttpMethod> => or_empty, DefaultText = DefaultText("all"),
        "The methods of operations that are taken." => nullable, layer_name("includeMethods"), layers(AsIs);
        tags: Vec<String> => or_empty, DefaultText = DefaultText("all"),
        "Operations with one of these tags are taken." => nullable, layer_name("tagFilter"), layers(AsIs);
        tools_allowed: Vec<String>, DefaultText = DefaultText("all"),
        "The operations that the contract takes, by the names that they have behind `rest__<name>_`. Case does not count; `*` and `any` mean every one." => nullable, layer_name("toolsAllowed"), layers(Names);
        tools_denied: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "The operations that it does not take, whatever `tools_allowed` says." => nullable, layer_name("toolsDenied"), layers(Names);
        loopback: bool => or_default, bool = false,
        "Whether the service, and an address of `spec`, may be on this machine." => nullable, layers(AsIs);
        networks: Vec<PrivateNetwork> => or_empty, DefaultText = DefaultText("none"),
        "Networks that are not public and that the service, and an address of `spec`, may be in, such as `10.1.0.0/16`; at most 16. Else only what is public is asked." => nullable, layers(AsIs);
        max_bytes: u64 => or_default, u64 = 1_048_576,
        "Bytes of a body that are returned; the rest is left out. At most 16 MiB." => nullable, within((1, MOST_BODY_BYTES)), layer_name("maxBytes"), layers(AsIs);
        max_redirects: u32 => or_default, u32 = 5,
        "Redirects that are followed, of `GET` and `HEAD`, within scheme, host and port; at most 20." => nullable, within((0, MOST_REDIRECTS)), layer_name("maxRedirects"), layers(AsIs);
        pin: Digest, DefaultText = DefaultText("none"),
        "The hash that its tools must have together; `monolith contract pin` writes it. Other tools, or requests that go elsewhere, than at the pin: \
         `FAILED_PREFLIGHT(tool_changed)`." => nullable, layers(AsIs);
        queue: String, DefaultText = DefaultText("`default`, where there are queues"),
        "The queue that its calls wait in." => nullable, layers(AsIs);
    }
}
