//! How SQLite reaches the disk: a virtual file system, registered under a name of its own.
//!
//! The one file with raw pointers. What makes each of them sound:
//! - the `sqlite3_vfs` and what its `pAppData` points to live in a box that is freed only when no handle is open (a
//!   connection has the main file's handle open for as long as it lives), and leaked otherwise;
//! - a `sqlite3_file` that SQLite gives to `xOpen` is as large as `szOsFile` says, that is a [`Slot`]; its `handle` is a
//!   box that `open` makes and `close` frees, and SQLite uses no file after its `xClose`;
//! - buffers and names that SQLite passes are valid for the length it says, for the time of the call.
#![expect(unsafe_code, reason = "SQLite's interface for file systems is made of raw pointers")]

use crate::disk::{Act, Disk, FileId, Syncs, Trouble};
use crate::file::below;
use crate::locks::{Holder, Level};
use crate::shm::Slot as ShmSlot;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the connections of one test, which may be in several threads; held for one call at a time.
type Shared = Arc<Mutex<Disk>>;

/// A disk for SQLite, in memory, that goes wrong when it is told to.
pub struct TestDisk {
    disk: Shared,
    name: CString,
    vfs: *mut sqlite3_vfs,
}

/// What SQLite allocates for a file.
#[repr(C)]
struct Slot {
    base: sqlite3_file,
    handle: *mut Handle,
}

struct Handle {
    disk: Shared,
    file: FileId,
    id: Holder,
    delete_on_close: Option<String>,
    /// Whether its first sync is one of the directory, too: as SQLite does on Unix with journals and logs of writes.
    syncs_directory: AtomicBool,
}

/// Files beside the database that say how to repair it.
const JOURNALS: c_int = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;

/// Numbers the disks of a process: each has a name of its own in SQLite.
static DISKS: AtomicU64 = AtomicU64::new(0);

// SAFETY: the disk is behind a lock, SQLite's list of file systems has its own, and `vfs` is only touched by `drop`.
unsafe impl Send for TestDisk {}

