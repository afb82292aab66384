//! Keys that several processes make and replace at the same time: from outside.

use std::process::{Child, Stdio};

use monolith_core::transcript::KeyRing;

use crate::fixture::{Fixture, Left, says};

/// So many processes at once.
const AT_ONCE: usize = 6;

impl Fixture {
    fn begin_key(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Returns the results of these commands, all begun at once.
    fn at_once(&self, commands: &[&[&str]]) -> Vec<Left> {
        let children: Vec<Child> = commands.iter().map(|args| self.begin_key(args)).collect();
        let left = children.into_iter().map(Child::wait_with_output);
        left.map(|left| left.unwrap().into()).collect()
    }

    /// The key that signs now.
    fn signing(&self, name: &str) -> String {
        self.ok(&["key", "show", name]).trim().to_owned()
    }

    /// The keys of a file of public keys: the first, and what each took the place of and was replaced by.
    fn line_of_keys(&self, name: &str) -> (Vec<String>, Vec<(String, String)>) {
        let text = self.read(&format!("home/keys/{name}.pub"));
        KeyRing::default().read(&text).unwrap();
        let after = |start: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(start));
            lines.map(str::to_owned).collect()
        };
        let plain = text.lines().filter(|line| line.starts_with(name));
        let rotations = after("from ").into_iter().zip(after("to "));
        (plain.map(str::to_owned).collect(), rotations.collect())
    }
}

/// Each rotation replaces the key that the one before it made: none is printed, published and then lost.
#[test]
fn rotations_at_once_replace_one_key_after_the_other() {
    let fixture = Fixture::new();
    let first = fixture.ok(&["key", "generate"]).trim().to_owned();
    for _ in 0..4 {
        let rotate: &[&str] = &["key", "rotate"];
        let mut printed = Vec::new();
        for left in fixture.at_once(&[rotate; AT_ONCE]) {
            assert_eq!(left.code, 0, "{}", left.printed());
            printed.push(left.out.lines().next().unwrap().to_owned());
        }
        assert!(printed.contains(&fixture.signing("local")));
    }
    let (plain, rotations) = fixture.line_of_keys("local");
    assert_eq!(plain, std::slice::from_ref(&first));
    assert_eq!(rotations.len(), 4 * AT_ONCE);
    let mut signing = first;
    for (from, to) in rotations {
        assert_eq!(from, signing);
        signing = to;
    }
    assert_eq!(signing, fixture.signing("local"));
    let named = std::fs::read_dir(fixture.path("home/keys")).unwrap();
    let named = named.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut named: Vec<String> = named.collect();
    named.sort();
    assert_eq!(
        named,
        ["_lock", "local.key", "local.pub"],
        "nothing is left over"
    );
}

/// The process that makes the key and the one that replaces it come one after the other.
#[test]
fn a_key_that_is_made_and_replaced_at_once_is_made_first() {
    for round in 0..8 {
        let fixture = Fixture::new();
        fixture.script("tool_policy: optional\n", &[&says("done")]);
        let commands: [&[&str]; AT_ONCE] = [
            &["key", "generate"],
            &["key", "rotate"],
            &["key", "rotate"],
            &["run", "c.yaml"],
            &["key", "rotate"],
            &["key", "generate"],
        ];
        let left = fixture.at_once(&commands);
        let made = left.iter().zip(commands);
        let made = made.filter(|(left, args)| left.code == 0 && args[1] == "generate");
        assert!(made.count() <= 1, "round {round}");
        let (plain, rotations) = fixture.line_of_keys("local");
        assert_eq!(plain.len(), 1, "round {round}: {plain:?}");
        let mut signing = plain[0].clone();
        for (from, to) in rotations {
            assert_eq!(from, signing, "round {round}");
            signing = to;
        }
        assert_eq!(signing, fixture.signing("local"), "round {round}");
    }
}
