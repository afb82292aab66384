//! Where a run keeps what files of its workspace held: the store's place for it, for tools that know no store.

use std::io;
use std::path::Path;

use crate::store::KeptFiles;
use crate::tools::FileKeeper;

impl FileKeeper for KeptFiles {
    fn keep(&self, workspace: &Path, content: Option<&[u8]>) -> io::Result<bool> {
        self.keep_of(workspace, content)
    }
}
