//! The replay of a success: the script that repeats it, and the first path that differs. Runs nothing.

use super::{Manifest, Receipt, WorkPath};
use crate::message::escaped_line;

/// The text of `replay-ID.sh` (004 "Idempotent Replay"). `command` restores the tree before into a new folder, runs the item again from
/// its recorded answers, and prints the tree hash as its last line.
#[must_use]
pub fn replay_script(receipt: &Receipt, command: &[String]) -> String {
    let item = escaped_line(&receipt.item.id);
    let (before, after) = (receipt.before, receipt.after);
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let command = words.join(" ");
    format!(
        r#"#!/usr/bin/env bash
# replay-{item}.sh
# Deterministic replay of the work item {item}, receipt {id}

set -euo pipefail

# 1. Restore the tree {before} into a new folder
# 2. Run the agent again from its recorded answers, with the real file tools
ACTUAL_HASH="$({command} | tail -n 1)" || true

# 3. Verify the output hash
EXPECTED_HASH="{after}"
echo "expected: $EXPECTED_HASH"
echo "actual:   $ACTUAL_HASH"

if [ "$ACTUAL_HASH" != "$EXPECTED_HASH" ]; then
  echo "ERROR: Hash mismatch"
  exit 1
fi

echo "✅ Replay successful: hash verified"
"#,
        id = receipt.id(),
    )
}

/// The first path, in order of its bytes, that differs between the recorded and the replayed tree.
#[must_use]
pub fn first_difference(expected: &Manifest, actual: &Manifest) -> Option<WorkPath> {
    let mut changes = expected.changes_to(actual).into_iter();
    changes.next().map(|change| change.path)
}

/// A word that a shell reads as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::super::TreeNode;
    use super::super::testing::*;
    use super::*;

    fn script(command: &[&str]) -> String {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        replay_script(&receipt(item(), success()), &command)
    }

    /// 004/6.replay.2, 004/6.replay.4, 004/6.replay.5
    #[test]
    fn the_script_compares_the_hash_of_the_replay_with_the_recorded_one() {
        let script = script(&["monolith", "work", "replay", "R"]);
        let line = "ACTUAL_HASH=\"$('monolith' 'work' 'replay' 'R' | tail -n 1)\"";
        for part in [
            "#!/usr/bin/env bash\n# replay-w.sh\n",
            "\nset -euo pipefail\n",
            line,
            &format!("\nEXPECTED_HASH=\"{}\"\n", digest("after")),
            "\n  echo \"ERROR: Hash mismatch\"\n  exit 1\n",
            "\necho \"✅ Replay successful: hash verified\"\n",
        ] {
            assert!(script.contains(part), "{part}\n{script}");
        }
    }

    #[test]
    fn words_and_ids_stay_words_and_ids() {
        assert_eq!(quoted("it's $(x)"), r"'it'\''s $(x)'");
        let mut receipt = receipt(item(), success());
        receipt.item.id = "w\nrm x".to_owned();
        let script = replay_script(&receipt, &[]);
        assert!(
            !script.lines().any(|line| line.starts_with("rm")),
            "{script}"
        );
    }

    #[test]
    fn the_first_differing_path_is_named() {
        let tree = |paths: &[&str]| {
            let mut tree = Manifest::default();
            for text in paths {
                tree.insert(path(text), TreeNode::Folder { mode: 0o755 });
            }
            tree
        };
        let recorded = tree(&["a", "b", "c"]);
        assert_eq!(first_difference(&recorded, &recorded), None);
        assert_eq!(
            first_difference(&recorded, &tree(&["a", "c", "d"])),
            Some(path("b"))
        );
    }
}
