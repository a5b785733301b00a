//! The data directory: one owner, whom others can find.

use crate::child::{Other, Part};
use crate::world::scratch;
use abide_sqlite::{DataDir, OpenError, OwnerInfo};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_second_process_is_told_who_owns_the_directory() {
    let scratch = scratch();
    let dir = scratch.path().join("data");
    assert_eq!(DataDir::owner(&dir), None);
    let mut other = Other::start(Part::Own, &dir);
    let token = other.hear().unwrap();
    let (pid, address) = (other.child.id(), Some("127.0.0.1:7070".to_owned()));
    assert_eq!(DataDir::owner(&dir), Some(OwnerInfo { pid, address: address.clone(), token }));
    let refused = DataDir::open(&dir).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} is in use by process {pid}, which listens on 127.0.0.1:7070. Stop that process, or give another data \
             directory",
            dir.display()
        )
    );
    assert!(
        matches!(&refused, OpenError::Locked { pid: Some(p), address: a, .. } if *p == pid && *a == address)
    );
    other.kill();
    assert_eq!(DataDir::owner(&dir), None, "whoever is gone owns nothing, whatever the file says");
    let owned = DataDir::open(&dir).unwrap();
    assert_eq!(DataDir::owner(&dir).unwrap().pid, std::process::id());
    drop(owned);
    assert_eq!(DataDir::owner(&dir), None);
}

#[test]
fn only_its_user_can_read_it() {
    let scratch = scratch();
    let dir = scratch.path().join("a/b");
    let owned = DataDir::open(&dir).unwrap();
    let store = crate::world::open(&dir);
    assert_eq!(
        (mode(&dir), mode(&dir.join("abide.lock")), mode(&dir.join("abide.db"))),
        (0o700, 0o600, 0o600)
    );
    assert_eq!(owned.token().len(), 64);
    drop(store);
}

#[test]
fn a_shorter_address_leaves_nothing_of_the_longer() {
    let scratch = scratch();
    let mut owned = DataDir::open(scratch.path()).unwrap();
    owned.set_address("a-very-long-name.example.org:65535").unwrap();
    owned.set_address("[::1]:1").unwrap();
    assert_eq!(DataDir::owner(scratch.path()).unwrap().address.as_deref(), Some("[::1]:1"));
}

#[test]
fn asking_for_the_owner_never_locks_it_out() {
    let scratch = scratch();
    let dir = scratch.path();
    drop(DataDir::open(dir).unwrap());
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| (0..2_000).for_each(|_| drop(DataDir::owner(dir))));
        while !asking.is_finished() {
            DataDir::open(dir).unwrap();
        }
    });
}
