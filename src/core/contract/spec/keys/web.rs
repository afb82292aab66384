//! The keys of tools that are requests to web services, with types, defaults and meanings. Data only.

use crate::contract::spec::form::{DefaultText, NEEDED, form};
use crate::contract::spec::texts::{Headers, Url};
use crate::contract::{HttpMethod, PrivateNetwork, StreamTerms};
use crate::message::Digest;
use serde_json::Value;

form! {
    /// One entry of `tools.rest`.
    REST_TOOL: RestToolKeys, "rest-tool", "a tool that is a request to a web service";
    "rest-tool": {
        description: String, DefaultText = NEEDED,
        "What the model reads of the tool." => needed_somewhere;
        method: HttpMethod, DefaultText = NEEDED,
        "`GET`, `HEAD`, `OPTIONS`, `POST`, `PUT`, `PATCH` or `DELETE`. The first three are declared to change nothing, all others to change something." => needed_somewhere;
        url: String, DefaultText = NEEDED,
        "Its address. In path and query `${parameters.NAME}` stands for an argument, encoded." => needed_somewhere;
        headers: Headers, DefaultText = DefaultText("none"),
        "Headers of the request. Values may hold `${NAME}`: secrets belong here.";
        parameters_schema: Value, DefaultText = DefaultText("no arguments"),
        "JSON Schema of the arguments, of `type: object`." => nullable;
        body_template: Value, DefaultText = DefaultText("of a `POST`, `PUT` or `PATCH` the arguments that are not in the address"),
        "The body in JSON. A text that is `${parameters.NAME}` becomes the argument, whatever that is; what is not given is left out. With a \
         `Content-Type` of `headers` that is no JSON, a body that is a text is sent as it is." => nullable;
        streaming: StreamTerms, DefaultText = DefaultText("none"),
        "How the answer is read where it comes as a stream: an event of JSON on each line." => nullable;
        loopback: bool, bool = false,
        "Whether the service may be on this machine." => nullable;
        networks: Vec<PrivateNetwork>, DefaultText = DefaultText("none"),
        "Networks that are not public and that the service may be in, such as `10.1.0.0/16`; at most 16. Else only what is public is asked." => nullable;
        max_bytes: u64, u64 = 1_048_576,
        "Bytes of a body that are returned; the rest is left out. At most 16 MiB." => nullable;
        max_redirects: u32, u32 = 5,
        "Redirects that are followed, of `GET` and `HEAD`, within scheme, host and port of the address; at most 20." => nullable;
        queue: String, DefaultText = DefaultText("`default`, where there are queues"),
        "The queue that its calls wait in." => nullable;
    }
}

form! {
    /// The mapping `streaming` of a tool.
    STREAMING: StreamingKeys, "streaming", "how a stream leads to an answer";
    "streaming": {
        line_prefix: String, DefaultText = DefaultText("none"),
        "What lines with events begin with, such as `data: `; other lines are passed over.";
        discriminator_field: String, &'static str = "type",
        "The member that says which kind of event it is.";
        token_value: String, &'static str = "token",
        "The kind of events with a piece of the answer.";
        token_field: String, &'static str = "content",
        "The member with that piece.";
        done_value: String, &'static str = "done",
        "The kind of the last event. A line `[DONE]` ends the stream, too.";
        answer_field: String, &'static str = "answer",
        "The member of the last event with the whole answer; without it the pieces are the answer.";
    }
}

form! {
    /// One entry of `tools.openapi`.
    OPENAPI: OpenapiKeys, "openapi", "the operations of a web service as tools";
    "openapi": {
        spec: String, DefaultText = NEEDED,
        "The description, OpenAPI 3.0 or 3.1 in JSON or YAML: a file, from the folder of the contract file, or an address." => needed_somewhere;
        base_url: Url, DefaultText = DefaultText("what the description says; needed with `headers`"),
        "The address of the service." => nullable;
        headers: Headers, DefaultText = DefaultText("none"),
        "Headers of every request to the service. Values may hold `${NAME}`. A parameter of that name is no argument.";
        include_methods: Vec<HttpMethod>, DefaultText = DefaultText("all"),
        "The methods of operations that are taken." => nullable;
        tags: Vec<String>, DefaultText = DefaultText("all"),
        "Operations with one of these tags are taken." => nullable;
        tools_allowed: Vec<String>, DefaultText = DefaultText("all"),
        "The operations that the contract takes, by the names that they have behind `rest__<name>_`. Case does not count; `*` and `any` mean every one." => nullable;
        tools_denied: Vec<String>, DefaultText = DefaultText("none"),
        "The operations that it does not take, whatever `tools_allowed` says." => nullable;
        loopback: bool, bool = false,
        "Whether the service, and an address of `spec`, may be on this machine." => nullable;
        networks: Vec<PrivateNetwork>, DefaultText = DefaultText("none"),
        "Networks that are not public and that the service, and an address of `spec`, may be in, such as `10.1.0.0/16`; at most 16. Else only what is public is asked." => nullable;
        max_bytes: u64, u64 = 1_048_576,
        "Bytes of a body that are returned; the rest is left out. At most 16 MiB." => nullable;
        max_redirects: u32, u32 = 5,
        "Redirects that are followed, of `GET` and `HEAD`, within scheme, host and port; at most 20." => nullable;
        pin: Digest, DefaultText = DefaultText("none"),
        "The hash that its tools must have together; `monolith contract pin` writes it. Other tools, or requests that go elsewhere, than at the pin: \
         `FAILED_PREFLIGHT(tool_changed)`." => nullable;
        queue: String, DefaultText = DefaultText("`default`, where there are queues"),
        "The queue that its calls wait in." => nullable;
    }
}
