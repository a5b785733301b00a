//! Where bytes of preprocessing live.

section! {
    /// Where bytes of preprocessing live.
    buckets: Buckets {
        /// Directories of this machine (local) or buckets of an S3 service such as R2 (s3).
        kind: &'static str = {
            kind: Kind::Choice(&["local", "s3"]),
            default: DefaultValue::Text("local"),
        }
        /// Directory that holds local buckets; empty for buckets in the data directory.
        dir: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Bucket of inputs and of what is made of them.
        staging: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("arke-staging"),
            aliases: &["R2_BUCKET"],
        }
        /// Bucket of originals and variants, for good.
        archive: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("arke-archive"),
            aliases: &["ARCHIVE_BUCKET"],
        }
        /// URL of the S3 service; empty for R2 of the account.
        endpoint: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_ENDPOINT"],
        }
        /// Region of the S3 service.
        region: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("auto"),
        }
        /// Whether the bucket is in the path of URLs rather than in the host name.
        path_style: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("true"),
        }
        /// Account at R2.
        account_id: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_ACCOUNT_ID"],
        }
        /// Id of the key to the S3 service.
        access_key_id: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_ACCESS_KEY_ID"],
        }
        /// The key itself.
        secret_access_key: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["R2_SECRET_ACCESS_KEY"],
            secret: true,
        }
    }
}
