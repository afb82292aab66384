//! The path of a file below the work tree, in bytes, and its text form.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Longest path in bytes, as Linux has it.
const MAX_PATH_BYTES: usize = 4_096;

/// The name of a repository's folder, or of the file that leads to it. No tree has it, in any case.
pub const GIT_NAME: &str = ".git";
/// The name of the folder of scratch trees. No tree has it, in any case.
pub const SCRATCH_NAME: &str = ".monolith-scratch";

/// A path relative to the root of the work tree: one or more names with `/` between them, none of them empty, `.` or `..`.
///
/// Names are bytes, for a file system does not promise UTF-8. The text form writes `%` and every byte that is no UTF-8 or a control
/// character as `%XX`, so it is a bijection:
///
/// ```
/// use monolith_core::work::WorkPath;
///
/// let path = WorkPath::from_bytes(b"a/\xff%")?;
/// assert_eq!(path.to_string(), "a/%FF%25");
/// assert_eq!("a/%FF%25".parse::<WorkPath>()?, path);
/// assert!("a/../b".parse::<WorkPath>().is_err());
/// # Ok::<(), monolith_core::work::PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkPath(Box<[u8]>);

/// The reason that bytes are no path of a work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path has no name, or an empty one (`a//b`, `a/`).
    #[error("a path needs a name between its slashes")]
    Empty,
    /// A name is `.` or `..`.
    #[error("a path has no `.` or `..`: it starts at the root of the work tree and stays below it")]
    Dots,
    /// A name holds a NUL byte.
    #[error("a path has no NUL byte")]
    Nul,
    /// The path is longer than any file system takes.
    #[error("a path has at most {MAX_PATH_BYTES} bytes")]
    Long,
    /// A `%` in the text form is not followed by two upper-case hex digits of a byte that needs them.
    #[error("`%` starts the code of a byte, such as %25 for itself")]
    Code,
}

impl WorkPath {
    /// Checks the bytes of a relative path.
    ///
    /// # Errors
    /// [`PathError`], never `Code`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathError> {
        if bytes.len() > MAX_PATH_BYTES {
            return Err(PathError::Long);
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul);
        }
        for name in bytes.split(|byte| *byte == b'/') {
            match name {
                b"" => return Err(PathError::Empty),
                b"." | b".." => return Err(PathError::Dots),
                _ => {}
            }
        }
        Ok(Self(bytes.into()))
    }

    /// Parses the path as an author writes it in an item: a leading `/` means the root of the work tree, and `%` is a plain character.
    ///
    /// # Errors
    /// [`PathError`], never `Code`.
    pub fn from_item(text: &str) -> Result<Self, PathError> {
        let text = text.strip_prefix('/').unwrap_or(text);
        Self::from_bytes(text.strip_prefix("./").unwrap_or(text).as_bytes())
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path of the folder above; none for a name at the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let end = self.0.iter().rposition(|byte| *byte == b'/')?;
        Some(Self(self.0.get(..end)?.into()))
    }

    /// True if this path is `other` or lies below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let Some(rest) = self.0.strip_prefix(&*other.0) else {
            return false;
        };
        rest.first().is_none_or(|byte| *byte == b'/')
    }

    /// True if no tree has the path: it leads into a repository or into the folder of scratch trees.
    #[must_use]
    pub fn is_never_in_a_tree(&self) -> bool {
        let is_left_out = |name: &[u8]| {
            let names = [GIT_NAME, SCRATCH_NAME];
            let mut names = names.iter().map(|one| one.as_bytes());
            names.any(|one| name.eq_ignore_ascii_case(one))
        };
        self.0.split(|byte| *byte == b'/').any(is_left_out)
    }

    /// The key under which a file system without case finds the path; two paths with one key cannot both exist there.
    #[must_use]
    pub fn folded(&self) -> Cow<'_, str> {
        Cow::Owned(String::from_utf8_lossy(&self.0).to_lowercase())
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for letter in chunk.valid().chars() {
                if letter == '%' || letter.is_ascii_control() {
                    write!(f, "%{:02X}", u32::from(letter))?;
                } else {
                    write!(f, "{letter}")?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl FromStr for WorkPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            if *first != b'%' {
                bytes.push(*first);
                continue;
            }
            let (code, after) = rest.split_at_checked(2).ok_or(PathError::Code)?;
            let code = std::str::from_utf8(code).map_err(|_| PathError::Code)?;
            bytes.push(u8::from_str_radix(code, 16).map_err(|_| PathError::Code)?);
            rest = after;
        }
        let path = Self::from_bytes(&bytes)?;
        // One path has one text.
        if path.to_string() == text {
            Ok(path)
        } else {
            Err(PathError::Code)
        }
    }
}

impl Serialize for WorkPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WorkPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_stays_below_its_root() {
        for (bytes, error) in [
            (&b""[..], PathError::Empty),
            (b"/etc", PathError::Empty),
            (b"a//b", PathError::Empty),
            (b"a/", PathError::Empty),
            (b"..", PathError::Dots),
            (b"a/../b", PathError::Dots),
            (b"./a", PathError::Dots),
            (b"a\0", PathError::Nul),
        ] {
            assert_eq!(WorkPath::from_bytes(bytes), Err(error), "{bytes:?}");
        }
        assert_eq!(WorkPath::from_bytes(&[b'a'; 4_097]), Err(PathError::Long));
    }

    #[test]
    fn a_leading_slash_in_an_item_is_the_root_of_the_work_tree() {
        let path = WorkPath::from_item("/docs/a%b.md").expect("a path");
        assert_eq!(path.as_bytes(), b"docs/a%b.md");
        assert_eq!(WorkPath::from_item("/../etc"), Err(PathError::Dots));
    }

    #[test]
    fn a_folder_holds_itself_and_paths_below_but_no_longer_name() {
        let folder = WorkPath::from_bytes(b"a/b").expect("a path");
        let within = |text: &str| text.parse::<WorkPath>().expect("a path").is_within(&folder);
        assert!(within("a/b") && within("a/b/c"));
        assert!(!within("a/bc") && !within("a"));
    }

    #[test]
    fn repositories_and_scratch_trees_are_in_no_tree() {
        for (text, is_never) in [
            (".git", true),
            ("sub/.GIT/config", true),
            (".monolith-scratch/a", true),
            (".gitignore", false),
            ("git/a.git", false),
        ] {
            let path = text.parse::<WorkPath>().expect("a path");
            assert_eq!(path.is_never_in_a_tree(), is_never, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_path_has_one_text_and_a_text_one_path(bytes in prop::collection::vec(any::<u8>(), 1..40)) {
            if let Ok(path) = WorkPath::from_bytes(&bytes) {
                let text = path.to_string();
                prop_assert_eq!(text.parse::<WorkPath>(), Ok(path));
            }
        }

        #[test]
        fn no_second_text_is_read(text in "[a-c%/0-9A-Fa-f]{1,12}") {
            if let Ok(path) = text.parse::<WorkPath>() {
                prop_assert_eq!(path.to_string(), text);
            }
        }
    }
}
