//! Where a run keeps what files of its workspace held: the store's place for it, for tools that know no store.

use std::io;
use std::path::Path;

use crate::store::KeptFiles;
use crate::tools::FileKeeper;
use monolith_core::message::Digest;

impl FileKeeper for KeptFiles {
    fn keep(&self, workspace: &Path, content: Option<&[u8]>) -> io::Result<bool> {
        self.keep_of(workspace, content)
    }

    fn settle(&self) -> io::Result<()> {
        Self::settle(self)
    }

    fn content(&self, hash: Digest) -> io::Result<Option<Vec<u8>>> {
        Self::content(self, hash)
    }
}
