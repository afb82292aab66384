//! Puts files below the held folder: whole, or not at all. Does not know tools.
//!
//! A file that is there is never written to: a new one takes its name. So a second name of it, in the folder or outside, keeps what it
//! had, and a reader meanwhile sees the old text or the new one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, mkdirat, openat,
    readlinkat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::denied::{denied_in, may_change_entries, may_write};
use super::pointer::named_in;
use super::{Beneath, HELD, MOST_TRIES, OpenError, READ, Walk, id_of};
use crate::tools::withheld::StoreNames;

/// Folders that hold what runs when somebody else works in the workspace: hooks and settings of git.
const CLOSED: &str = ".git";
/// The words for folders with the same content and another name.
const REPOSITORY: &str = "the folder of a git repository";
const NEW: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The destination of a file to write.
struct Destination {
    folder: OwnedFd,
    /// The file that has the name now.
    found: Option<Stat>,
    name: OsString,
}

/// The purpose of a lookup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Folders that are missing are made, and a link leads on.
    Put,
    /// Creates nothing, and follows a link.
    Judge,
    /// Creates nothing, and a link is not a file.
    Remove,
}

impl Beneath {
    /// Writes a file at this path, replaces an existing one and creates missing folders. It has mode and owner of the replaced file, else
    /// those of the file `like`. Returns true if a file existed.
    pub(in crate::tools::builtin) fn put(
        &self,
        path: &Path,
        text: &[u8],
        like: Option<&Path>,
    ) -> Result<bool, OpenError> {
        let like = match like {
            Some(like) => self.place(like, Search::Judge)?,
            None => None,
        };
        self.put_like(path, text, like.and_then(|like| like.found), None)
    }

    /// Like [`Self::put`], for a file that was removed: one that does not exist gets those permissions.
    pub(in crate::tools::builtin) fn put_again(
        &self,
        path: &Path,
        text: &[u8],
        mode: u16,
    ) -> Result<bool, OpenError> {
        let mode = Mode::from_raw_mode(mode.into());
        self.put_like(path, text, None, Some(mode))
    }

    fn put_like(
        &self,
        path: &Path,
        text: &[u8],
        like: Option<Stat>,
        given: Option<Mode>,
    ) -> Result<bool, OpenError> {
        let Some(place) = self.place(path, Search::Put)? else {
            return Err(Errno::NOENT.into());
        };
        let like = place.found.or(like);
        let mut tries = 0_u32;
        let (file, interim) = loop {
            let mut interim = OsString::from(format!(".monolith-{}-{tries}.", std::process::id()));
            interim.push(OsStr::from_bytes(
                place
                    .name
                    .as_bytes()
                    .get(..64)
                    .unwrap_or(place.name.as_bytes()),
            ));
            let all = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
            // Nobody else reads a file before it has its permissions.
            let mode = given.map_or(all, |_| Mode::RUSR | Mode::WUSR);
            match openat(&place.folder, &interim, NEW, mode) {
                Ok(file) => break (file, interim),
                Err(Errno::EXIST) if tries < 64 => tries += 1,
                Err(fault) => return Err(denied_in(fault, place.folder.as_fd()).into()),
            }
        };
        let written = written(File::from(file), text, like.as_ref(), given).and_then(|()| {
            renameat(&place.folder, &interim, &place.folder, &place.name)?;
            Ok(())
        });
        if written.is_err() {
            let _left = unlinkat(&place.folder, &interim, AtFlags::empty());
        }
        written?;
        Ok(place.found.is_some())
    }

    /// True if a file exists at this path and may be replaced there. Changes nothing.
    pub(in crate::tools::builtin) fn stands(&self, path: &Path) -> Result<bool, OpenError> {
        let place = self.place(path, Search::Judge)?;
        Ok(place.is_some_and(|place| place.found.is_some()))
    }

