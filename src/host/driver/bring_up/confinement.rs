//! The sandboxes of a contract's commands and tool servers on this machine: its terms, with every path resolved once. Confines nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::confinement_decision::{confined, decision};
use super::granted;
use super::handed_roots::{is_root_of_all, mcp_roots};
use crate::driver::{DriverError, Environment};
use crate::tools::{
    CHECKED, CREDENTIALS, Confined, GrantedFolders, HeldFolder, Installs, Limits, NamedFile,
    SETTINGS, SYSTEM_CREDENTIALS, SYSTEM_SETTINGS, SandboxKind, SandboxProfile, SearchFolder,
    ShellSpec, Way, is_in,
};
use monolith_core::contract::{
    ContractSpec, McpTransport, SandboxTerms, server_sandbox, shell_sandbox,
};

const MEBIBYTE: u64 = 1 << 20;
/// Place of the built-in shell's sandbox in the file.
const SHELL_PLACE: &str = "tools.sandbox";

/// The paths that one confined program is granted, as the file writes them, each with its place in the file.
#[derive(Debug, Default)]
struct Grants {
    read: Vec<(String, PathBuf)>,
    sockets: Vec<(String, PathBuf)>,
    write: Vec<(String, PathBuf)>,
}

/// The sandboxes of one contract.
pub(super) struct Sandboxes<'c> {
    environment: &'c Environment,
    /// Folders that a confined process of an earlier run could write.
    earlier: GrantedFolders,
    home: Option<PathBuf>,
    /// Folders in which a confined process of this run or of an earlier one may have planted a link.
    planted: GrantedFolders,
    servers: BTreeMap<&'c str, (SandboxTerms, Grants)>,
    shell: Option<(SandboxTerms, Grants)>,
    spec: &'c ContractSpec,
    workspace: PathBuf,
    /// Folders that a confined process of this run may write.
    writable: Vec<PathBuf>,
}

impl<'c> Sandboxes<'c> {
    /// Reads the terms of a file whose relative paths begin in `folder`.
    pub(super) fn of(
        spec: &'c ContractSpec,
        folder: &Path,
        environment: &'c Environment,
    ) -> Result<Self, DriverError> {
        let given = environment.raw("HOME").map(PathBuf::from);
        let placed = |paths: &[String], place: &str| {
            let paths = paths.iter().map(|path| {
                let path = match (path.strip_prefix("~/"), &given) {
                    (Some(below), Some(home)) => home.join(below),
                    _ => folder.join(path),
                };
                (place.to_owned(), path)
            });
            paths.collect::<Vec<_>>()
        };
        let grants = |terms: &SandboxTerms, place: &str| Grants {
            read: placed(&terms.read, &format!("{place}.read")),
            sockets: placed(&terms.sockets, &format!("{place}.sockets")),
            write: placed(&terms.write, &format!("{place}.write")),
        };
        let shell = spec.tools.has_shell().then(|| {
            let terms = shell_sandbox(spec.tools.sandbox.as_ref());
            let grants = grants(&terms, SHELL_PLACE);
            (terms, grants)
        });
        let mut servers = BTreeMap::new();
        for (name, server) in &spec.tools.servers {
            if !matches!(server.transport, McpTransport::Stdio { .. }) {
                continue;
            }
            let place = server.place(name);
            let terms = server_sandbox(&server.sandbox.clone().unwrap_or_default());
            let mut grants = grants(&terms, &format!("{place}.sandbox"));
            let roots = placed(&server.terms.roots, &format!("{place}.roots"));
            let more = mcp_roots(&server.transport, &place, environment);
            let more = placed(&more, &format!("{place}.env"));
            // A server that may write every file is confined to nothing.
            let roots = roots.into_iter().chain(more);
            grants
                .write
                .extend(roots.filter(|(_, path)| !is_root_of_all(path)));
            servers.insert(name.as_str(), (terms, grants));
        }
        let workspace = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
        let mut made = Self {
            environment,
            earlier: granted::earlier(environment.state()),
            home: given
                .as_deref()
                .and_then(|home| fs::canonicalize(home).ok())
                .filter(|home| home.parent().is_some()),
            planted: GrantedFolders::default(),
            servers,
            shell,
            spec,
            workspace: fs::canonicalize(&workspace).unwrap_or_else(|_| workspace.clone()),
            writable: Vec::new(),
        };
        made.find_writable(folder);
        if made.programs().next().is_some() {
            made.check("tools.workspace", &workspace)?;
        }
        Ok(made)
    }

    /// The terms and grants of each program that is confined.
    fn programs(&self) -> impl Iterator<Item = &(SandboxTerms, Grants)> {
        let all = self.servers.values().chain(&self.shell);
        all.filter(|(terms, _)| terms.confined)
    }

