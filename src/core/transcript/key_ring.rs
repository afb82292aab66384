//! The trusted public keys and their rotations. Reads texts; opens no file.

use super::note::{Note, Signed};
use super::trust::{Block, BlockError, blocks};
use super::{PublicKey, SecretKey};

const ROTATION: &str = "monolith/rotation";

/// The public keys that a verifier trusts, with their rotations.
///
/// In text, one of these after the other: a public key; a rotation record, which is a note signed by the old key; the
/// word `revoked` and a public key. Lines that begin with `#` are ignored.
///
/// ```
/// use monolith_core::transcript::{KeyRing, SecretKey};
///
/// let (old, new) = (SecretKey::from_seed("old", &[1; 32])?, SecretKey::from_seed("new", &[2; 32])?);
/// let mut ring = KeyRing::of(vec![old.public()]);
/// ring.read(&old.rotated_to(&new).to_string())?;
/// assert!(ring.trusted().contains(&new.public()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRing {
    keys: Vec<PublicKey>,
    revoked: Vec<PublicKey>,
    rotations: Vec<(PublicKey, PublicKey)>,
}

impl KeyRing {
    /// A ring that trusts these keys.
    #[must_use]
    pub fn of(keys: Vec<PublicKey>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Reads keys, rotations and revocations, and adds them.
    ///
    /// A rotation counts once its old key is trusted, whatever was read first.
    ///
    /// # Errors
    /// [`BlockError`] where a line is none of the three, or a rotation is not signed by the key that it replaces.
    pub fn read(&mut self, text: &str) -> Result<(), BlockError> {
        for block in blocks(text) {
            match block? {
                Block::Line { line, text } => {
                    let refuse = |rule: &dyn std::fmt::Display| BlockError::new(line, rule);
                    let (into, text) = match text.strip_prefix("revoked ") {
                        Some(text) => (&mut self.revoked, text),
                        None => (&mut self.keys, text),
                    };
                    into.push(text.parse().map_err(|fault| refuse(&fault))?);
                }
                Block::Note { line, note } => {
                    let refuse = |rule: &str| BlockError::new(line, &rule);
                    let (old, new) = rotation(&note).ok_or_else(|| {
                        refuse("a note among keys is a rotation: monolith/rotation, from, to")
                    })?;
                    for key in [&old, &new] {
                        if note.signed_by(key) != Signed::Valid {
                            let rule = "a rotation is signed by the old key and by the new one";
                            return Err(refuse(rule));
                        }
                    }
                    self.rotations.push((old, new));
                }
            }
        }
        Ok(())
    }

    /// Every key that is trusted: those that were named, and those that a trusted key was replaced by.
    #[must_use]
    pub fn trusted(&self) -> Vec<PublicKey> {
        let mut trusted: Vec<PublicKey> = Vec::new();
        loop {
            let known = trusted.len();
            let followed = self.rotations.iter();
            let followed = followed.filter(|(old, _)| trusted.contains(old));
            let followed: Vec<_> = followed.map(|(_, new)| new).collect();
            for key in self.keys.iter().chain(followed) {
                if !trusted.contains(key) && !self.revoked.contains(key) {
                    trusted.push(key.clone());
                }
            }
            if trusted.len() == known {
                return trusted;
            }
        }
    }
}

impl SecretKey {
    /// The record that another key takes the place of this one, signed by both.
    #[must_use]
    pub fn rotated_to(&self, new: &Self) -> Note {
        let text = format!("{ROTATION}\nfrom {}\nto {}\n", self.public(), new.public());
        let mut note = self.sign(text);
        new.sign_too(&mut note);
        note
    }
}

fn rotation(note: &Note) -> Option<(PublicKey, PublicKey)> {
    let lines = note.text().strip_suffix('\n')?;
    let mut lines = lines.split('\n');
    if lines.next()? != ROTATION {
        return None;
    }
    let old = lines.next()?.strip_prefix("from ")?.parse().ok()?;
    let new = lines.next()?.strip_prefix("to ")?.parse().ok()?;
    lines.next().is_none().then_some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SecretKey {
        SecretKey::from_seed("local", &[seed; 32]).unwrap()
    }

    fn trusted(texts: &[String]) -> Vec<PublicKey> {
        let mut ring = KeyRing::default();
        for text in texts {
            ring.read(text).unwrap();
        }
        ring.trusted()
    }

    #[test]
    fn trust_follows_rotations_from_a_trusted_key_and_stops_at_a_revoked_one() {
        let (one, two, three) = (key(1), key(2), key(3));
        let chain = format!("{}\n{}", two.rotated_to(&three), one.rotated_to(&two));
        let check = |texts: &[String], expect: &[&SecretKey]| {
            let expect: Vec<_> = expect.iter().map(|key| key.public()).collect();
            assert_eq!(trusted(texts), expect, "{texts:?}");
        };
        let first = format!("# mine\n\n{}\n", one.public());
        check(&[first.clone(), chain.clone()], &[&one, &two, &three]);
        check(&[chain.clone(), first.clone()], &[&one, &two, &three]);
        check(std::slice::from_ref(&chain), &[]);
        check(&[two.public().to_string(), chain.clone()], &[&two, &three]);
        let stolen = format!("revoked {}", two.public());
        check(&[first, chain, stolen], &[&one]);
    }

    #[test]
    fn a_rotation_that_the_old_key_did_not_sign_is_refused_with_its_line() {
        let (one, two) = (key(1), key(2));
        let mut forged = two.sign(one.rotated_to(&two).text().to_owned());
        let check = |text: &str, expect: &str| {
            let fault = KeyRing::default().read(text).map_err(|f| f.to_string());
            assert_eq!(fault, Err(expect.to_owned()), "{text}");
        };
        let rule = "a rotation is signed by the old key and by the new one";
        check(&format!("# x\n{forged}"), &format!("line 2: {rule}"));
        forged.text = "monolith/run/x\n".to_owned();
        let rule = "a note among keys is a rotation: monolith/rotation, from, to";
        check(&forged.to_string(), &format!("line 1: {rule}"));
        check("local+x", "line 1: no key: it is `NAME+ID+BASE64`");
        check(
            "monolith/rotation\nfrom",
            "line 1: no signed note: an empty line must precede the signatures",
        );
    }
}