impl TestDisk {
    /// An empty disk. What it loses and how it fails follows from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> TestDisk {
        let name = format!("abide-testdisk-{}", DISKS.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).expect("the name has no zero byte");
        let disk: Shared = Arc::new(Mutex::new(Disk::new(seed)));
        let vfs = Box::into_raw(Box::new(sqlite3_vfs {
            iVersion: 1,
            szOsFile: size_of::<Slot>() as c_int,
            mxPathname: 512,
            pNext: std::ptr::null_mut(),
            zName: name.as_ptr(),
            pAppData: Box::into_raw(Box::new(Arc::clone(&disk))).cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: None,
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        // SAFETY: `vfs` points to a whole sqlite3_vfs that lives until `drop` unregisters it.
        let registered = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes a file system");
        TestDisk { disk, name, vfs }
    }

    /// What SQLite calls it.
    #[must_use]
    pub fn vfs(&self) -> &str {
        self.name.to_str().expect("the name is ASCII")
    }

    /// What syncs do from now on.
    pub fn set_syncs(&self, syncs: Syncs) {
        lock(&self.disk).syncs = syncs;
    }

    /// Lets something go wrong, once, after so many more calls that it can concern.
    pub fn expect_trouble(&self, trouble: Trouble, after_calls: u64) {
        lock(&self.disk).expect_trouble(trouble, after_calls);
    }

    /// Nothing goes wrong any more; whether what was expected had happened.
    pub fn end_trouble(&self) -> bool {
        lock(&self.disk).end_trouble()
    }

    /// The power goes: whatever is open fails from now on, and nothing can be opened.
    pub fn power_off(&self) {
        lock(&self.disk).power_off();
    }

    /// The power comes back, and with it what was on the platter.
    pub fn power_on(&self) {
        lock(&self.disk).power_on();
    }

    /// Whether there is power.
    #[must_use]
    pub fn is_on(&self) -> bool {
        lock(&self.disk).is_on()
    }

    /// Reads, writes and syncs so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        lock(&self.disk).calls
    }
}

impl Drop for TestDisk {
    fn drop(&mut self) {
        // SAFETY: it was registered by `new` and is unregistered once.
        unsafe { ffi::sqlite3_vfs_unregister(self.vfs) };
        if lock(&self.disk).open_handles > 0 {
            // A connection still points to it. Its name goes with it, so that it points to something.
            std::mem::forget(std::mem::take(&mut self.name));
            return;
        }
        // SAFETY: both boxes were made by `new`; no handle is open, so no connection points to them.
        unsafe {
            let vfs = Box::from_raw(self.vfs);
            drop(Box::from_raw(vfs.pAppData.cast::<Shared>()));
        }
    }
}

fn lock(disk: &Shared) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The disk of a file system.
fn disk_of<'a>(vfs: *mut sqlite3_vfs) -> MutexGuard<'a, Disk> {
    // SAFETY: SQLite calls with the file system that `new` registered, and its data lives as long as that.
    let shared = unsafe { &*(*vfs).pAppData.cast::<Shared>() };
    lock(shared)
}

/// A name that SQLite gave; none for a file that has none.
fn name_of(name: *const c_char) -> Option<String> {
    // SAFETY: a name that is not null ends with a zero byte.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The handle behind an open file.
fn handle_of<'a>(file: *mut sqlite3_file) -> &'a Handle {
    // SAFETY: SQLite calls with a file that `open` filled in and `close` has not seen.
    unsafe { &*(*file.cast::<Slot>()).handle }
}

/// The disk, if the program that opened the file is not gone with the power.
fn alive(handle: &Handle) -> Option<MutexGuard<'_, Disk>> {
    let disk = lock(&handle.disk);
    (disk.is_on() && handle.id >= disk.first_live).then_some(disk)
}

fn place(offset: sqlite3_int64) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

fn length(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0)
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let slot = file.cast::<Slot>();
    // SAFETY: SQLite gives room for a slot. Without methods it does not close the file.
    unsafe { (*slot).base.pMethods = std::ptr::null() };
    let name = name_of(name);
    let mut disk = disk_of(vfs);
    if !disk.is_on() {
        return ffi::SQLITE_CANTOPEN;
    }
    let make = flags & ffi::SQLITE_OPEN_CREATE != 0 || name.is_none();
    let Some(id) = disk.open(name.as_deref(), make) else { return ffi::SQLITE_CANTOPEN };
    let is_temporary = flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0;
    disk.open_handles += 1;
    // SAFETY: as in `disk_of`.
    let shared = unsafe { Arc::clone(&*(*vfs).pAppData.cast::<Shared>()) };
    let handle = Handle {
        disk: shared,
        file: id,
        id: disk.next_id(),
        delete_on_close: name.filter(|_| is_temporary),
        syncs_directory: AtomicBool::new(flags & JOURNALS != 0),
    };
    // SAFETY: as above; `out_flags` may be null.
    unsafe {
        (*slot).handle = Box::into_raw(Box::new(handle));
        (*slot).base.pMethods = &raw const METHODS;
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_dir: c_int) -> c_int {
    let mut disk = disk_of(vfs);
    let Some(name) = name_of(name).filter(|_| disk.is_on()) else { return ffi::SQLITE_IOERR_DELETE };
    match disk.delete(&name, sync_dir != 0) {
        true => ffi::SQLITE_OK,
        false => ffi::SQLITE_IOERR_DELETE_NOENT,
    }
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    let disk = disk_of(vfs);
    let exists = name_of(name).is_some_and(|name| disk.exists(&name));
    // SAFETY: SQLite wants the answer there.
    unsafe { *out = c_int::from(exists) };
    if disk.is_on() { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_ACCESS }
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: a name that ends with a zero byte, and `room` bytes to put it.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > length(room) {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, count: c_int, out: *mut c_char) -> c_int {
    let mut disk = disk_of(vfs);
    for at in 0..length(count) {
        let byte = below(&mut disk.random, 256);
        // SAFETY: there is room for `count` bytes.
        unsafe { *out.add(at) = byte as c_char };
    }
    count
}

unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

unsafe extern "C" fn current_time(_vfs: *mut sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: SQLite wants the answer there. Any day will do: the store takes no time from SQLite.
    unsafe { *out = 2_461_042.0 };
    ffi::SQLITE_OK
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(raise_lock),
    xUnlock: Some(lower_lock),
    xCheckReservedLock: Some(check_reserved),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: `open` made the box, and SQLite closes a file once.
    let handle = unsafe { Box::from_raw((*file.cast::<Slot>()).handle) };
    let mut disk = lock(&handle.disk);
    disk.open_handles -= 1;
    disk.leave_shm(handle.file, handle.id);
    if disk.is_on() && handle.id >= disk.first_live {
        disk.locks(handle.file).let_go(handle.id);
        if let Some(name) = &handle.delete_on_close {
            disk.delete(name, false);
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    count: c_int,
    at: sqlite3_int64,
) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_READ };
    if disk.trouble(Act::Read).is_some() {
        return ffi::SQLITE_IOERR_READ;
    }
    // SAFETY: SQLite gives `count` bytes to fill.
    let into = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), length(count)) };
    match disk.file(handle.file).read(place(at), into) == into.len() {
        true => ffi::SQLITE_OK,
        false => ffi::SQLITE_IOERR_SHORT_READ,
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    count: c_int,
    at: sqlite3_int64,
) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_WRITE };
    // SAFETY: SQLite gives `count` bytes to write.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length(count)) };
    match disk.trouble(Act::Write) {
        None => disk.file(handle.file).write(place(at), bytes),
        Some(Trouble::Full) => {
            disk.write_in_part(handle.file, place(at), bytes);
            return ffi::SQLITE_FULL;
        }
        Some(Trouble::PowerLoss | Trouble::PowerLossAtSync | Trouble::Io | Trouble::Sync) => {
            disk.write_in_part(handle.file, place(at), bytes);
            return ffi::SQLITE_IOERR_WRITE;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, len: sqlite3_int64) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_TRUNCATE };
    if disk.trouble(Act::Write).is_some() {
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    disk.file(handle.file).truncate(place(len));
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_FSYNC };
    match disk.trouble(Act::Sync) {
        None => disk.sync(handle.file, handle.syncs_directory.swap(false, Ordering::Relaxed)),
        Some(Trouble::PowerLoss | Trouble::PowerLossAtSync) => return ffi::SQLITE_IOERR_FSYNC,
        Some(Trouble::Full | Trouble::Io | Trouble::Sync) => {
            disk.sync_in_vain(handle.file);
            return ffi::SQLITE_IOERR_FSYNC;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, out: *mut sqlite3_int64) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_FSTAT };
    let len = sqlite3_int64::try_from(disk.file(handle.file).len()).unwrap_or(0);
    // SAFETY: SQLite wants the answer there.
    unsafe { *out = len };
    ffi::SQLITE_OK
}

