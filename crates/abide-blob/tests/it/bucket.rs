//! What a bucket does, on both of its places.

use crate::s3_server;
use abide_blob::{Access, BlobError, Bucket, Key, S3Options};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

async fn s3(root: &Path) -> Bucket {
    std::fs::create_dir(root.join("scans")).unwrap();
    let address = s3_server::start(root).await;
    Bucket::s3(&S3Options {
        bucket: "scans".to_owned(),
        endpoint: format!("http://{address}"),
        region: "auto".to_owned(),
        access_key_id: s3_server::ACCESS_KEY.to_owned(),
        secret_access_key: s3_server::SECRET_KEY.to_owned(),
        path_style: true,
    })
    .unwrap()
}

async fn keys(bucket: &Bucket, prefix: &str) -> Vec<(String, u64)> {
    let found: Vec<_> = bucket.list(&key(prefix)).try_collect().await.unwrap();
    let mut found: Vec<_> = found.into_iter().map(|found| (found.key, found.bytes)).collect();
    found.sort();
    found
}

/// Everything that both places do alike.
async fn behaves(bucket: &Bucket, scratch: &Path) {
    let (one, two) = (key("staging/b/Größe 1.tif"), key("staging/b/tiefer/zwei#2 & 日本.tif"));
    bucket.put(&one, Bytes::from_static(b"first"), "image/tiff").await.unwrap();
    let tag = bucket.head(&one).await.unwrap().etag.unwrap();
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    assert_eq!(bucket.get(&one).await.unwrap().0.etag.as_ref(), Some(&tag));
    bucket.put(&one, Bytes::from_static(b"second"), "image/tiff").await.unwrap();
    assert_eq!(bucket.get_bytes(&one, 6).await.unwrap(), "second", "the last one counts");
    let second = bucket.head(&one).await.unwrap();
    assert!(second.bytes == 6 && second.etag.is_some_and(|second| second != tag));
    let over = bucket.get_bytes(&one, 5).await.unwrap_err();
    assert_eq!(over.to_string(), "staging/b/Größe 1.tif has 6 bytes, and at most 5 are taken here");

    let source = scratch.join("source");
    std::fs::write(&source, vec![7_u8; 9 * 1024 * 1024]).unwrap();
    assert_eq!(bucket.put_file(&two, &source, "image/tiff").await.unwrap(), 9 * 1024 * 1024);
    let back = scratch.join("back");
    bucket.get_file(&two, &back, u64::MAX).await.unwrap();
    assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(&source).unwrap());
    bucket.put(&two, Bytes::from_static(b"other"), "image/tiff").await.unwrap();
    assert_eq!(std::fs::read(&source).unwrap().len(), 9 * 1024 * 1024, "a source is never written to");

    let pieces =
        || stream::iter((0..40_u8).map(|n| Ok::<_, std::io::Error>(Bytes::from(vec![n; 512 * 1024]))));
    let long = key("staging/c/long");
    let put = bucket.put_stream(&long, pieces(), "application/octet-stream", u64::MAX).await.unwrap();
    assert_eq!(put, 20 * 1024 * 1024);
    let (found, mut bytes) = bucket.get(&long).await.unwrap();
    assert_eq!(found.bytes, put);
    let mut sum = 0_u64;
    while let Some(piece) = bytes.next().await {
        sum += piece.unwrap().iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
    assert_eq!(sum, (0..40).sum::<u64>() * 512 * 1024);
    let bounded = key("staging/c/bounded");
    let over = bucket.put_stream(&bounded, pieces(), "application/octet-stream", 1_000_000).await;
    assert!(matches!(over, Err(BlobError::TooLarge { .. })), "{over:?}");
    let broken = pieces().take(20).chain(stream::iter([Err(std::io::Error::other("the line broke"))]));
    let broken = bucket.put_stream(&bounded, broken, "application/octet-stream", u64::MAX).await;
    assert!(broken.unwrap_err().to_string().contains("the line broke"));
    assert!(matches!(bucket.head(&bounded).await, Err(BlobError::NotFound(_))), "nothing is there in part");

    assert_eq!(keys(bucket, "staging/b").await, [(one.to_string(), 6), (two.to_string(), 5)]);
    assert_eq!(bucket.delete_all(&key("staging/b")).await.unwrap(), 2);
    assert_eq!(keys(bucket, "staging").await.len(), 1, "others stay");
    bucket.delete(&long).await.unwrap();
    bucket.delete(&long).await.unwrap();
    assert!(matches!(bucket.get_bytes(&long, 1).await, Err(BlobError::NotFound(_))));
}

