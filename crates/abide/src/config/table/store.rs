//! Where everything is kept.

use std::path::PathBuf;

section! {
    /// Where everything is kept.
    store: Store {
        /// Directory that holds the database and everything else; one process owns it at a time.
        data_dir: PathBuf = {
            kind: Kind::Path,
            default: DefaultValue::UserDataDir,
            flag: Some("--data-dir"),
        }
    }
}