    /// Like [`Self::stands`], and an error if a shell could not write the file or make it. Changes nothing.
    pub(in crate::tools::builtin) fn is_writable(&self, path: &Path) -> Result<bool, OpenError> {
        let Some(place) = self.place(path, Search::Judge)? else {
            return Ok(false);
        };
        may_change_entries(place.folder.as_fd())?;
        if let Some(found) = &place.found {
            may_write(place.folder.as_fd(), &place.name, found)?;
        }
        Ok(place.found.is_some())
    }

    /// True if a file exists at this path and may be removed. Changes nothing.
    pub(in crate::tools::builtin) fn is_removable(&self, path: &Path) -> Result<bool, OpenError> {
        let Some(place) = self.place(path, Search::Remove)? else {
            return Ok(false);
        };
        may_change_entries(place.folder.as_fd())?;
        Ok(place.found.is_some())
    }

    /// Takes the file at that path away; its other names keep it.
    pub(in crate::tools::builtin) fn remove(&self, path: &Path) -> Result<(), OpenError> {
        match self.place(path, Search::Remove)? {
            Some(place) if place.found.is_some() => {
                let removed = unlinkat(&place.folder, &place.name, AtFlags::empty());
                removed.map_err(|fault| denied_in(fault, place.folder.as_fd()).into())
            }
            _ => Err(Errno::NOENT.into()),
        }
    }

    /// The place that a path leads to; `None` if a folder on the way is missing. What is withheld is refused.
    fn place(&self, path: &Path, search: Search) -> Result<Option<Destination>, OpenError> {
        let mut walk = self.walk(path)?;
        let place = walk.place(search, self.withheld.store_names().as_ref());
        let withheld = self.withheld.ids();
        if walk.opened.iter().any(|id| withheld.has(*id)) || withheld.holds_folder(&self.root) {
            return Err(OpenError::Withheld);
        }
        if let Some(folder) = withheld.uncounted() {
            return Err(OpenError::Uncounted(folder.to_owned()));
        }
        if walk.named.iter().any(|id| walk.opened.contains(id)) {
            return Err(OpenError::Closed(REPOSITORY));
        }
        if let Ok(Some(place)) = &place {
            let folder = id_of(&fstat(&place.folder)?);
            if self.withheld.guards(folder, &place.name, &walk.opened) {
                return Err(OpenError::Guarded);
            }
        }
        place
    }
}

fn is_closed(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(CLOSED.as_bytes())
}