#[tokio::test]
async fn a_directory_is_a_bucket() {
    let root = tempfile::tempdir().unwrap();
    let bucket = Bucket::directory(&root.path().join("bucket")).unwrap();
    behaves(&bucket, root.path()).await;
    let left: Vec<_> = std::fs::read_dir(root.path().join("bucket/staging")).unwrap().collect();
    assert!(left.iter().all(|entry| entry.as_ref().unwrap().file_name() != "b"), "{left:?}");
    assert_eq!(bucket.presigned(&key("a"), Access::Get, Duration::from_secs(1)).await.unwrap(), None);
}

/// Bytes that are on the same disk already are shared, not copied.
#[tokio::test]
async fn originals_are_shared_with_their_source_and_between_buckets() {
    let root = tempfile::tempdir().unwrap();
    let [staging, archive] =
        ["staging", "archive"].map(|name| Bucket::directory(&root.path().join(name)).unwrap());
    let source = root.path().join("scan.tif");
    std::fs::write(&source, "a scan").unwrap();
    staging.put_file(&key("b/scan.tif"), &source, "image/tiff").await.unwrap();
    assert!(archive.share(&key("b/original.tif"), &staging, &key("b/scan.tif")).await.unwrap());
    assert_eq!(archive.get_bytes(&key("b/original.tif"), 9).await.unwrap(), "a scan");
    let absent = archive.share(&key("b/none.tif"), &staging, &key("b/none.tif")).await;
    assert!(absent.is_err(), "{absent:?}");
    let links = std::fs::metadata(&source).unwrap().nlink();
    let clone = std::fs::File::create(root.path().join("clone")).unwrap();
    if rustix::fs::ioctl_ficlone(&clone, std::fs::File::open(&source).unwrap()).is_ok() {
        eprintln!("not looked at: this file system shares blocks, which cannot be seen");
    } else {
        let inode = |path: &str| std::fs::metadata(root.path().join(path)).unwrap().ino();
        assert_eq!(inode("staging/b/scan.tif"), inode("scan.tif"));
        assert_eq!(inode("archive/b/original.tif"), inode("scan.tif"));
    }
    // One that stays its owner's is not even known to be used.
    staging.put_reference(&key("b/theirs.tif"), &source, "image/tiff").await.unwrap();
    assert_eq!(staging.get_bytes(&key("b/theirs.tif"), 9).await.unwrap(), "a scan");
    assert_eq!(keys(&staging, "b").await.len(), 2);
    assert_eq!(std::fs::metadata(&source).unwrap().nlink(), links, "it has no more names than before");
    let kept = archive.share(&key("b/theirs.tif"), &staging, &key("b/theirs.tif")).await.unwrap();
    assert!(!kept || links == 1, "and is not archived by reference");
    // Unless whoever asks wants it no longer than its owner has it.
    for name in ["b/theirs.tif", "b/scan.tif"] {
        let as_named = key(&format!("while/{name}"));
        assert!(archive.refer(&as_named, &staging, &key(name)).await.unwrap(), "{name}");
        assert_eq!(archive.get_bytes(&as_named, 9).await.unwrap(), "a scan", "{name}");
    }
    assert!(links == 1 || root.path().join("archive/while/b/theirs.tif").is_symlink());
    archive.delete_all(&key("while")).await.unwrap();
    staging.delete(&key("b/theirs.tif")).await.unwrap();
    assert_eq!(std::fs::read(&source).unwrap(), b"a scan");
    // What comes in its place later does not reach the others.
    staging.put(&key("b/scan.tif"), Bytes::from_static(b"another"), "image/tiff").await.unwrap();
    assert_eq!(std::fs::read(&source).unwrap(), b"a scan");
    assert_eq!(archive.get_bytes(&key("b/original.tif"), 9).await.unwrap(), "a scan");
}

