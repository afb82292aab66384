//! The line of a run: followed as far as the store has it, and never without end.

use rusqlite::{Connection, params};

use super::{folder, open, write};
use crate::store::{CallerState, StoreReader};
use monolith_core::kernel::{EventKind, ParentRun};
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_core::transcript::ParentFound;
use monolith_testkit::sample::SampleRun;

/// Has entry 0 of a run say that a call of that one began it.
fn begun_by(conn: &Connection, run: &SampleRun, (parent, head): (&str, Digest)) {
    let mut event = run.entries[0].decode_event().unwrap().unwrap();
    let EventKind::RunStarted(started) = &mut event.event else {
        panic!("entry 0 begins no run");
    };
    started.parent = Some(ParentRun {
        call: Some(CallSeq(1)),
        head,
        run_id: RunId::try_from(parent.to_owned()).unwrap(),
    });
    let changed = conn.execute(
        "UPDATE entries SET event = ?1 WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?2)",
        params![serde_json::to_string(&event).unwrap(), run.run_id.as_str()],
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
fn a_line_is_followed_to_the_parent_that_is_not_here_and_a_circle_ends() {
    let (_folder, path) = folder();
    let runs = ["a", "b", "c"].map(SampleRun::short);
    let store = open(&path);
    for (run, at) in runs.iter().zip(1..) {
        write(&store, run, at);
    }
    drop(store);
    let [a, b, c] = &runs;
    let head = |run: &SampleRun| run.entries.last().unwrap().hash;
    let conn = Connection::open(&path).unwrap();
    begun_by(&conn, c, ("b", head(b)));
    begun_by(&conn, b, ("a", head(a)));
    begun_by(&conn, a, ("gone", Digest::ZERO));
    let reader = StoreReader::open(&path).unwrap();
    let line = reader.ancestors(&c.run_id);
    let line: Vec<_> = line.map(|above| above.unwrap()).collect();
    let names: Vec<&str> = line.iter().map(|(run, _)| run.as_str()).collect();
    assert_eq!(names, ["c", "b", "a"]);
    let found: Vec<_> = line.iter().map(|(_, lineage)| &lineage.found).collect();
    assert!(matches!(
        found[..],
        [
            ParentFound::Entry(_),
            ParentFound::Entry(_),
            ParentFound::NotHere
        ]
    ));
    assert_eq!(reader.first_here(&c.run_id).unwrap(), a.run_id);
    // The ones above have ended.
    assert_eq!(reader.goes_on_with(&c.run_id).unwrap(), c.run_id);
    let caller = |run: &SampleRun| reader.caller_of(&run.run_id).unwrap();
    assert_eq!(caller(c), CallerState::Ended);
    assert_eq!(
        caller(a),
        CallerState::NotHere(RunId::try_from("gone".to_owned()).unwrap())
    );
    assert_eq!(reader.open_above(&c.run_id).unwrap(), None);
    // The first one is open: the tree is, though the run below that has ended.
    let opens = "UPDATE runs SET class = NULL WHERE run_id = 'a'";
    assert_eq!(conn.execute(opens, []).unwrap(), 1);
    assert_eq!(caller(b), CallerState::Open);
    assert_eq!(reader.goes_on_with(&c.run_id).unwrap(), c.run_id);
    assert_eq!(
        reader.open_above(&c.run_id).unwrap().as_ref(),
        Some(&a.run_id)
    );
    begun_by(&conn, b, ("a", Digest::ZERO));
    assert_eq!(caller(b), CallerState::Another(a.run_id.clone()));
    assert_eq!(reader.open_above(&c.run_id).unwrap(), None);
    begun_by(&conn, b, ("a", head(a)));
    begun_by(&conn, a, ("c", head(c)));
    assert_eq!(reader.ancestors(&c.run_id).count(), 1_000);
}
