use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Checkpoint, Tombstone, tombstone_line};
use monolith_core::transcript::{
    EarlierCheckpoints, LineReader, Record, SecretKey, checkpoint_line,
};

use super::damage::{Case, lines};

/// The key that the verifiers are given.
pub(super) fn key() -> SecretKey {
    SecretKey::from_seed("example", &[1; 32]).unwrap()
}

pub(super) fn stranger() -> SecretKey {
    SecretKey::from_seed("example", &[2; 32]).unwrap()
}

/// The checkpoint of the first entries of a file.
pub(super) fn checkpoint(bytes: &[u8], entries: u64) -> Checkpoint {
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
        outcome: outcome.map(Into::into),
        earlier: EarlierCheckpoints::default(),
    }
}

/// The checkpoint of the whole file, behind those.
pub(super) fn seal_after(bytes: &[u8], earlier: &[&Checkpoint]) -> Checkpoint {
    let mut seal = checkpoint(bytes, entries(bytes) as u64);
    for checkpoint in earlier {
        seal.earlier.add(&checkpoint.text());
    }
    seal
}

pub(super) fn entries(bytes: &[u8]) -> usize {
    let entries = lines(bytes).into_iter();
    entries
        .filter(|line| line.starts_with(b"{\"action\":"))
        .count()
}

pub(super) fn line(checkpoint: &Checkpoint, key: &SecretKey) -> Vec<u8> {
    checkpoint_line(&checkpoint.sign(key).to_string()).into_bytes()
}

/// Files with checkpoints that the key has signed, whole and damaged.
pub(super) fn cases(bytes: &[u8]) -> Vec<Case> {
    let last = entries(bytes);
    let third = checkpoint(bytes, 3);
    let early = line(&third, &key());
    let behind = line(&seal_after(bytes, &[&third]), &key());
    let seal = line(&checkpoint(bytes, last as u64), &key());
    let at = lines(bytes).len() as u64 + 1;
    let with = |more: &[&[u8]]| [bytes, &more.concat()].concat();
    let mut cases = vec![
        Case::whole("signed at its seal", with(&[&seal])),
        Case::whole("signed twice", with(&[&early, &behind])),
    ];
    cases.push(Case::damaged(
        "signed early only".to_owned(),
        with(&[&early]),
        None,
    ));
    cases.push(Case::damaged(
        "not signed at all".to_owned(),
        with(&[]),
        None,
    ));
    let mut put = |what: &str, bytes: Vec<u8>, line: u64| {
        cases.push(Case::damaged(format!("signed: {what}"), bytes, line));
    };
    put("in another order", with(&[&seal, &early]), at + 1);
    put(
        "in another order, and counted",
        with(&[&behind, &early]),
        at,
    );
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

/// Files in which blobs were erased, whole and damaged.
pub(super) fn erased(bytes: &[u8]) -> Vec<Case> {
    let lines = lines(bytes);
    let first = lines.iter().position(|line| line.starts_with(b"{\"blob\""));
    let first = first.unwrap();
    let run_id = checkpoint(bytes, 1).run_id;
    let hash_of = |line: &[u8]| -> Digest {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        line["blob"].as_str().unwrap().parse().unwrap()
    };
    let stone = |blob: Digest, reason: &str| Tombstone {
        run_id: run_id.clone(),
        blob,
        reason: reason.to_owned(),
        at_unix_ms: 1_790_000_000_000,
    };
    let line = |stone: &Tombstone, key: &SecretKey| {
        tombstone_line(&stone.sign(key).to_string()).into_bytes()
    };
    let (kept, blobs) = lines.split_at(first);
    let [one, two] = [0, 1].map(|at| hash_of(blobs[at]));
    let put = |blobs: &[&[u8]], stones: &[Vec<u8>]| {
        [kept.concat(), blobs.concat(), stones.concat()].concat()
    };
    let by_us = |blob, reason: &str| line(&stone(blob, reason), &key());
    let seal = self::line(&checkpoint(bytes, entries(bytes) as u64), &key());
    let odd = "asked for\n\"by\" them \u{1f} \u{7f} é \u{1f600}";
    let mut cases = vec![
        Case::whole(
            "one erased",
            put(&blobs[1..], &[by_us(one, ""), seal.clone()]),
        ),
        Case::whole(
            "two erased",
            put(
                &blobs[2..],
                &[by_us(one, odd), by_us(two, ""), seal.clone()],
            ),
        ),
        Case::damaged(
            "erased and not signed".to_owned(),
            put(&blobs[1..], &[by_us(one, "")]),
            None,
        ),
        Case::damaged(
            "erased by a stranger".to_owned(),
            put(
                &blobs[1..],
                &[line(&stone(one, ""), &stranger()), seal.clone()],
            ),
            Some(lines.len() as u64),
        ),
    ];
    let at = lines.len() as u64;
    let mut bad = |what: &str, bytes: Vec<u8>, line: Option<u64>| {
        cases.push(Case::damaged(format!("erased: {what}"), bytes, line));
    };
    bad(
        "beside the blob",
        put(blobs, &[by_us(one, "")]),
        Some(at + 1),
    );
    bad(
        "twice",
        put(&blobs[1..], &[by_us(one, ""), by_us(one, "")]),
        Some(at + 1),
    );
    bad(
        "in another order",
        put(&blobs[2..], &[by_us(two, ""), by_us(one, "")]),
        Some(at),
    );
    bad(
        "behind the seal",
        put(&blobs[1..], &[seal, by_us(one, "")]),
        Some(at + 1),
    );
    bad(
        "before a blob",
        put(&[], &[by_us(one, ""), blobs[1..].concat()]),
        Some(first as u64 + 2),
    );
    bad(
        "named by no entry",
        put(blobs, &[by_us(Digest::of(b"none"), "")]),
        Some(at + 1),
    );
    let long = by_us(one, &"x".repeat(1025));
    bad(
        "with too long a reason",
        put(&blobs[1..], &[long]),
        Some(at),
    );
    let other = Tombstone {
        run_id: RunId::try_from("other".to_owned()).unwrap(),
        ..stone(one, "")
    };
    bad(
        "of another run",
        put(&blobs[1..], &[line(&other, &key())]),
        Some(at),
    );
    let late = Tombstone {
        at_unix_ms: 1 << 53,
        ..stone(one, "")
    };
    bad(
        "at no time",
        put(&blobs[1..], &[line(&late, &key())]),
        Some(at),
    );
    bad(
        "and the blob missing, too",
        put(&blobs[2..], &[by_us(two, "")]),
        None,
    );
    let whole = by_us(one, "asked for");
    let printed = String::from_utf8(whole.clone()).unwrap();
    let id = printed.find("— example ").unwrap();
    let id = &printed[id..id + "— example ".len() + 6];
    for place in (0..whole.len()).step_by(5) {
        let mut changed = whole.clone();
        changed[place] ^= 0x02;
        let text = String::from_utf8_lossy(&changed).into_owned();
        if text.contains(id) {
            bad(
                &format!("byte {place}"),
                put(&blobs[1..], &[changed]),
                Some(at),
            );
        }
    }
    cases
}

/// A signature by an unknown key proves nothing, and breaks nothing.
pub(super) fn by_others(bytes: &[u8]) -> Vec<Case> {
    let seal = line(&checkpoint(bytes, entries(bytes) as u64), &stranger());
    vec![Case::whole("signed by a stranger", [bytes, &seal].concat())]
}