/// A process that is killed while it writes leaves `NAME#1`.
#[tokio::test]
async fn what_unfinished_writes_left_is_removed_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let bucket = Bucket::directory(root.path()).unwrap();
    for at in ["b/page#12.tif", "b/c/other.tif"] {
        bucket.put(&key(at), Bytes::from_static(b"kept"), "image/tiff").await.unwrap();
    }
    let left = ["b/scan.tif#1", "b/c/scan.tif#1000000", "d/scan.tif#2"];
    std::fs::create_dir(root.path().join("d")).unwrap();
    for (age_s, path) in [(7_200, left[0]), (7_200, left[1]), (60, left[2])] {
        let file = std::fs::File::create(root.path().join(path)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(10_000 - age_s)).unwrap();
    }
    assert_eq!(bucket.remove_unfinished(abide_core::time::Time(10_000_000 - 3_600_000)), 2);
    let there = |path: &str| root.path().join(path).exists();
    assert_eq!(left.map(there), [false, false, true], "one that was just written to may be under way");
    assert!(there("b/page#12.tif") && there("b/c/other.tif"));
    std::os::unix::fs::symlink(root.path().join("b/c/other.tif"), root.path().join("d/other.tif#1000000"))
        .unwrap();
    bucket.delete_all(&key("d")).await.unwrap();
    assert!(there("b/c/other.tif") && !there("d"), "a folder that is emptied goes, whatever was left in it");
    for path in ["b/c/other.tif#1", "b/c/other.tif#1000000", "b/c/another.tif#1"] {
        std::fs::write(root.path().join(path), b"cut off").unwrap();
    }
    bucket.delete_with_unfinished(&key("b/c/other.tif")).await.unwrap();
    let left = ["b/c/other.tif", "b/c/other.tif#1", "b/c/other.tif#1000000", "b/c/another.tif#1"].map(there);
    assert_eq!(left, [false, false, false, true], "and that of another file stays");
}

#[tokio::test]
async fn an_s3_server_has_buckets() {
    let root = tempfile::tempdir().unwrap();
    let served = root.path().join("served");
    std::fs::create_dir(&served).unwrap();
    let bucket = s3(&served).await;
    behaves(&bucket, root.path()).await;
}

#[tokio::test]
async fn a_presigned_url_of_s3_allows_one_method_on_one_key() {
    let root = tempfile::tempdir().unwrap();
    let bucket = s3(root.path()).await;
    let at = key("staging/b/Seite 1.jpg");
    let minute = Duration::from_secs(60);
    let put = bucket.presigned(&at, Access::Put, minute).await.unwrap().unwrap();
    let get = bucket.presigned(&at, Access::Get, minute).await.unwrap().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let wrong = client.put(&get).body("forged").send().await.unwrap();
    assert_eq!(wrong.status(), 403);
    let right = client.put(&put).body("a page").send().await.unwrap();
    assert_eq!(right.status(), 200);
    assert_eq!(client.get(&get).send().await.unwrap().text().await.unwrap(), "a page");
    assert_eq!(bucket.get_bytes(&at, 100).await.unwrap(), "a page");
    let bare = get.split('?').next().unwrap();
    assert_eq!(client.get(bare).send().await.unwrap().status(), 403);
}

#[test]
fn a_key_never_leaves_its_bucket() {
    let cases = [
        ("a", None),
        ("staging/é/日本 #1.tif", None),
        ("a/..b/c", None),
        ("", Some("it is empty")),
        ("/etc/passwd", Some("it begins or ends with a slash")),
        ("a/", Some("it begins or ends with a slash")),
        ("a//b", Some("nothing between two of its slashes")),
        ("../a", Some("..")),
        ("a/../../b", Some("..")),
        ("a/./b", Some(".")),
        ("a\0b", Some("control")),
        ("a\nb", Some("control")),
    ];
    for (text, reason) in cases {
        match (Key::new(text), reason) {
            (Ok(key), None) => assert_eq!(key.as_str(), text),
            (Err(error), Some(reason)) => {
                assert!(error.to_string().to_lowercase().contains(reason), "{error}")
            }
            (made, _) => panic!("{text:?}: {made:?}"),
        }
    }
    assert!(Key::new(&"a".repeat(1_025)).is_err());
    assert!(Key::new(&"a".repeat(241)).is_err());
}

#[tokio::test]
async fn a_reference_to_what_is_gone_is_deleted_with_the_others() {
    let root = tempfile::tempdir().unwrap();
    let staging = Bucket::directory(&root.path().join("staging")).unwrap();
    for name in ["gone.tif", "there.tif"] {
        let source = root.path().join(name);
        std::fs::write(&source, "a scan").unwrap();
        staging.put_reference(&key(&format!("b/{name}")), &source, "image/tiff").await.unwrap();
    }
    std::fs::remove_file(root.path().join("gone.tif")).unwrap();
    assert_eq!(staging.delete_all(&key("b")).await.unwrap(), 2);
    assert!(!root.path().join("staging/b").exists(), "nothing is left in it");
    assert!(root.path().join("there.tif").exists(), "what was only referred to stays");
}
