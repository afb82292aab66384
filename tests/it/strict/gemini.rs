//! Google's own protocol: the rules of Gemini 3.

use serde_json::{Value, json};

use super::chat::{halves, is_name, keys, list, reasoning, signed, text};
use super::script::Said;
use super::server::{Answer, Asked, Given};

/// Members of a request, <https://ai.google.dev/api/generate-content>.
const BODY: &str = "cachedContent contents generationConfig safetySettings serviceTier store systemInstruction toolConfig tools";
const CONFIG: &str = "candidateCount enableEnhancedCivicAnswers frequencyPenalty imageConfig logprobs maxOutputTokens mediaResolution \
    presencePenalty responseJsonSchema responseLogprobs responseMimeType responseModalities responseSchema seed speechConfig \
    stopSequences temperature thinkingConfig topK topP _responseJsonSchema";
/// Members of a schema in `parameters`, <https://ai.google.dev/api/caching#Schema>.
const SCHEMA: &str = "anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems minLength \
    minProperties minimum nullable pattern properties propertyOrdering required title type";

fn refused(message: impl Into<String>) -> Answer {
    let error = json!({"code": 400, "message": message.into(), "status": "INVALID_ARGUMENT"});
    Answer::json(400, &json!({"error": error}))
}

/// https://github.com/openswarm-ai/openswarm/issues/24
fn unknown(value: &Value, known: &str, place: &str) -> Result<(), Answer> {
    let Some(key) = keys(value).find(|key| !known.split_whitespace().any(|known| known == *key))
    else {
        return Ok(());
    };
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" at '{place}'")
    };
    Err(refused(format!(
        "Invalid JSON payload received. Unknown name \"{key}\"{place}: Cannot find field."
    )))
}

/// The names of members as this file has them: the protocol takes both forms (<https://protobuf.dev/programming-guides/json>). Texts of
/// the model and of tools stay as they are.
fn camel(value: &Value) -> Value {
    const AS_THEY_ARE: [&str; 4] = ["args", "parameters", "parametersJsonSchema", "response"];
    let name = |key: &str| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| {
            let (initial, rest) = word.split_at(word.len().min(1));
            name + &initial.to_uppercase() + rest
        })
    };
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                let key = if key.starts_with('_') {
                    key.clone()
                } else {
                    name(key)
                };
                let value = if AS_THEY_ARE.contains(&key.as_str()) {
                    value.clone()
                } else {
                    camel(value)
                };
                (key, value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(camel).collect()),
        _ => value.clone(),
    }
}

pub fn judge(path: &str, body: &Value, given: &Given) -> Result<Asked, Answer> {
    let method = path
        .strip_prefix("/v1beta/models/")
        .and_then(|rest| rest.split_once(':'));
    let Some((_, method @ ("generateContent" | "streamGenerateContent?alt=sse"))) = method else {
        return Err(Answer::json(
            404,
            &json!({"error": {"code": 404, "message": "", "status": "NOT_FOUND"}}),
        ));
    };
    let body = &camel(body);
    unknown(body, BODY, "")?;
    let config = &body["generationConfig"];
    unknown(config, CONFIG, "generation_config")?;
    // https://ai.google.dev/gemini-api/docs/gemini-3: one of the two.
    let thinking = &config["thinkingConfig"];
    if !thinking["thinkingBudget"].is_null() && !thinking["thinkingLevel"].is_null() {
        return Err(refused(
            "You can only set only one of thinking budget and thinking level.",
        ));
    }
    let tools = tools(body)?;
    let contents = list(body, "contents");
    let called = turns(contents)?;
    signatures(contents, given)?;
    Ok(Asked {
        streamed: method != "generateContent",
        tools,
        rounds: called.len(),
        calls: called.iter().map(|content| calls(content).count()).sum(),
        reasons: true,
        lost: called
            .iter()
            .filter_map(|content| lost(content, given))
            .collect(),
    })
}

fn calls(content: &Value) -> impl Iterator<Item = &Value> {
    list(content, "parts")
        .iter()
        .filter(|part| part["functionCall"].is_object())
}

fn answers(content: &Value) -> impl Iterator<Item = &Value> {
    list(content, "parts")
        .iter()
        .filter(|part| part["functionResponse"].is_object())
}

/// A message that the server gave and that the request changed: a signature or an id of a part.
fn lost(content: &Value, given: &Given) -> Option<String> {
    let first = text(&calls(content).next()?["functionCall"], "id");
    let own = given.messages.get(first)?;
    let state = |content: &Value| -> Vec<Value> {
        let parts = list(content, "parts")
            .iter()
            .filter(|part| part["thought"] != true);
        parts
            .map(|part| json!([part["thoughtSignature"], part["functionCall"]["id"]]))
            .collect()
    };
    (state(own) != state(content)).then(|| format!("parts of {first}: gave {own}, got {content}"))
}

