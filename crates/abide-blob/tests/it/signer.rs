//! Signed URLs: each part counts.

use abide_blob::{Access, Key, Signer, WrongSignature};
use abide_core::time::Time;

#[test]
fn a_url_is_good_for_one_key_one_method_one_bucket_and_until_its_end() {
    let signer = Signer::new([7; 32]);
    let key = Key::new("staging/b/Größe 1.tif").unwrap();
    let url = signer.url("http://127.0.0.1:1/preprocess/blob", "staging", &key, Access::Get, Time(1_000));
    let (path, query) = url.split_once('?').unwrap();
    assert_eq!(path, "http://127.0.0.1:1/preprocess/blob/staging/staging/b/Gr%C3%B6%C3%9Fe%201.tif");
    let signature = query.strip_prefix("ends_at=1000&signature=").unwrap();
    let other = Key::new("staging/b/other.tif").unwrap();
    let cases = [
        ("staging", &key, Access::Get, 1_000, signature, 1_000, Ok(())),
        ("staging", &key, Access::Get, 1_000, signature, 1_001, Err(WrongSignature::Ended(Time(1_000)))),
        ("staging", &key, Access::Get, 2_000, signature, 1_000, Err(WrongSignature::Forged)),
        ("staging", &key, Access::Put, 1_000, signature, 1_000, Err(WrongSignature::Forged)),
        ("archive", &key, Access::Get, 1_000, signature, 1_000, Err(WrongSignature::Forged)),
        ("staging", &other, Access::Get, 1_000, signature, 1_000, Err(WrongSignature::Forged)),
        ("staging", &key, Access::Get, 1_000, "", 1_000, Err(WrongSignature::Forged)),
        ("staging", &key, Access::Get, 1_000, "zz", 1_000, Err(WrongSignature::Forged)),
        ("staging", &key, Access::Get, 1_000, "é", 1_000, Err(WrongSignature::Forged)),
    ];
    for (bucket, key, access, ends_at, signature, now, expected) in cases {
        let checked = signer.check(bucket, key, access, Time(ends_at), signature, Time(now));
        assert_eq!(checked, expected, "{bucket} {key} {access:?} {ends_at} {signature:?} {now}");
    }
    let forger = Signer::new([8; 32]);
    assert!(!signer.verify(&["a", "b"], &forger.sign(&["a", "b"])));
    assert!(!signer.verify(&["ab", ""], &signer.sign(&["a", "b"])), "parts are kept apart");
}
