//! Tests of the contents that a run keeps.

use std::fs::OpenOptions;

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    run: RunId,
}

/// The files of one workspace.
struct Kept(KeptFiles);

impl Kept {
    fn keep(&self, content: Option<&[u8]>) -> io::Result<bool> {
        let content = content.map(|content| (content, None));
        self.0.keep_of(Path::new("/work"), content)
    }
}

impl Fixture {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            run: RunId::try_from("run-1".to_owned()).unwrap(),
        }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("runs.db")
    }

    fn kept(&self) -> Kept {
        Kept(KeptFiles::of(&self.store(), &self.run))
    }

    fn read(&self, content: &[u8]) -> Option<Vec<u8>> {
        let mut kept = ReadKept::of(&self.store(), &self.run).unwrap()?;
        assert_eq!(kept.workspace(), Path::new("/work"));
        kept.content(Digest::of(content)).unwrap()
    }
}

#[test]
fn what_is_kept_is_read_again_and_kept_once() {
    let fixture = Fixture::new();
    assert_eq!(fixture.read(b"one"), None);
    let kept = fixture.kept();
    assert!(kept.keep(None).unwrap());
    let path = path_of(&fixture.store(), &fixture.run);
    for content in [b"one".as_slice(), b"", &vec![7; 100_000]] {
        assert!(kept.keep(Some(content)).unwrap());
        let length = fs::metadata(&path).unwrap().len();
        assert!(kept.keep(Some(content)).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().len(), length);
        assert_eq!(fixture.read(content).as_deref(), Some(content));
    }
    // The next process continues from it.
    let next = fixture.kept();
    assert!(next.keep(Some(b"two")).unwrap());
    assert_eq!(fixture.read(b"one").as_deref(), Some(b"one".as_slice()));
    assert_eq!(fixture.read(b"two").as_deref(), Some(b"two".as_slice()));
    assert!(!next.keep(Some(&vec![0; CONTENT_BYTES + 1])).unwrap());
    assert!(remove_kept(&fixture.store(), &fixture.run).unwrap());
    assert_eq!(fixture.read(b"one"), None);
    assert!(!remove_kept(&fixture.store(), &fixture.run).unwrap());
}

#[test]
fn the_permissions_that_all_files_of_a_content_had_are_kept() {
    let fixture = Fixture::new();
    let hash = Digest::of(b"one");
    for (mode, expect) in [
        (None, None),
        (Some(0o755), Some(0o755)),
        (Some(0o640), Some(0o640)),
        (Some(0o604), Some(0o600)),
        (None, Some(0o600)),
    ] {
        let kept = KeptFiles::of(&fixture.store(), &fixture.run);
        let content = Some((b"one".as_slice(), mode));
        assert!(kept.keep_of(Path::new("/work"), content).unwrap());
        assert_eq!(fixture.read(b"one").as_deref(), Some(b"one".as_slice()));
        let read = ReadKept::of(&fixture.store(), &fixture.run).unwrap();
        assert_eq!(read.unwrap().mode(hash), expect);
    }
}

#[test]
fn a_record_that_a_killed_process_left_is_cut_off() {
    let fixture = Fixture::new();
    let path = path_of(&fixture.store(), &fixture.run);
    fixture.kept().keep(Some(b"one")).unwrap();
    let whole = fs::read(&path).unwrap();
    fixture.kept().keep(Some(b"two")).unwrap();
    let both = fs::read(&path).unwrap();
    for length in whole.len() + 1..both.len() {
        fs::write(&path, &both[..length]).unwrap();
        assert_eq!(fixture.read(b"one").as_deref(), Some(b"one".as_slice()));
        assert_eq!(fixture.read(b"two"), None, "{length}");
        fixture.kept().keep(Some(b"three")).unwrap();
        assert_eq!(fixture.read(b"three").as_deref(), Some(b"three".as_slice()));
    }
    // What is damaged is not taken for what it was.
    let mut damaged = both;
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert_eq!(fixture.read(b"two"), None);
}

#[test]
fn one_content_is_erased_and_the_others_stay() {
    let fixture = Fixture::new();
    let kept = fixture.kept();
    for content in [b"one".as_slice(), b"a secret", b"three"] {
        kept.keep(Some(content)).unwrap();
    }
    drop(kept);
    let erase = |content: &[u8]| erase_kept(&fixture.store(), &fixture.run, Digest::of(content));
    assert!(erase(b"a secret").unwrap());
    assert!(!erase(b"a secret").unwrap());
    assert_eq!(fixture.read(b"a secret"), None);
    assert_eq!(fixture.read(b"three").as_deref(), Some(b"three".as_slice()));
    let bytes = fs::read(path_of(&fixture.store(), &fixture.run)).unwrap();
    assert!(!bytes.windows(8).any(|window| window == b"a secret"));
    // Another folder's are not this one's.
    let other = KeptFiles::of(&fixture.store(), &fixture.run);
    other.keep_of(Path::new("/other"), None).unwrap();
    let there = ReadKept::of(&fixture.store(), &fixture.run)
        .unwrap()
        .unwrap();
    assert_eq!(there.workspace(), Path::new("/other"));
    assert_eq!(there.open.contents.len(), 0);
    let file = OpenOptions::new()
        .read(true)
        .open(path_of(&fixture.store(), &fixture.run));
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(file.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
    #[cfg(not(unix))]
    drop(file);
}