    fn find_writable(&mut self, folder: &Path) {
        let granted = self.programs().flat_map(|(_, grants)| &grants.write);
        let granted = granted.filter_map(|(_, path)| fs::canonicalize(path).ok());
        let mut writable: Vec<PathBuf> = granted.chain([self.workspace.clone()]).collect();
        writable.sort();
        writable.dedup();
        // The file's folder is the workspace of another contract file in it that names none.
        let own = fs::canonicalize(folder).ok();
        self.planted = self.earlier.and(writable.iter().cloned().chain(own));
        self.writable = writable;
    }

    /// Keeps what this run grants, for later ones.
    pub(super) fn keep_granted(&self) {
        if self.programs().next().is_some() {
            let (state, folders) = (self.environment.state(), &self.writable);
            granted::keep(state, folders);
            granted::keep_names(state, &self.environment.unheld(folders));
        }
    }

    /// Refuses a path that a confined process may have led elsewhere.
    fn check(&self, place: &str, path: &Path) -> Result<Way, DriverError> {
        let way = Way::follow(path);
        match way.first_link(|link| self.planted.contain(link)) {
            None => Ok(way),
            Some(link) => {
                let words = format!(
                    "{} passes the link {}, which a confined program can replace; it leads to {} now",
                    path.display(),
                    link.display(),
                    way.end.display()
                );
                Err(DriverError::PlantedLink(place.to_owned(), words))
            }
        }
    }

    /// Returns the profile of the built-in shell, whose commands get these variables beside the usual ones.
    pub(super) fn shell_spec(
        &self,
        env: BTreeMap<String, String>,
    ) -> Result<Option<ShellSpec>, DriverError> {
        let Some((terms, grants)) = &self.shell else {
            return Ok(None);
        };
        let search = env.get("PATH").map(OsString::from);
        let decision = decision(terms, SandboxKind::Shell, self.environment)?;
        let mut profile = self.profile(terms, grants, (confined(decision, true), &[]))?;
        self.installs(&profile, search).add_to(&mut profile);
        // Programs of the home need more of it than one folder; without any, one of the system is found.
        let at_home = |path: &PathBuf| self.home.iter().any(|home| path.starts_with(home));
        profile.programs.retain(|path| !at_home(path));
        profile.prefixes.retain(|path| !at_home(path));
        profile.drops_root = true;
        profile.joined_output = true;
        Ok(Some(ShellSpec {
            env,
            profile,
            program: self.environment.program().map(Path::to_owned),
        }))
    }

    /// Returns the profile of a tool server with these arguments and variables. Where its author states nothing, it holds where the machine can.
    pub(super) fn server_profile(
        &self,
        name: &str,
        (command, args): (&Path, &[String]),
        env: &BTreeMap<String, String>,
        files: &[NamedFile],
    ) -> Result<Option<SandboxProfile>, DriverError> {
        let Some((terms, grants)) = self.servers.get(name) else {
            return Ok(None);
        };
        let server = self.spec.tools.servers.get(name);
        let is_stated = server.is_some_and(|server| server.sandbox.is_some());
        let decision = decision(terms, SandboxKind::Server, self.environment)?;
        let confined = confined(decision, is_stated);
        let mut profile = self.profile(terms, grants, (confined, files))?;
        let mut installs = self.installs(&profile, env.get("PATH").map(OsString::from));
        if profile.confined != Confined::Never {
            installs.add_command(command);
            let values = env.iter().filter(|(name, _)| *name != "PATH");
            let values = values.flat_map(|(_, value)| value.split(':'));
            for text in args.iter().map(String::as_str).chain(values) {
                installs.add_named(text, &self.workspace);
            }
            (profile.caches, profile.settings) = installs.of_home();
        }
        installs.add_to(&mut profile);
        Ok(Some(profile))
    }

    /// The folders of `PATH` that are left out, because a confined process may write there.
    pub(super) fn skipped(&self) -> Vec<SkippedFolder> {
        if self.shell.is_none() && self.servers.is_empty() {
            return Vec::new();
        }
        let search = self.find_installs(&[], None).into_search();
        let skipped = search.into_iter().filter(|folder| folder.is_writable);
        let mut skipped: Vec<PathBuf> = skipped.map(|SearchFolder { path, .. }| path).collect();
        skipped.dedup();
        let record = self
            .environment
            .state()
            .map(|state| state.join(granted::NAME));
        let is_earlier = |path: &Path| {
            let end = Way::follow(path).end;
            self.earlier.contain(&end) && !is_in(&end, &self.writable)
        };
        let skipped = skipped.into_iter().map(|path| SkippedFolder {
            record: record.clone().filter(|_| is_earlier(&path)),
            path,
        });
        skipped.collect()
    }

    fn installs(&self, profile: &SandboxProfile, search: Option<OsString>) -> Installs {
        let hidden = [profile.hidden.as_slice(), &profile.hidden_folders].concat();
        self.find_installs(&hidden, search)
    }

