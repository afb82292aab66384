//! File systems that another machine serves, where SQLite's locks and shared memory do not hold. Opens no store.

use std::path::Path;

/// Types of such file systems, as Linux names them.
const NETWORK: [&str; 25] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse.blobfuse2",
    "fuse.ceph",
    "fuse.curlftpfs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.juicefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.smbnetfs",
    "fuse.sshfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "orangefs",
    "smb3",
    "smbfs",
    "vboxsf",
];

/// The type of the network file system that holds a path, or will hold it; `None` for another one, and where the system does not
/// say.
pub fn network_system(path: &Path) -> Option<&'static str> {
    // Of a FUSE, statfs does not say which one it is.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let there = path.ancestors().find_map(|at| at.canonicalize().ok())?;
    let found = type_at(&mounts, &there)?;
    NETWORK.into_iter().find(|network| *network == found)
}

/// The type of the file system at a path without links (proc_pid_mountinfo(5)). A later mount hides an earlier one.
fn type_at<'m>(mounts: &'m str, path: &Path) -> Option<&'m str> {
    let mut nearest: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else {
            continue;
        };
        let point = before.split(' ').nth(4).unwrap_or_default();
        let point = [
            ("\\040", " "),
            ("\\011", "\t"),
            ("\\012", "\n"),
            ("\\134", "\\"),
        ]
        .iter()
        .fold(point.to_owned(), |point, (code, text)| {
            point.replace(code, text)
        });
        let is_nearer = nearest.is_none_or(|(length, _)| point.len() >= length);
        if is_nearer && path.starts_with(&point) {
            nearest = Some((point.len(), after.split(' ').next()?));
        }
    }
    nearest.map(|(_, found)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_says_what_holds_a_path() {
        let mounts = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:40 / /srv rw shared:1 - nfs4 server:/srv rw,vers=4.2
41 40 0:41 / /srv/me/local\\040disk rw - xfs /dev/vdb rw
42 22 0:42 / /mnt/share rw - cifs //server/share rw
43 22 0:43 / /mnt/far rw - fuse.sshfs me@far: rw
44 22 0:44 / /mnt/over rw - nfs server:/over rw
45 44 0:45 / /mnt/over rw - tmpfs tmpfs rw
broken line
";
        let check = |path: &str, expect: &str, is_network: bool| {
            let found = type_at(mounts, Path::new(path)).unwrap();
            assert_eq!(
                (found, NETWORK.contains(&found)),
                (expect, is_network),
                "{path}"
            );
        };
        check("/var/lib/monolith", "ext4", false);
        check("/srv/me/.local/state", "nfs4", true);
        check("/srv/me/local disk/runs", "xfs", false);
        check("/srvs", "ext4", false);
        check("/mnt/share", "cifs", true);
        check("/mnt/far/a", "fuse.sshfs", true);
        check("/mnt/over/a", "tmpfs", false);
        assert_eq!(type_at("", Path::new("/")), None);
    }

    #[test]
    fn a_store_that_is_not_made_yet_lies_where_its_nearest_folder_is() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("not/yet/runs.db");
        assert_eq!(network_system(&store), network_system(folder.path()));
    }
}