unsafe extern "C" fn raise_lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_LOCK };
    let level = match level {
        ffi::SQLITE_LOCK_NONE => return ffi::SQLITE_OK,
        ffi::SQLITE_LOCK_SHARED => Level::Shared,
        ffi::SQLITE_LOCK_RESERVED => Level::Reserved,
        ffi::SQLITE_LOCK_PENDING => Level::Pending,
        _ => Level::Exclusive,
    };
    match disk.locks(handle.file).raise(handle.id, level) {
        true => ffi::SQLITE_OK,
        false => ffi::SQLITE_BUSY,
    }
}

unsafe extern "C" fn lower_lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    let handle = handle_of(file);
    if let Some(mut disk) = alive(handle) {
        disk.locks(handle.file).lower(handle.id, level == ffi::SQLITE_LOCK_SHARED);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_CHECKRESERVEDLOCK };
    let is_reserved = disk.locks(handle.file).is_reserved();
    // SAFETY: SQLite wants the answer there.
    unsafe { *out = c_int::from(is_reserved) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_file: *mut sqlite3_file, _op: c_int, _arg: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    4_096
}

unsafe extern "C" fn characteristics(_file: *mut sqlite3_file) -> c_int {
    // As SQLite assumes of real disks: writing a sector does not harm its neighbours.
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    make: c_int,
    out: *mut *mut c_void,
) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_SHMMAP };
    let found = disk.shm(handle.file).region(handle.id, length(region), length(bytes), make != 0);
    // SAFETY: SQLite wants the address there; null says that there is none.
    unsafe { *out = found.map_or(std::ptr::null_mut(), <*mut u64>::cast) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, from: c_int, count: c_int, flags: c_int) -> c_int {
    let handle = handle_of(file);
    let Some(mut disk) = alive(handle) else { return ffi::SQLITE_IOERR_SHMLOCK };
    let want = match (flags & ffi::SQLITE_SHM_LOCK != 0, flags & ffi::SQLITE_SHM_SHARED != 0) {
        (false, _) => ShmSlot::Free,
        (true, true) => ShmSlot::Shared,
        (true, false) => ShmSlot::Exclusive,
    };
    match disk.shm(handle.file).lock(handle.id, length(from), length(count), want) {
        true => ffi::SQLITE_OK,
        false => ffi::SQLITE_BUSY,
    }
}

unsafe extern "C" fn shm_barrier(_file: *mut sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, _delete: c_int) -> c_int {
    let handle = handle_of(file);
    if let Some(mut disk) = alive(handle) {
        disk.leave_shm(handle.file, handle.id);
    }
    ffi::SQLITE_OK
}