    fn find_installs(&self, hidden: &[PathBuf], search: Option<OsString>) -> Installs {
        let own = || self.environment.raw("PATH").map(OsString::from);
        let search = search.or_else(own).unwrap_or_default();
        let home = self.home.as_deref();
        let folders = (self.writable.as_slice(), &self.earlier);
        Installs::find(&search, &self.workspace, home, folders, hidden)
    }

    /// The parts of a profile that shells and servers share. `own` are the files that a server names.
    fn profile(
        &self,
        terms: &SandboxTerms,
        grants: &Grants,
        (confined, own): (Confined, &[NamedFile]),
    ) -> Result<SandboxProfile, DriverError> {
        let bare = SandboxProfile {
            joined_output: false,
            ..SandboxProfile::bare(confined, self.workspace.clone())
        };
        if confined == Confined::Never {
            return Ok(bare);
        }
        let resolved = |paths: &[(String, PathBuf)]| {
            let ways = paths.iter().map(|(place, path)| self.check(place, path));
            ways.collect::<Result<Vec<Way>, _>>()
        };
        let (read, write) = (resolved(&grants.read)?, resolved(&grants.write)?);
        let sockets = resolved(&grants.sockets)?;
        // What is not there is left out.
        let here = |ways: &[Way]| {
            let ends = ways.iter().map(|way| way.end.clone());
            ends.filter(|end| end.exists()).collect::<Vec<_>>()
        };
        let withheld = self.environment.withheld();
        let checked = self.of_home(&SETTINGS).chain(self.of_home(&CHECKED));
        let credentials = self.of_home(&CREDENTIALS);
        let credentials = credentials.chain(SYSTEM_CREDENTIALS.map(PathBuf::from));
        let named = read.iter().chain(&write);
        let named = named.filter(|way| way.links.is_empty());
        let bytes = |mebibytes: Option<u64>| mebibytes.map(|count| count.saturating_mul(MEBIBYTE));
        let mut profile = SandboxProfile {
            checked: checked.chain(SYSTEM_SETTINGS.map(PathBuf::from)).collect(),
            guarded: self.environment.guarded(own),
            hidden: withheld.paths.clone(),
            hidden_folders: withheld
                .folders
                .iter()
                .cloned()
                .chain(credentials)
                .collect(),
            home: self.home.clone(),
            limits: Limits {
                cpu_s: terms.cpu_s,
                file_bytes: bytes(terms.file_mb),
                memory_bytes: bytes(terms.memory_mb),
                open_files: terms.open_files,
                processes: terms.processes,
            },
            named: named.map(|way| way.end.clone()).collect(),
            network: terms.network,
            open: withheld.open.clone(),
            read: here(&read),
            sockets: here(&sockets),
            write: here(&write),
            ..bare
        };
        // The profile is an argument of the sandbox's process, so it holds no path in vain.
        let within = |path: &PathBuf| {
            let mut writable = profile.write.iter().chain([&profile.workspace]);
            let folder = path
                .parent()
                .and_then(|folder| fs::canonicalize(folder).ok());
            folder.is_some_and(|folder| writable.any(|granted| folder.starts_with(granted)))
        };
        let mut guarded = profile.guarded.clone();
        guarded.retain(within);
        profile.guarded = guarded;
        let granted = profile.read.iter().chain(&profile.write);
        let granted = granted.chain([&profile.workspace]);
        profile.held = granted.filter_map(|path| held(path)).collect();
        Ok(profile)
    }

    /// Paths of the home.
    fn of_home<'n>(&self, names: &'n [&str]) -> impl Iterator<Item = PathBuf> + use<'_, 'n> {
        let home = self.home.iter();
        home.flat_map(|home| names.iter().map(|name| home.join(name)))
    }
}

/// A folder as it is now.
#[cfg(unix)]
fn held(path: &Path) -> Option<HeldFolder> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::symlink_metadata(path).ok()?;
    found.is_dir().then(|| HeldFolder {
        device: found.dev(),
        inode: found.ino(),
        path: path.to_owned(),
    })
}

#[cfg(not(unix))]
fn held(_: &Path) -> Option<HeldFolder> {
    None
}

/// A folder of `PATH` in which no program of a contract is looked up, because a confined process may write there.
#[derive(Clone, Debug)]
pub struct SkippedFolder {
    /// The folder.
    pub path: PathBuf,
    /// The file that keeps the folders of earlier runs, if no process of this run may write the folder.
    pub record: Option<PathBuf>,
}

/// Returns the folders of `PATH` in which no program of a contract is looked up.
pub fn skipped_search_folders(
    spec: &ContractSpec,
    folder: &Path,
    environment: &Environment,
) -> Vec<SkippedFolder> {
    let environment = environment.over(spec);
    let folder = std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.to_owned());
    let sandboxes = Sandboxes::of(spec, &folder, &environment);
    sandboxes.map(|found| found.skipped()).unwrap_or_default()
}
