//! Text written for a model reads back as its original.

use proptest::prelude::*;

use super::encoder::assistant_text;
use super::read::{Reading, read};
use super::tagged_calls::ReadOptions;
use crate::adapter::fixture::marked_text;
use crate::adapter::fold::Rules;
use crate::adapter::marks::CONTROL;
use crate::adapter::parameter_types::ParameterTypes;
use crate::contract::TextProfile;
use crate::message::{FailureCode, ObjectText, ToolInvocation};

/// The text of any JSON object, with white space and forms of numbers and strings that a parser would lose.
fn arguments() -> impl Strategy<Value = ObjectText> {
    let leaf = prop_oneof![
        marked_text().prop_map(|text| serde_json::Value::from(text).to_string()),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(|n| format!("{n:e}")),
        proptest::sample::select(
            [
                "null",
                "true",
                "1.0",
                "-0",
                "1E2",
                "\"\\u003c\\/tool_call>\"",
                "[ ]",
                "12345678901234567890123"
            ]
            .as_slice()
        )
        .prop_map(str::to_owned),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(" ,"))),
            proptest::collection::btree_map(marked_text(), inner, 0..4).prop_map(object),
        ]
    });
    proptest::collection::btree_map(marked_text(), value, 0..4)
        .prop_map(|map| ObjectText::parse(object(map)).unwrap())
}

fn object(map: std::collections::BTreeMap<String, String>) -> String {
    let members: Vec<String> = map
        .into_iter()
        .map(|(key, value)| format!("{} :\t{value}", serde_json::Value::from(key)))
        .collect();
    format!("{{ {}\n}}", members.join(","))
}

fn calls() -> impl Strategy<Value = Vec<ToolInvocation>> {
    let call = ("[a-zA-Z0-9_-]{1,64}", arguments());
    proptest::collection::vec(call, 0..4).prop_map(|calls| {
        let numbered = (1..).zip(calls);
        numbered
            .map(|(n, (name, arguments))| ToolInvocation {
                arguments,
                id: format!("call_{n}"),
                name,
                fault: None,
                raw_payload: None,
                source_model: "m".to_owned(),
            })
            .collect()
    })
}

fn read_as(profile: TextProfile, text: &str) -> Result<Reading, FailureCode> {
    let options = ReadOptions {
        profile,
        rules: Rules::default(),
        types: &ParameterTypes::default(),
    };
    read(text, "m", &options)
}

proptest! {
    #[test]
    fn calls_and_text_come_back_bit_for_bit(text in marked_text(), calls in calls()) {
        for profile in TextProfile::ALL {
            let written = assistant_text(profile, &text, &calls);
            let reading = read_as(profile, &written);
            prop_assert!(reading.is_ok(), "{profile:?} {reading:?}\n{written}");
            let reading = reading.unwrap();
            // Control tokens in arguments are written in another form of the same value.
            let mut expect = calls.clone();
            for call in &mut expect {
                let safe = CONTROL.in_json(call.arguments.as_str());
                call.arguments = ObjectText::parse(safe).unwrap();
            }
            prop_assert_eq!(&reading.calls, &expect);
            // Only white space before a call is not kept.
            let expect = if calls.is_empty() { text.as_str() } else { text.trim_end() };
            prop_assert_eq!(reading.content.as_str(), expect);
            prop_assert!(reading.repair.is_none() && reading.reasoning.is_none());
        }
    }

    #[test]
    fn no_text_panics_and_a_repaired_text_needs_no_repair(text in marked_text()) {
        for profile in TextProfile::ALL {
            let Ok(reading) = read_as(profile, &text) else { continue };
            if let Some(repair) = reading.repair {
                prop_assert_eq!(&repair.original, &text);
                let again = read_as(profile, &repair.repaired).unwrap();
                prop_assert!(again.repair.is_none());
                prop_assert_eq!(again.calls, reading.calls);
                prop_assert_eq!(again.content, reading.content);
            }
        }
    }
}
