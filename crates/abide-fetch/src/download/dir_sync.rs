//! The entries of directories made durable: one sync for all who wait for it meanwhile.
//!
//! Files that arrive together would otherwise each sync the directory that they are put in, one behind the other.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Who syncs which directory. Whatever threads put files into a directory share its sync, whoever started them.
static UNDER_WAY: Mutex<BTreeMap<PathBuf, Arc<Rounds>>> = Mutex::new(BTreeMap::new());

/// Returns when a sync of the directory that began after this was called has ended, and says how. Blocks.
pub(super) fn sync(dir: &Path) -> io::Result<()> {
    let of_dir = Arc::clone(lock(&UNDER_WAY).entry(dir.to_owned()).or_default());
    let result = of_dir.wait_for(|| File::open(dir).and_then(|dir| dir.sync_all()));
    let mut under_way = lock(&UNDER_WAY);
    drop(of_dir);
    if under_way.get(dir).is_some_and(|left| Arc::strong_count(left) == 1) {
        under_way.remove(dir);
    }
    result
}

/// The syncs of one directory.
#[derive(Debug, Default)]
struct Rounds {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_running: bool,
    /// The one that begins next.
    next: Arc<Round>,
}

/// A sync that several may wait for, and how it ended. A system tells of a write that failed once: whoever tried again by
/// itself would hear that all is well.
type Round = OnceLock<Result<(), Failed>>;

/// An error as often as it is wanted.
#[derive(Debug, Clone, Copy)]
struct Failed {
    os: Option<i32>,
    kind: io::ErrorKind,
}

impl Failed {
    fn of(error: &io::Error) -> Failed {
        Failed { os: error.raw_os_error(), kind: error.kind() }
    }

    fn error(self) -> io::Error {
        self.os.map_or_else(|| self.kind.into(), io::Error::from_raw_os_error)
    }
}

impl Rounds {
    /// Runs `sync` for all who have asked since the last began, unless another of them does.
    fn wait_for(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = lock(&self.state);
        let round = Arc::clone(&state.next);
        while state.is_running && round.get().is_none() {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(ended) = round.get() {
            return ended.map_err(Failed::error);
        }
        *state = State { is_running: true, next: Arc::default() };
        drop(state);
        let result = sync();
        let mut state = lock(&self.state);
        state.is_running = false;
        let told = round.set(result.as_ref().copied().map_err(Failed::of));
        told.expect("only whoever began a round ends it");
        self.ended.notify_all();
        result
    }
}

/// Held for a look only, never while a directory is synced. Whoever panicked left nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;
    use std::thread;

    /// A sync that is under way while `others` ask, each for itself; how many syncs there were, and what each heard.
    fn asked_meanwhile(others: usize, mut end: impl FnMut(u32) -> io::Result<()> + Send) -> (u32, Vec<bool>) {
        let (of_dir, runs, end) = (Rounds::default(), AtomicU32::new(0), Mutex::new(&mut end));
        let (begun, has_begun) = mpsc::channel();
        let (go, may_end) = mpsc::channel::<()>();
        let run = &|| (lock(&end))(runs.fetch_add(1, Ordering::SeqCst));
        let of_dir = &of_dir;
        let heard = thread::scope(|scope| {
            let first = scope.spawn(move || {
                of_dir.wait_for(|| {
                    begun.send(()).expect("the test waits for it");
                    may_end.recv().expect("the test ends it");
                    run()
                })
            });
            has_begun.recv().expect("the first begins");
            let rest: Vec<_> = (0..others).map(|_| scope.spawn(|| of_dir.wait_for(run))).collect();
            while Arc::strong_count(&lock(&of_dir.state).next) < 1 + others {
                thread::yield_now();
            }
            go.send(()).expect("the first waits for it");
            std::iter::once(first).chain(rest).map(|one| one.join().expect("no panic").is_ok()).collect()
        });
        (runs.into_inner(), heard)
    }

    #[test]
    fn all_who_ask_during_a_sync_share_the_next() {
        assert_eq!(asked_meanwhile(7, |_| Ok(())), (2, vec![true; 8]));
    }

    #[test]
    fn who_asks_when_none_is_under_way_has_one_of_its_own() {
        assert_eq!(asked_meanwhile(0, |_| Ok(())), (1, vec![true]));
    }

    #[test]
    fn all_who_share_a_sync_hear_that_it_failed_and_nobody_else() {
        let fails = |at| move |run| if run == at { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) };
        assert_eq!(asked_meanwhile(3, fails(0)), (2, vec![false, true, true, true]));
        assert_eq!(asked_meanwhile(3, fails(1)), (2, vec![true, false, false, false]));
    }

    #[test]
    fn a_directory_is_forgotten_when_nobody_waits_for_it() {
        let dir = tempfile::tempdir().expect("a directory");
        sync(dir.path()).expect("it can be synced");
        assert!(!lock(&UNDER_WAY).contains_key(dir.path()));
        assert!(sync(&dir.path().join("none")).is_err());
        assert!(!lock(&UNDER_WAY).contains_key(&dir.path().join("none")));
    }
}
