//! Placeholders of the environment.

use super::*;

fn environment() -> Environment {
    Environment::new(|name| (name == "TOKEN").then(|| "s3cret".to_owned()))
}

#[test]
fn placeholders_are_replaced_and_other_text_is_kept() {
    let check = |text: &str, expect: &str| {
        let got = environment().expand(text, "tools.mcp.fs.env.X");
        assert_eq!(got.ok().as_deref(), Some(expect), "{text}");
    };
    check("Bearer ${TOKEN}", "Bearer s3cret");
    check("${TOKEN}${TOKEN}", "s3crets3cret");
    check("$TOKEN {TOKEN} $", "$TOKEN {TOKEN} $");
}

#[test]
fn only_named_variables_are_put_in_and_only_once() {
    let put_in = |variables: &[&str], text: &str| {
        let variables: Vec<String> = variables.iter().map(|v| (*v).to_owned()).collect();
        let environment = Environment::new(|name| match name {
            "A" => Some("${B}".to_owned()),
            "B" => Some("b".to_owned()),
            _ => None,
        });
        let got = environment.put_in(&variables, &[text.to_owned()], "tools.mcp.x.args");
        got.map(|texts| texts.concat())
            .map_err(|fault| fault.to_string())
    };
    let check = |variables: &[&str], text: &str, expect: &str| {
        assert_eq!(put_in(variables, text).as_deref(), Ok(expect), "{text}");
    };
    check(&["A", "B"], "--x=${A}${B}${C}", "--x=${B}b${C}");
    check(&["B"], "${A} ${ ${B", "${A} ${ ${B");
    check(&[], "${A}", "${A}");
    let missing = put_in(&["C"], "${C}").unwrap_err();
    assert!(missing.contains("variable C is not set"), "{missing}");
}

#[test]
fn what_cannot_be_replaced_names_its_place() {
    let missing = environment().expand("${NO}", "tools.mcp.fs.env.X");
    let text = missing.map_err(|fault| fault.to_string());
    assert_eq!(
        text,
        Err("tools.mcp.fs.env.X: the environment variable NO is not set".to_owned())
    );
    // An empty key would be sent as one that is no key.
    let empty = Environment::new(|_| Some(String::new()));
    let text = "Bearer ${INV_TOKEN}".to_owned();
    let place = "tools.rest.inv.headers.Authorization";
    let fault = empty.expand(&text, place).unwrap_err().to_string();
    let expected = format!("{place}: the environment variable INV_TOKEN is empty");
    assert_eq!(fault, expected);
    let named = ["INV_TOKEN".to_owned()];
    let fault = empty.put_in(&named, &[text], "tools.mcp.x.args");
    let expected = "tools.mcp.x.args: the environment variable INV_TOKEN is empty";
    assert_eq!(fault.unwrap_err().to_string(), expected);
    for broken in ["${", "${}", "${A B}", "x${TOKEN"] {
        let got = environment().expand(broken, "p");
        assert!(
            matches!(got, Err(DriverError::Placeholder { .. })),
            "{broken}"
        );
    }
}