fn tools(body: &Value) -> Result<Vec<String>, Answer> {
    let mut names = Vec::new();
    let declared = list(body, "tools")
        .iter()
        .flat_map(|tool| list(tool, "functionDeclarations"));
    for (at, function) in declared.enumerate() {
        let name = text(function, "name");
        // https://github.com/google-gemini/gemini-cli/issues/7878
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !begins || !is_name(name, "_-.:", 64) {
            return Err(refused(format!(
                "* GenerateContentRequest.tools[0].function_declarations[{at}].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
            )));
        }
        schema(
            &function["parameters"],
            &format!("tools[0].function_declarations[{at}].parameters"),
        )?;
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The schema of `parameters`; `parametersJsonSchema` takes any.
fn schema(value: &Value, place: &str) -> Result<(), Answer> {
    if value.is_null() {
        return Ok(());
    }
    unknown(value, SCHEMA, place)?;
    // https://github.com/zed-industries/zed/issues/53919
    if value["type"].is_array() {
        return Err(refused(format!(
            "Invalid JSON payload received. Unknown name \"type\" at '{place}': Proto field is not repeating, cannot start list."
        )));
    }
    let properties = value["properties"].as_object().into_iter().flatten();
    for (at, (_, property)) in properties.enumerate() {
        schema(property, &format!("{place}.properties[{at}].value"))?;
    }
    for (at, one) in list(value, "anyOf").iter().enumerate() {
        schema(one, &format!("{place}.any_of[{at}]"))?;
    }
    schema(&value["items"], &format!("{place}.items"))
}

/// The order of turns; the turns of the model with calls.
fn turns(contents: &[Value]) -> Result<Vec<&Value>, Answer> {
    if contents.is_empty() {
        return Err(refused(
            "* GenerateContentRequest.contents: contents is not specified\n",
        ));
    }
    let mut called = Vec::new();
    let mut open = 0;
    let mut last = "";
    for (at, content) in contents.iter().enumerate() {
        let role = text(content, "role");
        if !["user", "model"].contains(&role) {
            return Err(refused("Please use a valid role: user, model."));
        }
        if list(content, "parts").is_empty() {
            return Err(refused(format!(
                "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"
            )));
        }
        let (asks, answered) = (calls(content).count(), answers(content).count());
        // https://github.com/google-gemini/gemini-cli/issues/4217
        if answered != open {
            return Err(refused(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
            ));
        }
        // https://ai.google.dev/gemini-api/docs/function-calling
        if asks > 0 && last != "user" {
            return Err(refused(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            ));
        }
        if asks > 0 {
            called.push(content);
        }
        (open, last) = (asks, role);
    }
    if open > 0 {
        return Err(refused(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        ));
    }
    Ok(called)
}

/// https://ai.google.dev/gemini-api/docs/thought-signatures: the first call of each step of the current turn, which begins with the last
/// text of the user.
fn signatures(contents: &[Value], given: &Given) -> Result<(), Answer> {
    let is_question = |content: &Value| {
        content["role"] == "user"
            && list(content, "parts")
                .iter()
                .any(|part| part["text"].is_string())
    };
    let turn = contents.iter().rposition(is_question).unwrap_or(0);
    for (at, content) in contents.iter().enumerate() {
        for part in list(content, "parts")
            .iter()
            .filter(|part| !part["thoughtSignature"].is_null())
        {
            signed(text(part, "thoughtSignature"), "", at + 1, given).map_err(refused)?;
        }
        if let Some(first) = calls(content).next().filter(|_| at >= turn) {
            let (signature, name) = (
                text(first, "thoughtSignature"),
                text(&first["functionCall"], "name"),
            );
            signed(signature, name, at + 1, given).map_err(refused)?;
        }
    }
    Ok(())
}

pub fn said(said: &Said, asked: &Asked, given: &mut Given) -> Answer {
    let mut parts = Vec::new();
    let mut finish = "STOP";
    parts.push(json!({"text": reasoning(asked.rounds), "thought": true}));
    match said {
        Said::Message(words, calls) => {
            if !words.is_empty() {
                parts.push(json!({"text": words}));
            }
            for (at, (name, args)) in calls.iter().enumerate() {
                // Every second round has ids that look like those that a client makes up.
                let id = match asked.rounds % 2 {
                    0 => given.id(8, asked.rounds, at).to_lowercase(),
                    _ => format!("call_{}", asked.calls + at),
                };
                let mut part =
                    json!({"functionCall": {"id": id, "name": asked.tool(name), "args": args}});
                // Of parallel calls only the first is signed.
                if at == 0 {
                    part["thoughtSignature"] = json!(given.sign(&id));
                }
                parts.push(part);
            }
            // A signature may stand on a text, too.
            if calls.is_empty() {
                let at = parts.len() - 1;
                parts[at]["thoughtSignature"] = json!(given.sign(words));
            }
        }
        Said::Malformed(_) => finish = "MALFORMED_FUNCTION_CALL",
        Said::Fault(_) => {}
    }
    let content = json!({"role": "model", "parts": parts});
    if let Some(first) = calls(&content).next() {
        given.messages.insert(
            text(&first["functionCall"], "id").to_owned(),
            content.clone(),
        );
    }
    let usage =
        json!({"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120});
    let chunk = |parts: Vec<Value>, finish: Option<&str>| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro-preview", "responseId": "strict"})
    };
    if !asked.streamed {
        return Answer::json(200, &chunk(parts, Some(finish)));
    }
    let mut chunks = Vec::new();
    for part in parts {
        let words = text(&part, "text").to_owned();
        if words.is_empty() {
            chunks.push(chunk(vec![part], None));
            continue;
        }
        for (at, piece) in halves(&words).into_iter().enumerate() {
            let mut piece_of = part.clone();
            piece_of["text"] = json!(piece);
            if at == 0 {
                piece_of
                    .as_object_mut()
                    .map(|part| part.remove("thoughtSignature"));
            }
            chunks.push(chunk(vec![piece_of], None));
        }
    }
    chunks.push(chunk(vec![json!({"text": ""})], Some(finish)));
    Answer::events(chunks.iter().map(|chunk| (None, chunk.to_string())))
}
