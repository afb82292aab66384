//! Copies one open file: its content with holes, sharing blocks where the file system can, and its extended attributes.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use rustix::fs::{SeekFrom, ftruncate, seek};
use rustix::io::Errno;

use super::watch::StopCheck;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 256 * 1024;

/// Copies the content of a file into an empty one.
pub(super) fn copy_content(from: &File, to: &File, check: StopCheck<'_>) -> io::Result<()> {
    if shares_blocks(from, to) {
        return Ok(());
    }
    let bytes = from.metadata()?.len();
    match copy_sparse(from, to, bytes, check) {
        Err(fault) if is_unsupported(&fault) => {
            seek(from, SeekFrom::Start(0))?;
            seek(to, SeekFrom::Start(0))?;
            copy_rest(from, to, u64::MAX, check)
        }
        copied => copied,
    }
}

/// Lets the new file share the blocks of the other one until one of them is written (reflink).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn shares_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn shares_blocks(_from: &File, _to: &File) -> bool {
    false
}

/// Copies the parts between the holes.
fn copy_sparse(from: &File, to: &File, bytes: u64, check: StopCheck<'_>) -> io::Result<()> {
    let mut at = 0;
    while at < bytes {
        let data = match seek(from, SeekFrom::Data(at)) {
            // The rest is a hole.
            Err(Errno::NXIO) => break,
            data => data?,
        };
        let hole = seek(from, SeekFrom::Hole(data))?;
        seek(from, SeekFrom::Start(data))?;
        seek(to, SeekFrom::Start(data))?;
        copy_rest(from, to, hole.saturating_sub(data), check)?;
        at = hole;
    }
    ftruncate(to, bytes)?;
    Ok(())
}

/// Copies from where both files are now, at most `most` bytes.
fn copy_rest(mut from: &File, mut to: &File, most: u64, check: StopCheck<'_>) -> io::Result<()> {
    let (mut left, mut done) = (most, 0);
    let mut buffer = vec![0; COPY_BYTES];
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let Some(part) = buffer.get_mut(..part) else {
            break;
        };
        let bytes = match from.read(part) {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        match buffer.get(..bytes) {
            None | Some([]) => break,
            Some(read) => to.write_all(read)?,
        }
        check.add(&mut done, bytes)?;
        left = left.saturating_sub(u64::try_from(bytes).unwrap_or(left));
    }
    Ok(())
}

fn is_unsupported(fault: &io::Error) -> bool {
    [Errno::INVAL, Errno::NOTSUP, Errno::NOTTY]
        .iter()
        .any(|errno| fault.raw_os_error() == Some(errno.raw_os_error()))
}

/// The reason that an extended attribute cannot be copied.
#[derive(Debug)]
pub(super) struct AttributeError {
    pub fault: io::Error,
    pub name: String,
}

/// Copies the extended attributes, access lists included. One that the target has with that value already, as a security module
/// labels it, is left.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn copy_attributes(from: &File, to: &File) -> Result<(), AttributeError> {
    use rustix::fs::{
        XattrFlags, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fsetxattr,
    };

    let failed = |name: &[u8], fault: Errno| AttributeError {
        fault: fault.into(),
        name: String::from_utf8_lossy(name).into_owned(),
    };
    let list = |bytes: usize| -> rustix::io::Result<Vec<u8>> {
        let mut list = vec![0; bytes];
        let filled = flistxattr(from, list.as_mut_slice())?;
        list.truncate(filled);
        Ok(list)
    };
    let names = match flistxattr_query(from) {
        Err(Errno::NOTSUP | Errno::NOSYS) | Ok(0) => return Ok(()),
        Ok(bytes) => list(bytes),
        Err(fault) => Err(fault),
    };
    let names = names.map_err(|fault| failed(b"", fault))?;
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let value = |file: &File| -> rustix::io::Result<Vec<u8>> {
            let mut value = vec![0; fgetxattr_query(file, name)?];
            let filled = fgetxattr(file, name, value.as_mut_slice())?;
            value.truncate(filled);
            Ok(value)
        };
        let wanted = value(from).map_err(|fault| failed(name, fault))?;
        if value(to).is_ok_and(|value| value == wanted) {
            continue;
        }
        let set = fsetxattr(to, name, &wanted, XattrFlags::empty());
        set.map_err(|fault| failed(name, fault))?;
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn copy_attributes(_from: &File, _to: &File) -> Result<(), AttributeError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;

    fn copied(from: &File) -> File {
        from.sync_all().unwrap();
        let to = tempfile::tempfile().unwrap();
        copy_content(from, &to, StopCheck::NEVER).unwrap();
        to
    }

    fn content(file: &File) -> Vec<u8> {
        let mut content = vec![0; usize::try_from(file.metadata().unwrap().len()).unwrap()];
        file.read_exact_at(&mut content, 0).unwrap();
        content
    }

    #[test]
    fn a_copy_has_the_content_and_its_holes() {
        let from = tempfile::tempfile().unwrap();
        let most = 64 << 20;
        from.set_len(most).unwrap();
        from.write_all_at(b"begin", 0).unwrap();
        from.write_all_at(b"middle", 32 << 20).unwrap();
        let to = copied(&from);
        assert_eq!(content(&from), content(&to));
        let (old, new) = (from.metadata().unwrap(), to.metadata().unwrap());
        assert_eq!(new.len(), most);
        assert!(new.blocks() <= old.blocks() + 1024, "the holes stay holes");
    }

    #[test]
    fn an_empty_file_and_one_without_holes_are_copied() {
        for bytes in [0, 1, COPY_BYTES, COPY_BYTES * 2 + 1] {
            let mut from = tempfile::tempfile().unwrap();
            from.write_all(&vec![7; bytes]).unwrap();
            assert_eq!(content(&copied(&from)), vec![7; bytes]);
        }
    }
}
