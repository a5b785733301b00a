//! What every program here begins with: a data directory that it owns, and an engine on the store in it.

use abide_engine::{Engine, EngineOptions, Registry};
use abide_sqlite::{DataDir, SqliteStore};
use std::path::PathBuf;
use tempfile::TempDir;

/// A data directory that this process owns. Keep it until the engine has stopped.
pub struct Home {
    dir: DataDir,
    // Removed with everything in it when this is dropped.
    _temporary: Option<TempDir>,
}

impl Home {
    /// The directory that was given on the command line, or a temporary one.
    pub fn from_args() -> anyhow::Result<Home> {
        let (path, temporary) = match std::env::args_os().nth(1) {
            Some(given) if given.to_string_lossy().starts_with('-') => {
                anyhow::bail!("give a data directory, or nothing for a temporary one: {given:?} is neither")
            }
            Some(given) => (PathBuf::from(given), None),
            None => {
                eprintln!(
                    "In a temporary directory. Give one as an argument, and the next run goes on from this one."
                );
                let temporary = TempDir::with_prefix("abide-")?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        Ok(Home { dir: DataDir::open(&path)?, _temporary: temporary })
    }

    /// Starts an engine on the SQLite file in the directory.
    pub fn start(&self, registry: Registry) -> anyhow::Result<Engine> {
        let store = SqliteStore::open(self.dir.path())?;
        let black_box = Some(self.dir.path().join("black-box.json"));
        let options = EngineOptions { black_box, ..EngineOptions::default() };
        Ok(Engine::start(Box::new(store), registry, options)?)
    }
}
