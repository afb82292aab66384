//! Merkle trees of RFC 6962 §2.1 and RFC 9162 §2.1 over SHA-256: roots, proofs, and their verification.
//!
//! A subtree `[start, end)` is one that the tree itself could hold at that place (`start` is a multiple of the smallest
//! power of two that is not below its size); a whole tree is the subtree `[0, size)`.

use sha2::{Digest as _, Sha256};

/// A SHA-256 hash of a leaf, a node or a tree.
pub type TreeHash = [u8; 32];

const LEAF: u8 = 0;
const NODE: u8 = 1;

/// The fault of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProofError {
    /// There is no such leaf, tree or subtree.
    #[error("there is no such leaf or tree")]
    Range,
    /// The proof has too few or too many hashes.
    #[error("the proof has {got} hashes, which is not what these sizes need")]
    Length {
        /// The proof's length.
        got: usize,
    },
    /// The proof leads to another root.
    #[error("the proof leads to another root")]
    Root,
}

/// The hash of a leaf: SHA-256 over 0x00 and its bytes.
#[must_use]
pub fn leaf_hash(bytes: &[u8]) -> TreeHash {
    hash(LEAF, bytes, &[])
}

/// The root of the tree over these leaf hashes; SHA-256 of nothing for the empty tree.
#[must_use]
pub fn tree_root(leaves: &[TreeHash]) -> TreeHash {
    match leaves {
        [] => Sha256::digest([]).into(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node(&tree_root(left), &tree_root(right))
        }
    }
}

/// The proof that leaf `index` is in the tree over these leaf hashes; none if there is no such leaf.
#[must_use]
pub fn inclusion_proof(index: u64, leaves: &[TreeHash]) -> Option<Vec<TreeHash>> {
    let index = usize::try_from(index).ok()?;
    leaves.get(index)?;
    let mut proof = Vec::new();
    path(index, leaves, &mut proof);
    Some(proof)
}

/// The proof that the tree over the first `old_size` leaf hashes is a prefix of the tree over all; none if there is
/// no such tree. The empty tree is a prefix of every tree, and there is no proof of it.
#[must_use]
pub fn consistency_proof(old_size: u64, leaves: &[TreeHash]) -> Option<Vec<TreeHash>> {
    let old = usize::try_from(old_size).ok()?;
    if old == 0 || old > leaves.len() {
        return None;
    }
    let mut proof = Vec::new();
    prefix(old, leaves, true, &mut proof);
    Some(proof)
}

/// Checks that a leaf is the one with number `index` in a tree of `size` leaves with that root.
///
/// # Errors
/// [`ProofError`].
pub(crate) fn verify_inclusion(
    index: u64,
    size: u64,
    leaf: &TreeHash,
    proof: &[TreeHash],
    root: &[u8],
) -> Result<(), ProofError> {
    verify_subtree_inclusion(index, 0, size, leaf, proof, root)
}

