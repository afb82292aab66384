use serde_json::{Value, json};
use serde_json_canonicalizer::to_string;

use super::damage::{Case, lines};

/// Applies `change` to the file's lines and recomputes every hash, as docs/audit/transcript-format.md says, like somebody who
/// owns all of it.
pub fn forged(bytes: &[u8], change: &dyn Fn(&mut Vec<Value>)) -> Vec<u8> {
    let mut lines: Vec<Value> = lines(bytes)
        .into_iter()
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    change(&mut lines);
    // A workflow names the hash of its definition in its first entry.
    let of_workflow = lines[1]["event"]["event"]["value"]["definition_hash"].clone();
    let of_contract = lines[0]["contract"]["contract_hash"].clone();
    let contract_hash = decoded(if of_workflow.is_string() {
        &of_workflow
    } else {
        &of_contract
    });
    let run_id = lines[0]["run_id"].as_str().unwrap().to_owned();
    let mut head = keyed("genesis", &[&contract_hash, run_id.as_bytes()]);
    for line in &mut lines[1..] {
        if line.get("blob").is_some() {
            continue;
        }
        let text = |key: &str| line["action"][key].as_str().unwrap_or_default().to_owned();
        let hashed = |key: &str| *blake3::hash(canonical(&line[key]).as_bytes()).as_bytes();
        head = keyed(
            "entry",
            &[
                &head,
                &contract_hash,
                text("to").as_bytes(),
                &hashed("action"),
                &hashed("event"),
                text("adapter_version").as_bytes(),
                text("model_profile_id").as_bytes(),
                text("model_fingerprint").as_bytes(),
            ],
        );
        line["hash"] = Value::from(blake3::Hash::from(head).to_string());
    }
    lines
        .iter()
        .flat_map(|line| format!("{}\n", canonical(line)).into_bytes())
        .collect()
}

fn canonical(value: &Value) -> String {
    to_string(value).unwrap()
}

fn decoded(hash: &Value) -> [u8; 32] {
    *blake3::Hash::from_hex(hash.as_str().unwrap())
        .unwrap()
        .as_bytes()
}

fn keyed(what: &str, fields: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(&format!("monolith transcript v1 {what}"));
    for field in fields {
        hasher.update(&(field.len() as u64).to_le_bytes());
        hasher.update(field);
    }
    *hasher.finalize().as_bytes()
}

/// Recomputes hash and id of the contract, and everything that repeats them.
pub fn rehash_contract(lines: &mut [Value]) {
    let contract = lines[0]["contract"].as_object_mut().unwrap();
    contract.remove("contract_hash");
    contract.remove("contract_id");
    let hash = |contract: &serde_json::Map<String, Value>| {
        let text = to_string(contract).unwrap();
        blake3::hash(text.as_bytes()).to_string()
    };
    let id = format!("c-{}", &hash(contract)[..16]);
    contract.insert("contract_id".to_owned(), Value::from(id));
    let hash = hash(contract);
    contract.insert("contract_hash".to_owned(), Value::from(hash.clone()));
    lines[1]["event"]["event"]["value"]["contract_hash"] = Value::from(hash);
}

/// Recomputes the pins of the contract.
fn repin(contract: &mut Value) {
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_string();
    let mut pins = std::collections::BTreeMap::<String, Vec<String>>::new();
    for tool in contract["tools"].as_array_mut().unwrap() {
        let origin = tool["origin"].as_str().unwrap().to_owned();
        let name = tool["name"].as_str().unwrap();
        let (server, name) = match origin.strip_prefix("mcp:") {
            Some(server) => (server, name.strip_prefix(&format!("{server}__")).unwrap()),
            None => (origin.as_str(), name),
        };
        let identity = json!({
            "annotations": tool["annotations"], "description": tool["description"],
            "inputSchema": tool["input_schema"], "name": name, "origin": origin,
        });
        let pin = hash(&canonical(&identity));
        pins.entry(server.to_owned()).or_default().push(pin.clone());
        tool["pin"] = json!(pin);
    }
    for (name, pins) in &mut pins {
        pins.sort();
        contract["servers"][name.as_str()]["pin"] = json!(hash(&pins.join("\n")));
    }
}

