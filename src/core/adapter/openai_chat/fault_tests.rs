//! Synthetic errors of the dialect family: status and body in, class out.

use super::test_support::new_decoder;
use crate::adapter::{Decoded, ResponseMeta};
use crate::message::{Digest, Parameter, ProviderFault};

fn fault(status: u16, headers: &[(&str, &str)], body: &str) -> ProviderFault {
    let meta = ResponseMeta {
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        received_unix_ms: 784_111_777_000,
        status,
    };
    let mut decoder = new_decoder(meta);
    decoder.push(body.as_bytes());
    match decoder.finish() {
        Decoded::Fault { fault, usage: None } => fault,
        other => panic!("{other:?} for {status} {body}"),
    }
}

/// Faults P16: which requests would fail again.
#[test]
fn a_request_that_would_fail_again_is_a_permanent_fault() {
    let check = |status: u16, body: &str, expect: bool| {
        let fault = fault(status, &[], body);
        assert_eq!(fault.permanent, expect, "{status} {body}");
    };
    for status in [400, 403, 404, 405, 410, 415, 422, 451, 501] {
        check(status, "<html>not found</html>", true);
        check(
            status,
            r#"{"error":{"message":"unsupported parameter","type":"invalid_request_error"}}"#,
            true,
        );
    }
    for status in [401, 402, 408, 409, 413, 425, 429, 500, 502, 503, 504, 529] {
        check(status, "", false);
    }
    let code = |code: &str| format!(r#"{{"error":{{"message":"x","code":"{code}"}}}}"#);
    check(400, &code("tool_use_failed"), false);
    check(400, &code("json_validate_failed"), false);
    check(400, &code("context_length_exceeded"), false);
    check(404, &code("model_not_found"), false);
    check(
        200,
        r#"{"error":{"message":"bad request","code":400}}"#,
        true,
    );
}

#[test]
fn a_403_is_about_the_key_only_where_the_body_says_so() {
    let check = |body: &str, expect: &str| {
        let fault = fault(403, &[], body);
        assert_eq!(fault.class.as_str(), expect, "{body}");
        assert_eq!(fault.permanent, expect == "model", "{body}");
    };
    check(
        r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}"#,
        "model",
    );
    check(
        r#"{"error":{"code":403,"message":"The caller does not have permission","status":"PERMISSION_DENIED"}}"#,
        "model",
    );
    check("<html>Access denied</html>", "model");
    check(
        r#"{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}"#,
        "auth",
    );
    check(
        r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers","status":"PERMISSION_DENIED"}}"#,
        "auth",
    );
    check(
        r#"{"error":{"code":"invalid_api_key","message":"no"}}"#,
        "auth",
    );
}

#[test]
fn a_redirect_names_its_place_and_is_not_sent_again() {
    let headers = [("Location", "https://example.org/v1/")];
    let fault = fault(308, &headers, "");
    assert!(
        fault.message.contains("https://example.org/v1/"),
        "{}",
        fault.message
    );
    assert!(fault.permanent);
}

#[test]
fn a_redirect_shows_no_credentials_and_no_query_values() {
    let place = "https://u:hunter2@login.example/v1?api_key=abcdef123#token";
    let page = format!("<a href=\"{place}\">Moved</a>");
    let fault = fault(307, &[("location", place)], &page);
    assert_eq!(
        fault.message,
        "the server redirects to https://login.example/v1?api_key=[SECRET]; set base_url to where its API is"
    );
}

