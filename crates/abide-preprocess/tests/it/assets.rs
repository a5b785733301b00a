//! Which variant of an asset is served.

use abide_preprocess::asset::{Asset, AssetVariant};

/// An image with these variants beside its original.
fn asset(width: u32, names: &[&str]) -> Asset {
    let mut asset = Asset::new("b1", "archive/b1/A/original.jpg".to_owned(), "image/jpeg", 9, width, 20);
    for name in names {
        let variant = AssetVariant {
            r2_key: format!("archive/b1/A/{name}.jpg"),
            width: 1,
            height: 1,
            size_bytes: 1,
            content_type: "image/jpeg".to_owned(),
        };
        asset.add((*name).to_owned(), variant);
    }
    asset
}

#[test]
fn what_was_not_made_is_served_as_the_next_in_the_chain() {
    let all = ["thumb", "medium", "large"];
    // What there is, and which of these is served as thumb, medium, large and original.
    let cases: [(&[&str], [&str; 4]); 5] = [
        (&all, ["thumb", "medium", "large", "original"]),
        (&["thumb", "medium"], ["thumb", "medium", "medium", "original"]),
        (&["medium"], ["medium", "medium", "medium", "original"]),
        (&["thumb"], ["thumb", "original", "original", "original"]),
        (&[], ["original"; 4]),
    ];
    for (names, expected) in cases {
        let asset = asset(4_000, names);
        let served = ["thumb", "medium", "large", "original"]
            .map(|name| asset.serving(name).unwrap().r2_key.rsplit('/').next().unwrap().replace(".jpg", ""));
        assert_eq!(served, expected, "{names:?}");
        assert_eq!(asset.serving("huge"), None);
    }
}

#[test]
fn one_variant_is_the_usual_one() {
    for (width, names, usual) in [
        (4_000, &["thumb", "medium", "large"][..], "medium"),
        (4_000, &["thumb", "large"], "large"),
        (1_288, &["thumb", "large"], "original"),
        (1_289, &["thumb"], "original"),
        (100, &[], "original"),
    ] {
        assert_eq!(asset(width, names).default_variant, usual, "{width} {names:?}");
    }
}
