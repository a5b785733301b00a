//! What a bucket does, on both of its places.

use crate::s3_server;
use abide_blob::{Access, BlobError, Bucket, Key, S3Options};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
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
    bucket.put(&one, Bytes::from_static(b"second"), "image/tiff").await.unwrap();
    assert_eq!(bucket.get_bytes(&one, 6).await.unwrap(), "second", "the last one counts");
    assert_eq!(bucket.head(&one).await.unwrap().bytes, 6);
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
        ("a//b", Some("empty")),
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