#[test]
fn a_refused_parameter_is_named_in_the_fault() {
    let check = |status: u16, body: &str, expect: &[Parameter]| {
        let streamed = format!("data: {body}\n\n");
        for body in [body, &streamed] {
            assert_eq!(
                fault(status, &[], body).parameters,
                expect,
                "{status} {body}"
            );
        }
    };
    let openai = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.7 with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#;
    check(400, openai, &[Parameter::Temperature]);
    check(500, openai, &[]);
    let mistral = r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]},"type":"invalid_request_error"}"#;
    check(422, mistral, &[Parameter::StreamOptions]);
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` and `top_p` cannot both be specified for this model."}}"#;
    check(400, anthropic, &[Parameter::Temperature, Parameter::TopP]);
    let gemini = r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field.","status":"INVALID_ARGUMENT"}}]"#;
    assert_eq!(fault(400, &[], gemini).parameters, [Parameter::Seed]);
    let state = [Parameter::ProviderState];
    let place = r#"{"error":{"message":"Bad request","param":"messages[1].status"}}"#;
    check(400, place, &state);
    check(404, place, &state);
    check(500, place, &[]);
    let code = r#"{"error":{"message":"no","code":"invalid_encrypted_content"}}"#;
    check(400, code, &state);
    let overflow =
        r#"{"error":{"message":"max_tokens must be less: maximum context length is 8192 tokens"}}"#;
    check(400, overflow, &[]);
}

/// 001/1.models.2
#[test]
fn status_and_body_give_the_class() {
    let check = |status: u16, body: &str, expect: &str| {
        let fault = fault(status, &[], body);
        assert_eq!(fault.class.as_str(), expect, "{status} {body}");
        assert_eq!(fault.status, Some(status));
        assert_eq!(fault.raw_hash, Some(Digest::of(body.as_bytes())));
        assert!(!fault.message.is_empty());
    };
    let error = |code: &str, kind: &str, message: &str| {
        format!(
            r#"{{"error":{{"code":{code},"type":"{kind}","message":"{message}","param":null}}}}"#
        )
    };
    // The status alone.
    for (status, expect) in [
        (400, "model"),
        (401, "auth"),
        (402, "quota"),
        (403, "model"),
        (404, "model"),
        (408, "timeout"),
        (413, "context_overflow"),
        (422, "model"),
        (429, "rate_limit"),
        (500, "model"),
        (502, "model"),
        (503, "model"),
        (504, "timeout"),
        (524, "timeout"),
        (529, "model"),
        (301, "invalid_response"),
    ] {
        for body in [
            "",
            "<html>bad gateway</html>",
            "{}",
            r#"{"error":{}}"#,
            r#"{"detail":"x"}"#,
        ] {
            check(status, body, expect);
        }
    }
    // OpenAI and Azure.
    check(
        429,
        &error(
            r#""insufficient_quota""#,
            "insufficient_quota",
            "You exceeded your current quota",
        ),
        "quota",
    );
    check(
        429,
        &error(r#""rate_limit_exceeded""#, "tokens", "Rate limit reached"),
        "rate_limit",
    );
    check(
        429,
        &error(r#""RateLimitReached""#, "", "Retry"),
        "rate_limit",
    );
    check(
        400,
        &error(
            r#""context_length_exceeded""#,
            "invalid_request_error",
            "too long",
        ),
        "context_overflow",
    );
    check(
        400,
        &error(
            "null",
            "invalid_request_error",
            "This model's maximum context length is 8192 tokens.",
        ),
        "context_overflow",
    );
    check(
        403,
        &error(r#""model_not_found""#, "invalid_request_error", "no access"),
        "model",
    );
    check(
        400,
        r#"{"error":{"code":"content_filter","message":"filtered","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
        "content_filter",
    );
    check(
        400,
        r#"{"error":{"code":null,"message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
        "content_filter",
    );
    check(
        400,
        &error(
            r#""content_policy_violation""#,
            "invalid_request_error",
            "rejected by the safety system",
        ),
        "refusal",
    );
    check(
        404,
        &error(r#""DeploymentNotFound""#, "", "no such deployment"),
        "model",
    );
    // OpenRouter.
    check(
        403,
        r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"]}}}"#,
        "content_filter",
    );
    check(
        402,
        r#"{"error":{"code":402,"message":"This request requires more credits"}}"#,
        "quota",
    );
    // llama.cpp, Groq, Gemini's dialect, Mistral, plain strings.
    check(
        400,
        &error(
            "400",
            "exceed_context_size_error",
            "request (2009 tokens) exceeds the available context size",
        ),
        "context_overflow",
    );
    check(
        500,
        &error(
            "500",
            "server_error",
            "the request exceeds the available context size. try increasing",
        ),
        "context_overflow",
    );
    check(
        400,
        &error(
            r#""tool_use_failed""#,
            "invalid_request_error",
            "Failed to call a function.",
        ),
        "model",
    );
    check(
        400,
        r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
        "auth",
    );
    check(
        429,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#,
        "rate_limit",
    );
    check(401, r#"{"detail":"Invalid API Key"}"#, "auth");
    check(
        400,
        r#"{"object":"error","message":"Prompt is too long","type":"invalid_request_error"}"#,
        "context_overflow",
    );
    check(400, r#"{"error":"Insufficient balance"}"#, "quota");
    check(
        400,
        "data: {\"error\":{\"code\":400,\"type\":\"exceed_context_size_error\",\"message\":\"x\"}}\n\n",
        "context_overflow",
    );
}

#[test]
fn an_error_in_a_successful_response_is_classified_by_its_own_code() {
    let check = |error: &str, expect: &str| {
        for body in [
            format!("{{\"error\":{error}}}"),
            format!("data: {{\"choices\":[]}}\n\ndata: {{\"error\":{error}}}\n\n"),
        ] {
            assert_eq!(fault(200, &[], &body).class.as_str(), expect, "{body}");
        }
    };
    check(
        r#"{"code":429,"message":"Provider returned error"}"#,
        "rate_limit",
    );
    check(r#"{"code":"401","message":"no"}"#, "auth");
    check(
        r#"{"status_code":400,"code":"tool_use_failed","message":"x"}"#,
        "model",
    );
    check(r#"{"code":"insufficient_quota","message":"x"}"#, "quota");
    check(r#"{"code":402,"message":"x"}"#, "quota");
    check(r#"{"code":504,"message":"x"}"#, "timeout");
    check(
        r#"{"message":"the prompt is too long"}"#,
        "context_overflow",
    );
    check(r#""it broke""#, "model");
    check(r#"{"code":99999999,"message":"x"}"#, "model");
}

#[test]
fn the_wait_that_a_provider_asks_for_comes_along() {
    let check = |name: &str, value: &str, expect: Option<u64>| {
        let fault = fault(429, &[("content-type", "x"), (name, value)], "{}");
        assert_eq!(fault.retry_after_ms, expect, "{name}: {value}");
    };
    check("Retry-After", "2", Some(2_000));
    check("retry-after-ms", "15", Some(15));
    check("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000));
    check("Retry-After", "-3", None);
    check("x-other", "2", None);
    let in_body = |body: &str, expect: Option<u64>| {
        let fault = fault(429, &[("retry-after", "soon")], body);
        assert_eq!(fault.retry_after_ms, expect, "{body}");
    };
    in_body(
        r#"{"error":{"message":"r","metadata":{"headers":{"Retry-After":"2","X-Other":"9"}}}}"#,
        Some(2_000),
    );
    in_body(
        r#"{"error":{"message":"r","retry_after":2.5}}"#,
        Some(2_500),
    );
    in_body(r#"{"error":"r","retry_after":"3s"}"#, Some(3_000));
    in_body(r#"{"message":"r","retry_after":4}"#, Some(4_000));
    in_body(
        r#"{"error":{"message":"r","details":[{"retryDelay":"1.5s"}]}}"#,
        Some(1_500),
    );
    in_body(r#"{"error":{"message":"Retry after 2"}}"#, Some(2_000));
    in_body(r#"{"error":{"message":"r","retry_after":null}}"#, None);
}

#[test]
fn a_message_for_people_names_code_and_upstream() {
    let check = |status: u16, body: &str, expect: &str| {
        assert_eq!(fault(status, &[], body).message, expect, "{body}");
    };
    check(
        400,
        r#"{"error":{"code":"Bad_Thing","message":"no"}}"#,
        "bad_thing: no",
    );
    check(502, "", "HTTP 502 without a message");
    check(503, "upstream down\n", "upstream down");
    check(
        429,
        r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"slow down"}}}"#,
        "Provider returned error: slow down",
    );
    let long = format!("{{\"error\":\"{}\"}}", "é".repeat(3_000));
    assert_eq!(fault(500, &[], &long).message.len(), 2_048);
}

#[test]
fn an_error_body_is_read_to_its_bound_and_hashed_whole() {
    let body = format!(
        "{{\"error\":{{\"message\":\"x\"}}}}{}",
        " ".repeat(2 * 1024 * 1024)
    );
    let fault = fault(500, &[], &body);
    assert_eq!(fault.message, "x");
    assert_eq!(fault.raw_hash, Some(Digest::of(body.as_bytes())));
}