/// Contracts that hold, with numbers and keys that are easily written or sorted otherwise.
pub(super) fn unusual_contracts(bytes: &[u8]) -> Vec<Case> {
    let schemas = [
        json!({}),
        json!({"x": [1e21, 1e20, 1e-6, 1e-7, 1.5e-9, 0.1, 333_333_333.333_333_3, 5e-324, -2.5, 1.797_693_134_862_315_7e308]}),
        json!({"x": [9_007_199_254_740_992_u64, -1, 123_456_789_012_345_680_000.0, 4.5, 0]}),
        json!({"\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "\r": 4, "1": 5, "\u{80}": 6, "\u{f6}": 7}),
        json!({"x": "\u{0} \u{1f} \u{7f} \u{2028} \u{feff} \" \\ / \u{8} \u{c} \n \r \t \u{1f600}"}),
    ];
    let nested = |depth: usize| (0..depth).fold(json!(0), |inner, _| json!([inner]));
    // The line, the contract, its tools, one of them, its schema and this object make six levels.
    let deepest = [json!({"x": nested(122)}), json!({"x": nested(123)})];
    let cases = schemas
        .iter()
        .chain(&deepest)
        .enumerate()
        .map(|(n, schema)| {
            let bytes = forged(bytes, &|l| {
                l[0]["contract"]["tools"][0]["input_schema"]["x-more"] = schema.clone();
                repin(&mut l[0]["contract"]);
                rehash_contract(l);
            });
            Case::whole(&format!("contract with unusual values {n}"), bytes)
        });
    let mut cases: Vec<Case> = cases.collect();
    let too_deep = cases.last_mut().unwrap();
    (too_deep.holds, too_deep.line) = (false, Some(1));
    cases
}

/// Every change with the line in which it shows. The line of entry n is n + 2.
pub(super) fn cases(bytes: &[u8]) -> Vec<Case> {
    let count = lines(bytes).len();
    let entries = lines(bytes)
        .iter()
        .filter(|line| line.starts_with(b"{\"action\":"))
        .count();
    let seal = entries; // its index among the lines
    let mut cases = Vec::new();
    let mut put = |what: &str, line: u64, change: &dyn Fn(&mut Vec<Value>)| {
        let bytes = forged(bytes, change);
        cases.push(Case::damaged(format!("forged: {what}"), bytes, line));
    };
    let at = |index: usize| index as u64 + 1;

    put("header: another run", 2, &|l| {
        l[0]["run_id"] = json!("other");
    });
    put("header: run id", 1, &|l| l[0]["run_id"] = json!("Other"));
    put("header: format", 1, &|l| {
        l[0]["format"] = json!("monolith-transcript/2");
    });
    put("header: another key", 1, &|l| l[0]["note"] = json!(""));
    put("contract: format", 1, &|l| {
        l[0]["contract"]["format"] = json!("monolith-contract/2");
        rehash_contract(l);
    });
    put("contract: another term", 1, &|l| {
        l[0]["contract"]["max_turns"] = json!(1);
    });
    put("contract: what a pinned tool says of itself", 1, &|l| {
        l[0]["contract"]["tools"][0]["description"] = json!("Something else.");
        rehash_contract(l);
    });
    put("contract: the pin of a tool", 1, &|l| {
        l[0]["contract"]["tools"][0]["pin"] = json!("0".repeat(64));
        rehash_contract(l);
    });
    put("contract: the pin of a server", 1, &|l| {
        let servers = l[0]["contract"]["servers"].as_object_mut().unwrap();
        let server = servers
            .values_mut()
            .find(|server| server["available"] == true);
        server.unwrap()["pin"] = json!("0".repeat(64));
        rehash_contract(l);
    });
    put("contract: a tool of a server fewer", 1, &|l| {
        l[0]["contract"]["tools"].as_array_mut().unwrap().pop();
        rehash_contract(l);
    });
    put("contract: id", 1, &|l| {
        l[0]["contract"]["contract_id"] = json!("c-0000000000000000");
    });
    put("contract: not in event 0", 2, &|l| {
        let kept = l[1]["event"]["event"]["value"]["contract_hash"].clone();
        l[0]["contract"]["max_turns"] = json!(1);
        rehash_contract(l);
        l[1]["event"]["event"]["value"]["contract_hash"] = kept;
    });

    put("seq of a line", 4, &|l| l[3]["seq"] = json!(7));
    put("seq of an action", 4, &|l| l[3]["action"]["seq"] = json!(7));
    put("seq begins at 1", 2, &|l| {
        for line in l.iter_mut().filter(|line| line.get("seq").is_some()) {
            let seq = line["seq"].as_u64().unwrap() + 1;
            line["seq"] = json!(seq);
            line["action"]["seq"] = json!(seq);
        }
    });
    put("from", 4, &|l| l[3]["action"]["from"] = json!("OBSERVE"));
    put("from of entry 0", 2, &|l| {
        l[1]["action"]["from"] = json!("INFER");
    });
    put("to", 5, &|l| l[3]["action"]["to"] = json!("PRECHECK"));
    put("an unknown state", 4, &|l| {
        l[3]["action"]["to"] = json!("REST");
    });
    put("step_id falls", 5, &|l| {
        l[3]["action"]["step_id"] = json!(9);
    });
    put("a second start", 4, &|l| {
        l[3]["action"]["kind"] = json!("start");
    });
    put("no start", 2, &|l| l[1]["action"]["kind"] = json!("noted"));
    put("entry 0 is the seal", 2, &|l| {
        l[1]["action"]["kind"] = json!("seal");
    });
    put("event 0 is null", 2, &|l| l[1]["event"] = Value::Null);
    put("event 0 is another", 2, &|l| {
        l[1]["event"] = l[2]["event"].clone();
    });

    put("seal: too early", 4, &|l| {
        l[3]["action"]["kind"] = json!("seal");
        l[3]["action"]["length"] = json!(3);
    });
    put("seal: length", at(seal), &|l| {
        l[seal]["action"]["length"] = json!(entries + 1);
    });
    put("seal: no length", at(seal), &|l| {
        l[seal]["action"].as_object_mut().unwrap().remove("length");
    });
    put("seal: another outcome", at(seal), &|l| {
        l[seal]["action"]["outcome"] =
            json!({"class": "COMPLETED_CHAT_ONLY", "code": "final_message"});
    });
    put("seal: no outcome", at(seal), &|l| {
        l[seal]["action"].as_object_mut().unwrap().remove("outcome");
    });
    put("seal: to", at(seal), &|l| {
        l[seal]["action"]["to"] = json!("COMMIT");
    });
    put("seal: nothing was decided before it", at(seal), &|l| {
        let action = l[seal - 1]["action"].as_object_mut().unwrap();
        action.remove("outcome");
    });
    put(
        "seal: decided earlier, not in the entry before",
        at(seal),
        &|l| {
            let outcome = l[seal - 1]["action"]["outcome"].take();
            l[seal - 1]["action"]
                .as_object_mut()
                .unwrap()
                .remove("outcome");
            l[seal - 2]["action"]["outcome"] = outcome;
        },
    );
    put("seal: no outcome anywhere", at(seal), &|l| {
        for line in [seal - 1, seal] {
            l[line]["action"].as_object_mut().unwrap().remove("outcome");
        }
    });
    put("seal: not a seal", at(seal), &|l| {
        let action = l[seal]["action"].as_object_mut().unwrap();
        action["kind"] = json!("transition");
        action.remove("length");
    });
    put("seal: twice", at(seal + 1), &|l| {
        let mut again = l[seal].clone();
        again["seq"] = json!(entries);
        again["action"]["seq"] = json!(entries);
        again["action"]["length"] = json!(entries + 1);
        l.insert(seal + 1, again);
    });
    put("length elsewhere", 4, &|l| {
        l[3]["action"]["length"] = json!(3);
    });
    put("a seal without TERMINATE", at(seal), &|l| {
        l[seal - 1]["action"]["to"] = json!("COMMIT");
        l[seal]["action"]["from"] = json!("COMMIT");
    });
    put("TERMINATE without a seal", 5, &|l| {
        l[3]["action"]["to"] = json!("TERMINATE");
        l[4]["action"]["from"] = json!("TERMINATE");
    });

    put("a blob that nobody names", at(count - 1), &|l| {
        let hash = blake3::hash(b"hello").to_string();
        let last = l.len() - 1;
        l[last] = json!({"blob": hash, "bytes": "aGVsbG8="});
    });

    for key in ["attempt", "counters", "state_digest", "to", "kind"] {
        put(&format!("action without {key}"), 4, &|l| {
            l[3]["action"].as_object_mut().unwrap().remove(key);
        });
    }
    for key in ["inference", "request_hash", "usage", "result"] {
        put(&format!("inference_returned without {key}"), 4, &|l| {
            let event = &mut l[3]["event"]["event"];
            assert_eq!(event["kind"], "inference_returned");
            event["value"].as_object_mut().unwrap().remove(key);
        });
    }
    let strange: [(&str, Value); 9] = [
        ("/action/remark", json!("x")),
        ("/action/note", Value::Null),
        ("/action/effects", json!([])),
        ("/action/counters/remark", json!(1)),
        ("/event/remark", json!("x")),
        ("/event/event/remark", json!("x")),
        ("/event/event/value/remark", json!("x")),
        ("/event/event/value/usage/remark", json!(1)),
        (
            "/event/event/value/result/canonical_message/remark",
            json!(1),
        ),
    ];
    for (place, value) in strange {
        put(&format!("{place}: {value}"), 4, &|l| {
            let (object, key) = place.rsplit_once('/').unwrap();
            let object = l[3].pointer_mut(object).unwrap();
            object[key] = value.clone();
        });
    }
    let numbers = [json!(-1), json!(0.5), json!(9_007_199_254_740_992_u64)];
    for number in numbers {
        for place in ["/action/counters/turns", "/event/at_ms", "/seq"] {
            put(&format!("{place}: {number}"), 4, &|l| {
                *l[3].pointer_mut(place).unwrap() = number.clone();
            });
        }
    }
    put("an unknown kind of event", 4, &|l| {
        l[3]["event"]["event"]["kind"] = json!("model_dreamt");
    });
    cases
}

/// Replaces every value of the entries by one of another type, or leaves it out, and recomputes all hashes.
pub(super) fn retyped(name: &str, bytes: &[u8]) -> Vec<Case> {
    let parsed: Vec<Value> = lines(bytes)
        .into_iter()
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let mut cases = Vec::new();
    for (index, line) in parsed.iter().enumerate() {
        let mut pointers = Vec::new();
        for part in ["action", "event"] {
            if let Some(value) = line.get(part) {
                pointers_of(value, &format!("/{part}"), &mut pointers);
            }
        }
        for (turn, pointer) in pointers.into_iter().enumerate() {
            let old = line.pointer(&pointer).unwrap();
            let others = [
                json!(null),
                json!(true),
                json!(false),
                json!(1),
                json!(0.5),
                json!(-1),
                json!("x"),
                json!([]),
                json!([{}]),
                json!({}),
                json!({"kind": "probe"}),
                json!({"kind": "probe", "value": {}}),
            ];
            let differs =
                |other: &&Value| std::mem::discriminant(*other) != std::mem::discriminant(old);
            let others: Vec<&Value> = others.iter().filter(differs).collect();
            let other = others[turn % others.len()];
            let put = |lines: &mut Vec<Value>| {
                *lines[index].pointer_mut(&pointer).unwrap() = other.clone();
            };
            let what = format!("{name}: line {} {pointer} is {other}", index + 1);
            cases.push(Case::damaged(what, forged(bytes, &put), None));
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            if turn % 3 == 0
                && line.pointer(parent).is_some_and(Value::is_object)
                && !parent.is_empty()
            {
                let take = |lines: &mut Vec<Value>| {
                    let parent = lines[index].pointer_mut(parent).unwrap();
                    parent.as_object_mut().unwrap().remove(key);
                };
                let what = format!("{name}: line {} without {pointer}", index + 1);
                cases.push(Case::damaged(what, forged(bytes, &take), None));
            }
        }
    }
    cases
}

/// The place of every value in a value, in the form of RFC 6901; no key of ours needs an escape.
fn pointers_of(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers_of(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                pointers_of(member, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}
