//! Assets: an archived image and its variants, by an id.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of an asset: in the archive beside it, and what a CDN is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// Of which batch.
    pub batch_id: String,
    /// Where the original is.
    pub r2_key: String,
    /// What it is.
    pub content_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// That it is an image.
    pub is_image: bool,
    /// Pixels across.
    pub original_width: u32,
    /// Pixels down.
    pub original_height: u32,
    /// By name: `thumb`, `medium`, `large`, `original`.
    pub variants: BTreeMap<String, AssetVariant>,
    /// The one that is served if none is named.
    pub default_variant: String,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetVariant {
    /// Where it is.
    pub r2_key: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Its size.
    pub size_bytes: u64,
    /// What it is.
    pub content_type: String,
}

/// The side up to which an original is served where nothing is asked for.
const MEDIUM: u32 = 1288;

impl Asset {
    /// One with its original.
    #[must_use]
    pub fn new(
        batch: &str,
        r2_key: String,
        content_type: &str,
        size_bytes: u64,
        width: u32,
        height: u32,
    ) -> Asset {
        let original = AssetVariant {
            r2_key: r2_key.clone(),
            width,
            height,
            size_bytes,
            content_type: content_type.to_owned(),
        };
        Asset {
            batch_id: batch.to_owned(),
            r2_key,
            content_type: content_type.to_owned(),
            size_bytes,
            is_image: true,
            original_width: width,
            original_height: height,
            variants: BTreeMap::from([("original".to_owned(), original)]),
            default_variant: "original".to_owned(),
        }
    }

    /// Adds a variant.
    pub fn add(&mut self, name: String, variant: AssetVariant) {
        self.variants.insert(name, variant);
        let narrow = self.original_width <= MEDIUM;
        let default = match (self.variants.contains_key("medium"), self.variants.contains_key("large")) {
            (true, _) => "medium",
            (false, true) if !narrow => "large",
            (false, _) => "original",
        };
        self.default_variant = default.to_owned();
    }

    /// Where an asset is described.
    #[must_use]
    pub fn key(asset_id: &str) -> String {
        format!("assets/{asset_id}.json")
    }

    /// As it is in the archive.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("text and numbers are JSON")
    }

    /// The variant that is served for a name: itself or, where there is none of it, the next larger in the chain.
    #[must_use]
    pub fn serving(&self, name: &str) -> Option<&AssetVariant> {
        let chain: &[&str] = match name {
            "thumb" => &["thumb", "medium", "original"],
            "medium" => &["medium", "original"],
            "large" => &["large", "medium", "original"],
            "original" => &["original"],
            _ => &[],
        };
        chain.iter().find_map(|name| self.variants.get(*name))
    }
}
