use monolith::message::{Digest, RunId};
use monolith::transcript::{Checkpoint, LineReader, Record, SecretKey, checkpoint_line};

use super::damage::{Case, lines};

/// The key that the verifiers are given.
pub(super) fn key() -> SecretKey {
    SecretKey::from_seed("example", &[1; 32]).unwrap()
}

fn stranger() -> SecretKey {
    SecretKey::from_seed("example", &[2; 32]).unwrap()
}

/// The checkpoint of the first entries of a file.
fn checkpoint(bytes: &[u8], entries: u64) -> Checkpoint {
    let mut reader = LineReader::new();
    let (mut run_id, mut contract_hash) = (None, None);
    let (mut head, mut outcome) = (None, None);
    for line in lines(bytes) {
        match reader.read(line).unwrap() {
            Record::Header(header) => {
                run_id = Some(header.run_id.clone());
                let contract: serde_json::Value = serde_json::from_str(header.contract).unwrap();
                let hash = contract["contract_hash"].as_str().unwrap();
                contract_hash = Some(hash.parse::<Digest>().unwrap());
            }
            Record::Entry(entry) if entry.seq + 1 == entries => {
                head = Some(entry.hash);
                let sealed = entry.decoded_action.length.is_some();
                outcome = entry.decoded_action.outcome.filter(|_| sealed);
            }
            _ => {}
        }
    }
    Checkpoint {
        run_id: run_id.unwrap(),
        entries,
        head: head.unwrap(),
        contract_hash: contract_hash.unwrap(),
        outcome,
    }
}

fn entries(bytes: &[u8]) -> usize {
    let entries = lines(bytes).into_iter();
    entries
        .filter(|line| line.starts_with(b"{\"action\":"))
        .count()
}

fn line(checkpoint: &Checkpoint, key: &SecretKey) -> Vec<u8> {
    checkpoint_line(&checkpoint.sign(key).to_string()).into_bytes()
}

/// Files with checkpoints that the key has signed, whole and damaged.
pub(super) fn cases(bytes: &[u8]) -> Vec<Case> {
    let last = entries(bytes);
    let early = line(&checkpoint(bytes, 3), &key());
    let seal = line(&checkpoint(bytes, last as u64), &key());
    let at = lines(bytes).len() as u64 + 1;
    let with = |more: &[&[u8]]| [bytes, &more.concat()].concat();
    let mut cases = vec![
        Case::whole("signed at its seal", with(&[&seal])),
        Case::whole("signed twice", with(&[&early, &seal])),
        Case::whole("signed early", with(&[&early])),
    ];
    let mut put = |what: &str, bytes: Vec<u8>, line: u64| {
        cases.push(Case::damaged(format!("signed: {what}"), bytes, line));
    };
    put("in another order", with(&[&seal, &early]), at + 1);
    put("one checkpoint twice", with(&[&seal, &seal]), at + 1);
    put(
        "a blob behind it",
        with(&[&seal, lines(bytes)[lines(bytes).len() - 1]]),
        at + 1,
    );
    put(
        "an entry behind it",
        with(&[&seal, lines(bytes)[last]]),
        at + 1,
    );
    put(
        "a checkpoint before the blobs",
        {
            let mut lines = lines(bytes);
            lines.insert(last + 1, &seal);
            lines.concat()
        },
        last as u64 + 3,
    );
    let change = |edit: &dyn Fn(&mut Checkpoint)| {
        let mut changed = checkpoint(bytes, last as u64);
        edit(&mut changed);
        with(&[&line(&changed, &key())])
    };
    put("more entries", change(&|c| c.entries += 1), at);
    put("no entries", change(&|c| c.entries = 0), at);
    put("fewer entries", change(&|c| c.entries -= 1), at);
    put("another head", change(&|c| c.head = Digest::of(b"")), at);
    put(
        "another contract",
        change(&|c| c.contract_hash = Digest::of(b"")),
        at,
    );
    put("no outcome", change(&|c| c.outcome = None), at);
    put(
        "another run",
        change(&|c| c.run_id = RunId::try_from("other".to_owned()).unwrap()),
        at,
    );
    for place in (0..seal.len()).step_by(7).chain([seal.len() - 1]) {
        let mut changed = seal.clone();
        changed[place] ^= 0x02;
        // A name or id that is not that of a known key belongs to a stranger: the chain alone speaks.
        let text = String::from_utf8_lossy(&changed).into_owned();
        if text.contains("— example /LufYb") {
            put(&format!("byte {place} changed"), with(&[&changed]), at);
        }
    }
    cases
}

/// What nobody known has signed says nothing, and breaks nothing.
pub(super) fn by_others(bytes: &[u8]) -> Vec<Case> {
    let seal = line(&checkpoint(bytes, entries(bytes) as u64), &stranger());
    vec![Case::whole("signed by a stranger", [bytes, &seal].concat())]
}
