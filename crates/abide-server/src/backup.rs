//! What makes backups. The server does not know which store stands behind the engine; whoever starts it does.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

type Make = Arc<dyn Fn(&Path) -> Result<u64, NoBackup> + Send + Sync>;

/// Makes a backup of the store into a file of the server's machine.
#[derive(Clone)]
pub struct BackupService {
    make: Make,
}

/// A backup that was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoBackup {
    /// The file that was asked for cannot be written.
    #[error("{0}")]
    File(String),
    /// The store cannot be copied.
    #[error("{0}")]
    Store(String),
}

impl BackupService {
    /// `make` writes a new file and gives its bytes. It may block.
    #[must_use]
    pub fn new(make: impl Fn(&Path) -> Result<u64, NoBackup> + Send + Sync + 'static) -> BackupService {
        BackupService { make: Arc::new(make) }
    }

    pub(crate) fn make(&self, path: &Path) -> Result<u64, NoBackup> {
        (self.make)(path)
    }
}

impl fmt::Debug for BackupService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BackupService")
    }
}
