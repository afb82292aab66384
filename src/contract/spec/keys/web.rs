//! The keys of tools that are requests to web services, with types, defaults and meanings. Data only.

use crate::contract::spec::form::{DefaultText, NEEDED, form};
use crate::contract::spec::texts::Headers;
use crate::contract::{HttpMethod, StreamTerms};
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
        "The body in JSON. A text that is `${parameters.NAME}` becomes the argument, whatever that is; what is not given is left out." => nullable;
        streaming: StreamTerms, DefaultText = DefaultText("none"),
        "How the answer is read where it comes as a stream: an event of JSON on each line." => nullable;
        loopback: bool, bool = false,
        "Whether the service may be on this machine. No other address that is not public is ever asked." => nullable;
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
