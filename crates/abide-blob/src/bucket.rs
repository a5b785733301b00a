//! A bucket: blobs by key.

use crate::error::{BlobError, because};
use crate::key::Key;
use crate::reference::{self, Sharing};
use crate::unfinished;
use abide_core::time::Time;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::signer::Signer as _;
use object_store::{
    Attribute, Attributes, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, WriteMultipart,
};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Up to this many bytes go up in one request; more go up in parts of this size.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// Parts under way at a time.
const PARTS_AT_A_TIME: usize = 4;

/// The bytes of a blob as they come.
pub type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, BlobError>> + Send>>;

/// A blob that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its key.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// A word that changes with its bytes, in quotes, if its bucket has one.
    pub etag: Option<String>,
}

impl Found {
    fn of(meta: ObjectMeta) -> Found {
        Found { key: meta.location.to_string(), bytes: meta.size, etag: meta.e_tag }
    }
}

/// How a bucket of an S3 service is reached.
#[derive(Clone)]
pub struct S3Options {
    /// The bucket's name.
    pub bucket: String,
    /// The service: `https://{account}.r2.cloudflarestorage.com`, or any other that speaks S3.
    pub endpoint: String,
    /// Its region; `auto` for R2.
    pub region: String,
    /// Who asks.
    pub access_key_id: String,
    /// The proof of it.
    pub secret_access_key: String,
    /// The bucket is in the path (`true`) or in the host name.
    pub path_style: bool,
}

impl std::fmt::Debug for S3Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Options").field("bucket", &self.bucket).field("endpoint", &self.endpoint).finish()
    }
}

/// Blobs by key, in a directory or on S3. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bucket(Place);

#[derive(Debug, Clone)]
enum Place {
    Directory { root: PathBuf, store: Arc<LocalFileSystem> },
    S3(Arc<AmazonS3>),
}

impl Bucket {
    /// A bucket in a directory, which is made if it is not there. Writes are synced and atomic.
    pub fn directory(root: &Path) -> Result<Bucket, BlobError> {
        let unusable = |reason: String| BlobError::Unusable { bucket: root.display().to_string(), reason };
        std::fs::create_dir_all(root).map_err(|error| unusable(error.to_string()))?;
        let root = root.canonicalize().map_err(|error| unusable(error.to_string()))?;
        let store = LocalFileSystem::new_with_prefix(&root).map_err(|error| unusable(error.to_string()))?;
        Ok(Bucket(Place::Directory { root, store: Arc::new(store.with_fsync(true)) }))
    }

    /// A bucket of an S3 service. Nothing is asked of it yet.
    pub fn s3(options: &S3Options) -> Result<Bucket, BlobError> {
        // The operator named the endpoint: one in the same machine or network has no certificate, and asks for none of the system.
        let is_http = options.endpoint.starts_with("http://");
        let client = ClientOptions::new().with_allow_http(is_http).with_no_system_certificates(is_http);
        let store = AmazonS3Builder::new()
            .with_client_options(client)
            .with_bucket_name(&options.bucket)
            .with_endpoint(&options.endpoint)
            .with_region(&options.region)
            .with_access_key_id(&options.access_key_id)
            .with_secret_access_key(&options.secret_access_key)
            .with_virtual_hosted_style_request(!options.path_style)
            .build()
            .map_err(|error| BlobError::Unusable {
                bucket: options.bucket.clone(),
                reason: because(&error),
            })?;
        Ok(Bucket(Place::S3(Arc::new(store))))
    }

    fn store(&self) -> &dyn ObjectStore {
        match &self.0 {
            Place::Directory { store, .. } => store.as_ref(),
            Place::S3(store) => store.as_ref(),
        }
    }