fn written(
    mut file: File,
    text: &[u8],
    like: Option<&Stat>,
    given: Option<Mode>,
) -> Result<(), OpenError> {
    if let Some(like) = like {
        let (owner, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
        let is_kept = fchown(&file, Some(owner), Some(group)).is_ok();
        let mode = Mode::from_raw_mode(like.st_mode);
        // Only root may hand a file to another user. A program does not run with the rights of an owner it did not have.
        let special = Mode::SUID.union(Mode::SGID);
        let mode = if is_kept {
            mode
        } else {
            mode.difference(special)
        };
        if !is_kept {
            let _group_kept = fchown(&file, None, Some(group));
        }
        fchmod(&file, mode)?;
    } else if let Some(given) = given {
        fchmod(&file, given)?;
    }
    file.write_all(text)?;
    file.sync_all()?;
    Ok(())
}

impl Walk<'_> {
    /// Takes every step but the last one, and finds what has the last name. `None` if a folder is missing that is not made.
    fn place(
        &mut self,
        search: Search,
        store: Option<&StoreNames>,
    ) -> Result<Option<Destination>, OpenError> {
        while let Some(step) = self.steps.pop_front() {
            match step.as_bytes() {
                b"." => {}
                b".." => {
                    self.folders.pop().ok_or(OpenError::Outside)?;
                }
                name if is_closed(name) => return Err(OpenError::Closed(CLOSED)),
                _ if self.is_repository_with(&step) => return Err(OpenError::Closed(REPOSITORY)),
                _ if self.is_of_store(store, &step)? => return Err(OpenError::Withheld),
                _ if self.steps.is_empty() => {
                    if let Some(place) = self.last_place(step, search)? {
                        return Ok(Some(place));
                    }
                }
                _ => {
                    if !self.folder_step(step, search)? {
                        return self.missing();
                    }
                }
            }
        }
        Err(OpenError::NotAFile)
    }

    /// True if git takes the folder that the path has led to for a repository, once it has an entry of that name. Notes the folder that
    /// a `.git` there names.
    fn is_repository_with(&mut self, name: &OsStr) -> bool {
        let here = self.here();
        let has = |entry: &str| {
            name.eq_ignore_ascii_case(entry)
                || statat(here, entry, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        let is_repository = has("HEAD") && (has("commondir") || has("objects") && has("refs"));
        let named = named_in(here);
        self.named.extend(named);
        is_repository
    }

    /// True if that name, in the folder that the path has led to, belongs to the store, whether a file has it or not.
    fn is_of_store(&self, store: Option<&StoreNames>, name: &OsStr) -> Result<bool, OpenError> {
        match store.filter(|store| store.has(name)) {
            Some(store) => Ok(store.folder == id_of(&fstat(self.here())?)),
            None => Ok(false),
        }
    }

    /// Checks the rest of a path that leads through a missing folder: the rules for names still apply.
    fn missing(&self) -> Result<Option<Destination>, OpenError> {
        for step in &self.steps {
            match step.as_bytes() {
                b".." => return Err(Errno::NOENT.into()),
                name if is_closed(name) => return Err(OpenError::Closed(CLOSED)),
                _ => {}
            }
        }
        match self.steps.back() {
            Some(last) if last.as_bytes() != b"." => Ok(None),
            _ => Err(OpenError::NotAFile),
        }
    }

    /// Takes a step to a folder, which is made where it is missing and wanted; whether it is there.
    fn folder_step(&mut self, name: OsString, search: Search) -> Result<bool, OpenError> {
        let all = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        match statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) if search != Search::Put => return Ok(false),
            Err(Errno::NOENT) => match mkdirat(self.here(), &name, all) {
                // Another process has made it meanwhile.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(fault) => return Err(self.denied(fault, "write")),
            },
            Err(fault) => return Err(self.denied(fault, "search")),
            Ok(_) => {}
        }
        match self.step(name)? {
            None => Ok(true),
            Some(_) => Err(Errno::NOTDIR.into()),
        }
    }

    /// The place of the last name; `None` if it is a link, whose steps are taken next.
    fn last_place(
        &mut self,
        name: OsString,
        search: Search,
    ) -> Result<Option<Destination>, OpenError> {
        let found = match statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            Err(fault) => return Err(self.denied(fault, "search")),
            Ok(found) => match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink if search == Search::Remove => return Err(OpenError::NotAFile),
                FileType::Symlink => {
                    let target = readlinkat(self.here(), &name, Vec::new())?;
                    let target = OsString::from_vec(target.into_bytes());
                    self.follow(target)?;
                    return Ok(None);
                }
                FileType::RegularFile => {
                    // It is withheld by what it is, not by its name.
                    let opened = match openat(self.here(), &name, READ, Mode::empty()) {
                        Err(Errno::LOOP | Errno::NOENT) if self.tries < MOST_TRIES => {
                            self.tries += 1;
                            self.steps.push_front(name);
                            return Ok(None);
                        }
                        // One that may not be read may be replaced all the same.
                        Err(Errno::ACCESS) => {
                            self.opened.push(id_of(&found));
                            None
                        }
                        opened => Some(opened?),
                    };
                    if let Some(opened) = opened {
                        self.opened.push(id_of(&fstat(&opened)?));
                    }
                    Some(found)
                }
                _ => return Err(OpenError::NotAFile),
            },
        };
        let folder = openat(self.here(), ".", HELD, Mode::empty())?;
        Ok(Some(Destination {
            folder,
            found,
            name,
        }))
    }
}
