//! Signed URLs: each part counts.

use abide_blob::{Access, Key, Loan, Signer, WrongSignature};
use abide_core::time::Time;

#[test]
fn a_url_is_good_for_one_key_one_method_one_bucket_one_holder_and_until_its_end() {
    let signer = Signer::new([7; 32]);
    let key = Key::new("staging/b/Größe 1.tif").unwrap();
    let loan =
        Loan { bucket: "staging", key: &key, access: Access::Put, ends_at: Time(1_000), holder: "b1/7 a" };
    let url = signer.url("http://127.0.0.1:1/preprocess/blob", &loan);
    let (path, query) = url.split_once('?').unwrap();
    assert_eq!(path, "http://127.0.0.1:1/preprocess/blob/staging/staging/b/Gr%C3%B6%C3%9Fe%201.tif");
    let signature = query.strip_prefix("ends_at=1000&holder=b1/7%20a&signature=").unwrap();
    let other = Key::new("staging/b/other.tif").unwrap();
    let ended = WrongSignature::Ended(Time(1_000));
    let cases = [
        (loan, signature, 1_000, Ok(())),
        (loan, signature, 1_001, Err(ended)),
        (Loan { ends_at: Time(2_000), ..loan }, signature, 1_000, Err(WrongSignature::Forged)),
        (Loan { access: Access::Get, ..loan }, signature, 1_000, Err(WrongSignature::Forged)),
        (Loan { bucket: "archive", ..loan }, signature, 1_000, Err(WrongSignature::Forged)),
        (Loan { key: &other, ..loan }, signature, 1_000, Err(WrongSignature::Forged)),
        (Loan { holder: "b1/8 a", ..loan }, signature, 1_000, Err(WrongSignature::Forged)),
        (Loan { holder: "", ..loan }, signature, 1_000, Err(WrongSignature::Forged)),
        (loan, "", 1_000, Err(WrongSignature::Forged)),
        (loan, "zz", 1_000, Err(WrongSignature::Forged)),
        (loan, "é", 1_000, Err(WrongSignature::Forged)),
    ];
    for (loan, signature, now, expected) in cases {
        assert_eq!(signer.check(&loan, signature, Time(now)), expected, "{loan:?} {signature:?} {now}");
    }
    let forger = Signer::new([8; 32]);
    assert!(!signer.verify(&["a", "b"], &forger.sign(&["a", "b"])));
    assert!(!signer.verify(&["ab", ""], &signer.sign(&["a", "b"])), "parts are kept apart");
}
