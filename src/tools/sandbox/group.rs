//! A control group of the sandbox, where this process may make one: the number of processes and the memory of all together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Limits;

const ROOT: &str = "/sys/fs/cgroup";
/// What the folders of sandboxes are called; the process id of the outer process follows.
const PREFIX: &str = "monolith-";

/// Groups that were joined, each with the one that this process was in before.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<(PathBuf, PathBuf)>);

impl Groups {
    /// Makes and joins what can be made. Limits of each process hold in any case, so nothing here has to work.
    pub(super) fn join(limits: &Limits) -> Self {
        let wanted = [
            ("pids", "pids.max", "pids.max", limits.processes),
            (
                "memory",
                "memory.limit_in_bytes",
                "memory.max",
                limits.memory_bytes,
            ),
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
                    joined.extend(make(&from, &[(first, limit)]).map(|to| (to, from)));
                }
                None => unified.push((second, limit)),
            }
        }
        let path = own.lines().find_map(|line| line.strip_prefix("0::"));
        if let Some(path) = path.filter(|_| !unified.is_empty()) {
            let from = Path::new(ROOT).join(below(path));
            // Controllers are handed to the groups of a folder that has no processes itself: often the one above.
            let above = from.parent().filter(|above| above.starts_with(ROOT));
            let mut places = [Some(from.as_path()), above].into_iter().flatten();
            let made = places.find_map(|place| make(place, &unified));
            joined.extend(made.map(|to| (to, from.clone())));
        }
        joined
    }

    fn extend(&mut self, joined: Option<(PathBuf, PathBuf)>) {
        self.0.extend(joined);
    }

    /// What was made, as a detail of the part.
    pub(super) fn detail(&self) -> String {
        match self.0.len() {
            0 => "of each process; no control group may be made".to_owned(),
            _ => "of each process, and of all in a control group".to_owned(),
        }
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for (group, before) in &self.0 {
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
    let set = limits.iter().try_for_each(|(file, limit)| {
        // What is not there already is no limit of this kernel.
        let file = fs::File::options().write(true).open(group.join(file));
        io::Write::write_all(&mut file?, limit.to_string().as_bytes())
    });
    let joined = set.and_then(|()| enter(&group)).is_ok();
    if !joined {
        let _ = fs::remove_dir(&group);
    }
    joined.then_some(group)
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
