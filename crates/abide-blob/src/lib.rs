//! Where bytes live: buckets in a directory or on S3.
//!
//! What it is for: one small type, [`Bucket`], for bytes that are too large for rows and messages: streamed in and out,
//! listed, deleted, and lent to others by a URL that ends.
//! What it knows: `object_store`, directories, signatures.
//! What it does not know: who owns which key, HTTP servers, configuration.
//! Where to enter: [`Bucket`]; [`Key`] for what a name may be; [`Signer`] for URLs into a directory, which a server of ours
//! answers after [`Signer::check`].

mod bucket;
mod error;
mod key;
mod reference;
mod room;
mod signer;
mod unfinished;

pub use bucket::{Bucket, ByteStream, Found, S3Options};
pub use error::{BadKey, BlobError};
pub use key::Key;
pub use room::free_bytes;
pub use signer::{Access, Loan, Signer, WrongSignature};