/// Checks that a leaf is the one with number `index` of the whole tree, against the root of the subtree `[start, end)`.
///
/// # Errors
/// [`ProofError`].
pub(crate) fn verify_subtree_inclusion(
    index: u64,
    start: u64,
    end: u64,
    leaf: &TreeHash,
    proof: &[TreeHash],
    root: &[u8],
) -> Result<(), ProofError> {
    if !is_subtree(start, end) || index < start || index >= end {
        return Err(ProofError::Range);
    }
    let wrong_length = ProofError::Length { got: proof.len() };
    let (mut at, mut last) = (index - start, end - start - 1);
    let mut computed = *leaf;
    for sibling in proof {
        if last == 0 {
            return Err(wrong_length);
        }
        if at & 1 == 1 || at == last {
            computed = node(sibling, &computed);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            computed = node(&computed, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    match (last, computed.as_slice() == root) {
        (0, true) => Ok(()),
        (0, false) => Err(ProofError::Root),
        _ => Err(wrong_length),
    }
}

/// Checks that the tree of `size1` leaves with the one root is a prefix of that of `size2` leaves with the other.
///
/// # Errors
/// [`ProofError`]; the empty tree proves nothing, so it is refused as a range.
pub(crate) fn verify_consistency(
    size1: u64,
    size2: u64,
    proof: &[TreeHash],
    root1: &[u8],
    root2: &[u8],
) -> Result<(), ProofError> {
    if size1 == 0 {
        return Err(ProofError::Range);
    }
    verify_subtree_consistency(0, size1, size2, proof, root1, root2)
}

/// Checks that the subtree `[start, end)` with the one root is part of the tree of `size` leaves with the other. The empty
/// subtree is part of every tree.
///
/// # Errors
/// [`ProofError`].
pub(crate) fn verify_subtree_consistency(
    start: u64,
    end: u64,
    size: u64,
    proof: &[TreeHash],
    subtree_root: &[u8],
    root: &[u8],
) -> Result<(), ProofError> {
    let wrong_length = ProofError::Length { got: proof.len() };
    if start == end && end <= size {
        return match (proof.is_empty(), tree_root(&[]).as_slice() == subtree_root) {
            (true, true) => Ok(()),
            (true, false) => Err(ProofError::Root),
            (false, _) => Err(wrong_length),
        };
    }
    if !is_subtree(start, end) || end > size {
        return Err(ProofError::Range);
    }
    if start == 0 && end == size {
        return match (proof.is_empty(), subtree_root == root) {
            (true, true) => Ok(()),
            (true, false) => Err(ProofError::Root),
            (false, _) => Err(wrong_length),
        };
    }
    // First and last leaf of the subtree, and last leaf of the tree, as nodes of the level in hand.
    let (mut first, mut last, mut top) = (start, end - 1, size - 1);
    // Up to where the subtree is one node, or ends in a left child; at the right edge of the tree there is no right one.
    while first != last && (last == top || last & 1 == 1) {
        (first, last, top) = (first >> 1, last >> 1, top >> 1);
    }
    let mut hashes = proof.iter();
    let seed = if first == last {
        <TreeHash>::try_from(subtree_root).map_err(|_| ProofError::Root)?
    } else {
        *hashes.next().ok_or(wrong_length)?
    };
    let (mut part, mut whole) = (seed, seed);
    for hash in hashes {
        if top == 0 {
            return Err(wrong_length);
        }
        if last & 1 == 1 || last == top {
            if first < last {
                part = node(hash, &part);
            }
            whole = node(hash, &whole);
            while last & 1 == 0 && last != 0 {
                (first, last, top) = (first >> 1, last >> 1, top >> 1);
            }
        } else {
            whole = node(&whole, hash);
        }
        (first, last, top) = (first >> 1, last >> 1, top >> 1);
    }
    if top != 0 {
        return Err(wrong_length);
    }
    if part.as_slice() == subtree_root && whole.as_slice() == root {
        Ok(())
    } else {
        Err(ProofError::Root)
    }
}

fn hash(domain: u8, left: &[u8], right: &[u8]) -> TreeHash {
    let mut hasher = Sha256::new();
    hasher.update([domain]);
    hasher.update(left);
    hasher.update(right);
    hasher.finalize().into()
}

fn node(left: &TreeHash, right: &TreeHash) -> TreeHash {
    hash(NODE, left, right)
}

/// The largest power of two below `size`, which is two or more.
const fn split(size: usize) -> usize {
    size.next_power_of_two() >> 1
}

fn is_subtree(start: u64, end: u64) -> bool {
    let Some(size) = end.checked_sub(start).filter(|size| *size > 0) else {
        return false;
    };
    let aligned = |power: u64| start.is_multiple_of(power);
    start == 0 || size.checked_next_power_of_two().is_some_and(aligned)
}

/// RFC 9162 §2.1.3.1.
fn path(index: usize, leaves: &[TreeHash], proof: &mut Vec<TreeHash>) {
    if leaves.len() < 2 {
        return;
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    if index < left.len() {
        path(index, left, proof);
        proof.push(tree_root(right));
    } else {
        path(index - left.len(), right, proof);
        proof.push(tree_root(left));
    }
}

/// RFC 9162 §2.1.4.1; `known` is the root of the old tree, if the verifier holds it.
fn prefix(old: usize, leaves: &[TreeHash], known: bool, proof: &mut Vec<TreeHash>) {
    if old == leaves.len() {
        if !known {
            proof.push(tree_root(leaves));
        }
        return;
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    if old <= left.len() {
        prefix(old, left, known, proof);
        proof.push(tree_root(right));
    } else {
        prefix(old - left.len(), right, false, proof);
        proof.push(tree_root(left));
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use monolith_testkit::skipped::skip;
    use serde_json::Value;

    use super::*;

    fn leaves(count: u8) -> Vec<TreeHash> {
        (0..count).map(|n| leaf_hash(&[n])).collect()
    }

    #[test]
    fn every_leaf_of_every_small_tree_is_proven_and_no_other_place_is() {
        for size in 1..=33 {
            let leaves = leaves(size);
            let root = tree_root(&leaves);
            let size = u64::from(size);
            for index in 0..size {
                let proof = inclusion_proof(index, &leaves).unwrap();
                let leaf = leaf_hash(&[u8::try_from(index).unwrap()]);
                let verify =
                    |index, size| verify_inclusion(index, size, &leaf, &proof, root.as_slice());
                assert_eq!(verify(index, size), Ok(()), "leaf {index} of {size}");
                for other in (0..size).filter(|other| *other != index) {
                    assert!(verify(other, size).is_err(), "leaf {index} as {other}");
                }
                assert_eq!(verify(size, size), Err(ProofError::Range));
            }
            assert_eq!(inclusion_proof(size, &leaves), None);
        }
    }

    #[test]
    fn every_prefix_of_every_small_tree_is_proven_and_no_other_size_is() {
        for size in 1..=33 {
            let leaves = leaves(size);
            let root = tree_root(&leaves);
            let size = u64::from(size);
            for old in 1..=size {
                let proof = consistency_proof(old, &leaves).unwrap();
                let old_root = tree_root(&leaves[..usize::try_from(old).unwrap()]);
                let verify =
                    |old, root: &[u8]| verify_consistency(old, size, &proof, &old_root, root);
                assert_eq!(verify(old, &root), Ok(()), "{old} of {size}");
                for other in (1..size).filter(|other| *other != old) {
                    assert!(verify(other, &root).is_err(), "{old} of {size} as {other}");
                }
                assert!(verify(old, &[0; 32]).is_err());
            }
            assert_eq!(consistency_proof(0, &leaves), None);
            assert_eq!(consistency_proof(size + 1, &leaves), None);
        }
    }

    /// One vector: whether it holds for this build; none if its hashes are none.
    fn verdict_of(subject: &str, vector: &Value) -> Option<Result<(), ProofError>> {
        let bytes = |value: &Value| BASE64.decode(value.as_str()?).ok();
        let hash = |value: &Value| TreeHash::try_from(bytes(value)?).ok();
        let number = |name: &str| vector[name].as_u64();
        let given = match &vector["proof"] {
            Value::Null => &[],
            proof => proof.as_array()?.as_slice(),
        };
        let proof: Vec<TreeHash> = given.iter().map(hash).collect::<Option<_>>()?;
        let root = |name: &str| bytes(&vector[name]);
        Some(match subject {
            "inclusion" => verify_inclusion(
                number("leafIdx")?,
                number("treeSize")?,
                &hash(&vector["leafHash"])?,
                &proof,
                &root("root")?,
            ),
            "subtreeinclusion" => verify_subtree_inclusion(
                number("leafIdx")?,
                number("start")?,
                number("end")?,
                &hash(&vector["leafHash"])?,
                &proof,
                &root("root")?,
            ),
            "consistency" => verify_consistency(
                number("size1")?,
                number("size2")?,
                &proof,
                &root("root1")?,
                &root("root2")?,
            ),
            _ => verify_subtree_consistency(
                number("start")?,
                number("end")?,
                number("size")?,
                &proof,
                &root("root1")?,
                &root("root2")?,
            ),
        })
    }

    #[test]
    fn recorded_vectors_hold_where_they_should_and_corrupted_ones_do_not() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/merkle");
        let (mut held, mut refused) = (0, 0);
        for subject in [
            "inclusion",
            "subtreeinclusion",
            "consistency",
            "subtreeconsistency",
        ] {
            let mut folders = vec![std::path::Path::new(corpus).join(subject)];
            while let Some(folder) = folders.pop() {
                let Ok(entries) = std::fs::read_dir(&folder) else {
                    let why = format!("those of {subject} are missing in {corpus}");
                    skip(1, "folder of vectors", &why);
                    continue;
                };
                for path in entries.map(|entry| entry.unwrap().path()) {
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let vector: Value =
                        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
                    let verdict = verdict_of(subject, &vector);
                    let holds = verdict == Some(Ok(()));
                    let expect = !vector["wantErr"].as_bool().unwrap();
                    assert_eq!(holds, expect, "{}: {verdict:?}", path.display());
                    *(if holds { &mut held } else { &mut refused }) += 1;
                }
            }
        }
        println!("{held} vectors hold, {refused} are refused");
        assert!((held, refused) == (0, 0) || (held >= 36 && refused >= 482));
    }
}