    /// Bytes that a directory's disk still takes; none of an S3 service, which says so when it is full.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        match &self.0 {
            Place::Directory { root, .. } => crate::room::free_bytes(root),
            Place::S3(_) => None,
        }
    }

    /// What a blob is said to be; a directory keeps no such thing.
    fn attributes(&self, content_type: &str) -> Attributes {
        match &self.0 {
            Place::Directory { .. } => Attributes::new(),
            Place::S3(_) => {
                let mut attributes = Attributes::new();
                attributes.insert(Attribute::ContentType, content_type.to_owned().into());
                attributes
            }
        }
    }

    /// Puts a blob, in place of one that is there.
    pub async fn put(&self, key: &Key, bytes: Bytes, content_type: &str) -> Result<(), BlobError> {
        let options = PutOptions { attributes: self.attributes(content_type), ..PutOptions::default() };
        let put = self.store().put_opts(key.path(), PutPayload::from_bytes(bytes), options).await;
        put.map(drop).map_err(|error| BlobError::at(key, error))
    }

    /// Puts what a stream gives, in parts if it is long. Nothing is there before all of it is; at most `bound` bytes.
    pub async fn put_stream<S, E>(
        &self,
        key: &Key,
        mut stream: S,
        content_type: &str,
        bound: u64,
    ) -> Result<u64, BlobError>
    where
        S: Stream<Item = Result<Bytes, E>> + Unpin,
        E: std::fmt::Display,
    {
        let options = PutMultipartOptions {
            attributes: self.attributes(content_type),
            ..PutMultipartOptions::default()
        };
        let begun = self.store().put_multipart_opts(key.path(), options).await;
        let upload = begun.map_err(|error| BlobError::at(key, error))?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut bytes = 0_u64;
        let stopped = loop {
            match stream.next().await {
                None => break None,
                Some(Err(error)) => {
                    let reason = format!("what was to be written broke off: {error}");
                    break Some(BlobError::Failed { key: key.to_string(), reason });
                }
                Some(Ok(piece)) => {
                    bytes += piece.len() as u64;
                    if bytes > bound {
                        break Some(BlobError::TooLarge { key: key.clone(), bytes, bound });
                    }
                    if let Err(error) = writer.wait_for_capacity(PARTS_AT_A_TIME).await {
                        break Some(BlobError::at(key, error));
                    }
                    writer.put(piece);
                }
            }
        };
        match stopped {
            None => writer.finish().await.map(|_| bytes).map_err(|error| BlobError::at(key, error)),
            Some(stopped) => {
                // What could not be taken back is not visible under any key.
                drop(writer.abort().await);
                Err(stopped)
            }
        }
    }

    /// Puts a file: in a directory by sharing its blocks if the file system can or as another name of it, on S3 in parts.
    pub async fn put_file(&self, key: &Key, source: &Path, content_type: &str) -> Result<u64, BlobError> {
        self.put_shared(key, source, content_type, Sharing::Name).await
    }

    /// Puts a file that stays somebody else's: where a directory cannot share its blocks, it refers to the file, which must
    /// stay as it is as long as the blob is wanted.
    pub async fn put_reference(
        &self,
        key: &Key,
        source: &Path,
        content_type: &str,
    ) -> Result<u64, BlobError> {
        self.put_shared(key, source, content_type, Sharing::Reference).await
    }

    async fn put_shared(
        &self,
        key: &Key,
        source: &Path,
        content_type: &str,
        sharing: Sharing,
    ) -> Result<u64, BlobError> {
        match &self.0 {
            Place::Directory { store, .. } => {
                let to = store.path_to_filesystem(key.path()).map_err(|error| BlobError::at(key, error))?;
                let (source, at) = (source.to_owned(), key.clone());
                let brought = tokio::task::spawn_blocking(move || place(&source, &to, sharing));
                let brought = brought.await.map_err(std::io::Error::other).and_then(|brought| brought);
                brought.map_err(|error| BlobError::of_file(&at, &error))
            }
            Place::S3(_) => {
                let failed = |error: std::io::Error| BlobError::of_file(key, &error);
                let file = tokio::fs::File::open(source).await.map_err(failed)?;
                let pieces = futures_util::stream::try_unfold(file, |mut file| async move {
                    let mut piece = vec![0; 256 * 1024];
                    let read = file.read(&mut piece).await?;
                    piece.truncate(read);
                    Ok::<_, std::io::Error>((read > 0).then(|| (Bytes::from(piece), file)))
                });
                self.put_stream(key, Box::pin(pieces), content_type, u64::MAX).await
            }
        }
    }

    /// Puts a blob of another bucket by sharing its bytes. Whether that can be: both are in directories, and the blob is not
    /// somebody else's file.
    pub async fn share(&self, key: &Key, from: &Bucket, source: &Key) -> Result<bool, BlobError> {
        match self.beside(from, source)? {
            Some(path) if !path.is_symlink() => {
                self.put_file(key, &path, "application/octet-stream").await.map(|_| true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// The same for a blob that is wanted only as long as its source is there: somebody else's file is referred to here, too.
    pub async fn refer(&self, key: &Key, from: &Bucket, source: &Key) -> Result<bool, BlobError> {
        match self.beside(from, source)? {
            Some(path) if path.is_symlink() => {
                self.put_reference(key, &path, "application/octet-stream").await.map(|_| true)
            }
            Some(_) | None => self.share(key, from, source).await,
        }
    }

    /// Where a blob of another bucket is, if both are in directories.
    fn beside(&self, other: &Bucket, key: &Key) -> Result<Option<PathBuf>, BlobError> {
        let (Place::Directory { .. }, Place::Directory { store, .. }) = (&self.0, &other.0) else {
            return Ok(None);
        };
        store.path_to_filesystem(key.path()).map(Some).map_err(|error| BlobError::at(key, error))
    }

    /// A blob's size.
    pub async fn head(&self, key: &Key) -> Result<Found, BlobError> {
        let meta = self.store().head(key.path()).await.map_err(|error| BlobError::at(key, error))?;
        Ok(Found::of(meta))
    }

    /// A blob's bytes as they come.
    pub async fn get(&self, key: &Key) -> Result<(Found, ByteStream), BlobError> {
        let got = self.store().get(key.path()).await.map_err(|error| BlobError::at(key, error))?;
        let found = Found::of(got.meta.clone());
        let at = key.clone();
        let stream = got.into_stream().map_err(move |error| BlobError::at(&at, error));
        Ok((found, Box::pin(stream)))
    }

    /// Some of a blob's bytes as they come: from the first to before the last.
    pub async fn get_range(&self, key: &Key, range: std::ops::Range<u64>) -> Result<ByteStream, BlobError> {
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let got = self.store().get_opts(key.path(), options).await;
        let at = key.clone();
        let stream = got.map_err(|error| BlobError::at(key, error))?.into_stream();
        Ok(Box::pin(stream.map_err(move |error| BlobError::at(&at, error))))
    }

    /// All bytes of a blob that has at most `bound`.
    pub async fn get_bytes(&self, key: &Key, bound: u64) -> Result<Bytes, BlobError> {
        let got = self.store().get(key.path()).await.map_err(|error| BlobError::at(key, error))?;
        let bytes = got.meta.size;
        if bytes > bound {
            return Err(BlobError::TooLarge { key: key.clone(), bytes, bound });
        }
        got.bytes().await.map_err(|error| BlobError::at(key, error))
    }

    /// Writes a blob of at most `bound` bytes to a new file.
    pub async fn get_file(&self, key: &Key, to: &Path, bound: u64) -> Result<u64, BlobError> {
        let (found, mut stream) = self.get(key).await?;
        if found.bytes > bound {
            return Err(BlobError::TooLarge { key: key.clone(), bytes: found.bytes, bound });
        }
        let failed = |error: std::io::Error| BlobError::of_file(key, &error);
        let mut file = tokio::fs::File::create(to).await.map_err(failed)?;
        while let Some(piece) = stream.next().await {
            file.write_all(&piece?).await.map_err(failed)?;
        }
        file.flush().await.map_err(failed)?;
        Ok(found.bytes)
    }

    /// Deletes a blob. A missing one is fine.
    pub async fn delete(&self, key: &Key) -> Result<(), BlobError> {
        match self.store().delete(key.path()).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(BlobError::at(key, error)),
        }
    }

    /// Deletes a blob that nobody writes any more, and what writes of it left that were cut off. Of a directory it waits for
    /// the disk.
    pub async fn delete_with_unfinished(&self, key: &Key) -> Result<(), BlobError> {
        self.delete(key).await?;
        if let Place::Directory { root, .. } = &self.0 {
            unfinished::remove_of(&root.join(key.as_str()));
        }
        Ok(())
    }

    /// Blobs whose keys begin with the segments of `prefix`, in no order that counts.
    pub fn list(&self, prefix: &Key) -> impl Stream<Item = Result<Found, BlobError>> + Send + 'static {
        let at = prefix.clone();
        let list = self.store().list(Some(prefix.path()));
        list.map_ok(Found::of).map_err(move |error| BlobError::at(&at, error))
    }

    /// Deletes every blob whose key begins with the segments of `prefix`, and gives how many there were.
    pub async fn delete_all(&self, prefix: &Key) -> Result<u64, BlobError> {
        let mut list = Box::pin(self.list(prefix));
        let mut deleted = 0;
        while let Some(found) = list.next().await {
            self.delete(&Key::new(&found?.key)?).await?;
            deleted += 1;
        }
        if let Place::Directory { root, .. } = &self.0 {
            unfinished::remove(&root.join(prefix.as_str()), Time(i64::MAX));
            // Nothing lists them: what they refer to is gone.
            deleted += unfinished::remove_lost(&root.join(prefix.as_str()));
            remove_empty(&root.join(prefix.as_str()));
        }
        Ok(deleted)
    }

    /// Removes from a directory what writes left behind that were cut off before `until`. How many there were. It waits for
    /// the disk.
    pub fn remove_unfinished(&self, until: Time) -> u64 {
        match &self.0 {
            Place::Directory { root, .. } => unfinished::remove(root, until),
            Place::S3(_) => 0,
        }
    }

    /// A URL of the S3 service itself that allows one request for `for_how_long`; none for a directory, whose URLs a
    /// [`Signer`](crate::Signer) makes.
    pub async fn presigned(
        &self,
        key: &Key,
        access: crate::Access,
        for_how_long: Duration,
    ) -> Result<Option<String>, BlobError> {
        let Place::S3(store) = &self.0 else { return Ok(None) };
        let method = match access {
            crate::Access::Get => "GET",
            crate::Access::Put => "PUT",
        };
        let method = method.parse().expect("a method of HTTP");
        let url = store.signed_url(method, key.path(), for_how_long).await;
        url.map(|url| Some(url.to_string())).map_err(|error| BlobError::at(key, error))
    }
}

/// Brings a file to its place in a directory, whole or not at all.
fn place(source: &Path, to: &Path, sharing: Sharing) -> std::io::Result<u64> {
    let folder = to.parent().ok_or_else(|| std::io::Error::other("a key has a place in its bucket"))?;
    std::fs::create_dir_all(folder)?;
    let name = to.file_name().and_then(|name| name.to_str()).unwrap_or("blob");
    // The store takes names that end in # and digits for its own unfinished writes, and so do we.
    let temporary = (0_u32..1_000)
        .map(|n| folder.join(format!("{name}#{}", n + 1_000_000)))
        .find(|temporary| !temporary.exists())
        .ok_or_else(|| std::io::Error::other("too many unfinished writes of one key"))?;
    let placed = reference::bring(source, &temporary, sharing).and_then(|_| {
        let bytes = std::fs::metadata(&temporary)?.len();
        std::fs::rename(&temporary, to)?;
        // Renaming one of two names of a file over the other does nothing and leaves both.
        if temporary.exists() {
            std::fs::remove_file(&temporary)?;
        }
        std::fs::File::open(folder)?.sync_all()?;
        Ok(bytes)
    });
    if placed.is_err() && temporary.exists() {
        std::fs::remove_file(&temporary)?;
    }
    placed
}

/// Removes a directory that holds nothing but empty directories. One that holds something stays.
fn remove_empty(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    // It fails for a directory that is not empty, as it should.
    drop(std::fs::remove_dir(directory));
}
