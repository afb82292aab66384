//! A control group of the sandbox, where this process may make one: the number of processes and the memory of all together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Limits;
use monolith_core::message::MemoryScope;

const ROOT: &str = "/sys/fs/cgroup";
/// The prefix of sandbox folder names; the process id of the outer process follows.
const PREFIX: &str = "monolith-";

/// The file that limits memory, of each version.
const MEMORY_V1: &str = "memory.limit_in_bytes";
const MEMORY_V2: &str = "memory.max";
/// The file that limits memory and swap together (v1), and the one that limits swap alone (v2). A system without swap has neither.
const MEMORY_AND_SWAP_V1: &str = "memory.memsw.limit_in_bytes";
const SWAP_V2: &str = "memory.swap.max";

/// Groups that were joined.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Each with the one that this process was in before.
    joined: Vec<(PathBuf, PathBuf)>,
    /// True if one of them limits memory.
    limits_memory: bool,
}

impl Groups {
    /// Makes and joins what can be made. Limits of each process hold in any case, so nothing here has to work.
    pub(super) fn join(limits: &Limits) -> Self {
        let wanted = [
            ("pids", "pids.max", "pids.max", limits.processes),
            ("memory", MEMORY_V1, MEMORY_V2, limits.memory_bytes),
        ];
        let mut joined = Self::default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut unified: Vec<(&str, u64)> = Vec::new();
        for (controller, first, second, limit) in wanted {
            let Some(limit) = limit else {
                continue;
            };
            let path = own.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                controllers
                    .split(',')
                    .any(|one| one == controller)
                    .then_some(path)
            });
            match path {
                Some(path) => {
                    let from = Path::new(ROOT).join(controller).join(below(path));
                    joined.join_below(&from, &from, &[(first, limit)]);
                }
                None => unified.push((second, limit)),
            }
        }
        let path = own.lines().find_map(|line| line.strip_prefix("0::"));
        if let Some(path) = path.filter(|_| !unified.is_empty()) {
            let from = Path::new(ROOT).join(below(path));
            // Controllers are handed to the groups of a folder that has no processes itself: often the one above.
            let above = from.parent().filter(|above| above.starts_with(ROOT));
            let places = [Some(from.as_path()), above].into_iter().flatten();
            // A system may hand one controller on, and not the other.
            let each = unified.chunks(1);
            let wanted: Vec<_> = std::iter::once(unified.as_slice()).chain(each).collect();
            let mut tries =
                places.flat_map(|place| wanted.iter().map(move |limits| (place, limits)));
            tries.find(|(place, limits)| joined.join_below(place, &from, limits));
        }
        joined
    }

    /// Makes a group with those limits and joins it; false if any of it fails.
    fn join_below(&mut self, place: &Path, from: &Path, limits: &[(&str, u64)]) -> bool {
        let Some(group) = make(place, limits) else {
            return false;
        };
        let is_memory = |(file, _): &(&str, u64)| [MEMORY_V1, MEMORY_V2].contains(file);
        if let Some((_, memory)) = limits.iter().find(|limit| is_memory(limit)) {
            self.limits_memory = true;
            for (file, limit) in [(MEMORY_AND_SWAP_V1, *memory), (SWAP_V2, 0)] {
                let _ = write(&group.join(file), limit);
            }
        }
        self.joined.push((group, from.to_owned()));
        true
    }

    /// Returns the scope of a limit of memory.
    pub(super) const fn memory(&self) -> MemoryScope {
        if self.limits_memory {
            MemoryScope::Group
        } else {
            MemoryScope::Process
        }
    }

    /// Describes the limits that were set, as a detail of the part.
    pub(super) fn detail(&self) -> String {
        match (self.joined.is_empty(), self.limits_memory) {
            (true, _) => "of each process; no control group may be made".to_owned(),
            (false, true) => "of each process, and of all in a control group".to_owned(),
            (false, false) => "of each process, and of their number in a control group".to_owned(),
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for (group, before) in &self.joined {
            let _ = enter(before);
            // Where the kernel has not forgotten yet what ended there, the next sandbox removes it.
            let _ = fs::remove_dir(group);
        }
    }
}

/// Makes a group below that one with those limits and joins it; `None` if any of it fails.
fn make(from: &Path, limits: &[(&str, u64)]) -> Option<PathBuf> {
    sweep(from);
    let group = from.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir(&group).ok()?;
    let mut limits = limits.iter();
    let set = limits.try_for_each(|(file, limit)| write(&group.join(file), *limit));
    let joined = set.and_then(|()| enter(&group)).is_ok();
    if !joined {
        let _ = fs::remove_dir(&group);
    }
    joined.then_some(group)
}

/// Writes a limit into a file that is there: what is not is no limit of this kernel.
fn write(file: &Path, limit: u64) -> io::Result<()> {
    let file = fs::File::options().write(true).open(file);
    io::Write::write_all(&mut file?, limit.to_string().as_bytes())
}

fn enter(group: &Path) -> io::Result<()> {
    let file = fs::File::options()
        .write(true)
        .open(group.join("cgroup.procs"));
    io::Write::write_all(&mut file?, b"0")
}

/// Removes the groups of sandboxes that were killed before they could do it.
fn sweep(from: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = pid.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Fails where a process is in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn below(path: &str) -> &str {
    path.trim_start_matches('/')
}
